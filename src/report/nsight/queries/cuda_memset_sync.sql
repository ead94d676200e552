-- Memsets through the synchronous API.
{copies_where condition=is_set AND is_blocking}
