-- Events of {events}; frees have what the allocation of the same address states.
(
    SELECT m.* EXCLUDE (tf_op, region, shape, type_number), coalesce(before_op, tf_op) AS tf_op,
        coalesce(before_region, region) AS region, coalesce(before_shape, shape) AS shape,
        coalesce(before_type, type_number) AS type_number
    FROM ({events}) m
    LEFT JOIN freed ON freed.id = m.id
)
