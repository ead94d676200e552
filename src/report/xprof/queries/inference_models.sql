-- No rows: requests of model servers are not read.
SELECT '' AS model_name
WHERE false
