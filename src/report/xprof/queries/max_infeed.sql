-- No rows: infeed of single cores is not read.
SELECT '' AS index
WHERE false
