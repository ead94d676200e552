-- Kind of model and task, by the names of operations, as XProf guesses. The task is blank if it is not known.
SELECT CASE
    WHEN {has_op_named pattern=LSTM} THEN 'LSTM'
    WHEN {has_op_named pattern=GRU} THEN 'GRU'
    WHEN {has_op_named pattern=RNN} THEN 'RNN'
    WHEN {has_op_named pattern=Conv2D} THEN 'CNN'
    WHEN {has_op_named pattern=MatMul} THEN 'MLP'
    ELSE 'Unknown'
END AS architecture_type,
    CASE any_value(t.is_training) WHEN true THEN 'Training' WHEN false THEN 'Inference' ELSE '' END AS
        task_type
FROM training t
LEFT JOIN op ON true
