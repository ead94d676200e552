-- One row: whether the program trains: operations have a gradient's scope or apply one, or PyTorch's autograd
-- or optimizer runs. NULL where no operation of a framework is known.
SELECT bool_or(is_of_training) AS is_training
FROM (
    SELECT regexp_matches(op_name, '(^|/)(transpose\(|gradients?(_tape)?/)') AS is_of_training
    FROM HloOperation
    WHERE op_name <> ''
    UNION ALL
    SELECT regexp_matches(framework_op, '(^|/)(transpose\(|gradients?(_tape)?/)') OR
        coalesce(regexp_matches(framework_type, '^(Resource|Sparse)*Apply[A-Z]'), false)
    FROM DeviceOperation
    WHERE framework_op <> ''
    UNION ALL
    SELECT false
    FROM EventType
    WHERE json_extract_string(attributes_json, '$.cat') = 'cpu_op'
    UNION ALL
    SELECT true
    FROM EventType
    WHERE regexp_matches(name,
        '^autograd::engine::|^Optimizer\.step|(^|/)gradients?(_tape)?/[^:]*:\w|:(Resource|Sparse)*Apply[A-Z]\w*$')
)
