-- The tree of op_profile, with parts.
SELECT {tree_columns}
FROM ({tree has_parts=true})
ORDER BY number
