-- Kernels of GPUs.
SELECT k.*, regexp_matches(k.name, 'nccl|rccl', 'i') AS is_nccl, {communicates kernel=k} AS is_collective,
    printf('%4d %4d %4d', grid_x, grid_y, grid_z) AS grid,
    printf('%4d %4d %4d', block_x, block_y, block_z) AS block, e.instance_id, e.track_id
FROM shown_kernel k
JOIN SystemProfileEvents e ON e.id = k.id
