-- Places that findings name.
SELECT DISTINCT finding_id, label
FROM FindingEvidence
