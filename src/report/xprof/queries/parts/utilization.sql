-- Share of a memory's peak bandwidth; NULL where bytes or peak are not known.
({bytes}) * 1e9 / nullif(timed_ns, 0) / nullif({peak}, 0)
