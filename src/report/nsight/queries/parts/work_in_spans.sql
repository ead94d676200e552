-- Kernels and copies of a range: launched by a call of its thread inside it.
FROM enclosed i
JOIN span s ON s.id = i.span_id
JOIN launched w ON w.call_id = i.call_id
