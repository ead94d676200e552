-- What programs wait for, in XProf's words.
CASE
    WHEN step_count = 0 THEN 'unknown'
    WHEN input_percent >= 20 THEN 'host'
    WHEN input_percent >= 5 OR other_percent >= 3 THEN 'both'
    ELSE 'device'
END
