-- A row is named after B, if B has it, and after what takes most.
side DESC, total DESC, name, layer, shape
