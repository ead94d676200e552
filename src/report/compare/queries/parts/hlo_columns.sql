-- Columns that distinguish operations of HloOperation.
coalesce({last_of path=op_name}, opcode) AS name, {before_of path=op_name} AS layer,
    {without_layout shape=shape} AS shape
