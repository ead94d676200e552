-- The whole, and its operations by self time, for people.
SELECT *
FROM ({roofline})
WHERE include_infeed_outfeed AND step = 'Total'
ORDER BY rank
