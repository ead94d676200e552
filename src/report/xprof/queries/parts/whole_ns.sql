-- The time of the devices without operations that are left out.
any_value(m.whole_ns) - coalesce(sum(o.self_ns) FILTER (NOT ({condition})), 0)
