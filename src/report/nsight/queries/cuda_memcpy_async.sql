-- Asynchronous copies from or to pageable memory, which are synchronous in effect.
{copies_where condition=NOT is_set AND NOT is_blocking
    AND (source_kind ILIKE 'pageable' OR destination_kind ILIKE 'pageable')}
