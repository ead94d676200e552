-- What XProf's table of models states about batching.
SELECT 'false' AS hasBatching, 'false' AS hasTensorPattern
