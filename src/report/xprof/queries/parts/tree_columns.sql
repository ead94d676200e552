-- The columns of the tree that op_profile.c reads, in the order of its enum node_field.
parent, coalesce(path[-1], '') AS name, ns, occurrences, flops, normalized_flops, hbm_bytes, compute_use, hbm_use,
    node_kind, is_idle, whole_ns, whole_idle_ns, expression, framework_op, category, program_text,
    source_file, source_line
