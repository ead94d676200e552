-- Synchronous copies between host and GPU, which block the host.
{copies_where condition=NOT is_set AND is_blocking AND operation <> '[CUDA memcpy Device-to-Device]'}
