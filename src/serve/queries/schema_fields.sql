-- What the columns of a table mean.
SELECT field_name, field_type, field_required, field_unit, field_description, field_example
FROM SchemaFields
WHERE table_name = {TABLE}
