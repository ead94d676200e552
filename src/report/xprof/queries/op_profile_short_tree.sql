-- The tree of op_profile, without parts.
SELECT {tree_columns}
FROM ({tree has_parts=false})
ORDER BY number
