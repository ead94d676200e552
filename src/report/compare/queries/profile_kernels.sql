-- Kernels; those of a NeuronCore are its instructions.
SELECT name, '' AS layer, '' AS shape, k.step, count(*) AS count, sum(duration_ns) AS amount,
    NULL AS inclusive, {communicates kernel=k} AS is_communication
FROM {with_steps table=GpuKernel} k
GROUP BY ALL
UNION ALL
SELECT opcode, engine, '', execution_index, count(*), sum(duration_ns), NULL, false
FROM Instruction
GROUP BY ALL
