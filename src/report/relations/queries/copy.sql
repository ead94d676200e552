-- Copies and memsets of GPUs, named as Nsight names them.
SELECT c.* EXCLUDE (operation), e.instance_id, e.track_id, c.operation = 'memset' AS is_set,
    CASE
        WHEN c.operation = 'memset' THEN '[CUDA memset]'
        WHEN regexp_matches(c.name, 'HtoD|H2D') THEN '[CUDA memcpy Host-to-Device]'
        WHEN regexp_matches(c.name, 'DtoH|D2H') THEN '[CUDA memcpy Device-to-Host]'
        WHEN regexp_matches(c.name, 'DtoD|D2D') THEN '[CUDA memcpy Device-to-Device]'
        WHEN regexp_matches(c.name, 'PtoP|P2P') THEN '[CUDA memcpy Peer-to-Peer]'
        WHEN regexp_matches(c.name, 'HtoH|H2H') THEN '[CUDA memcpy Host-to-Host]'
        ELSE '[CUDA memcpy]'
    END AS operation
FROM GpuCopy c
JOIN SystemProfileEvents e ON e.id = c.id
