-- The same as XProf's cell.
'<div class=' || chr(39) || 'source-info-cell' || chr(39) || ' title=' || chr(39) || {source_html} || chr(39)
    || '>' || {source_html} || '</div>'
