-- Instructions of each opcode on an engine: how long they take.
SELECT rank, engine, opcode, instruction_time_ns / nullif(instruction_count, 0) AS mean_ns
FROM OpcodeSummary
