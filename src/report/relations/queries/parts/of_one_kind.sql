-- A condition on rows of Device: the kind that XProf would take, an accelerator if there is one.
kind = first_value(kind) OVER (ORDER BY list_position(['TPU', 'GPU', 'Neuron', 'other', 'CPU'], kind), id)
