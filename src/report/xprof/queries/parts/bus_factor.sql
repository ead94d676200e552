-- What a bus carries of a size, as nccl-tests count it.
CASE
    WHEN operation = 'allreduce' THEN 2.0 * (ranks - 1) / ranks
    WHEN operation IN ('allgather', 'reducescatter', 'alltoall') THEN 1.0 * (ranks - 1) / ranks
    ELSE 1.0
END
