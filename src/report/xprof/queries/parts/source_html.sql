-- The same, escaped for HTML.
replace(replace(replace(replace({source_info}, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), chr(39), '&#39;')
