-- Whether a row of GpuKernel is a collective. Profiles of earlier versions have no families.
coalesce({kernel}.family = 'communication', regexp_matches({kernel}.name, 'nccl|rccl', 'i'))
