-- A shape without the layouts in braces.
regexp_replace(coalesce({shape}, ''), '\{[^}]*\}', '', 'g')
