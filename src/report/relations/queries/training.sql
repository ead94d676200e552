-- One row: whether a program has gradients, by the scopes of its operations.
SELECT coalesce(bool_or(regexp_matches(op_name, '(^|/)(transpose\(|gradients?(_tape)?/)')), false) AS
    is_training
FROM HloOperation
