-- Bandwidth in GiB/s, which are XProf's unit.
({bytes}) / nullif(timed_ns, 0) / 1.073741824
