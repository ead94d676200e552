-- Shares of the device's peaks, of a relation with rates.
compute_use, hbm_use, cmem_read_use, cmem_write_use, vmem_read_use, vmem_write_use
