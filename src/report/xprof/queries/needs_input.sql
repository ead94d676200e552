-- What input_pipeline_analyzer needs: steps, or types of events that provide input.
SELECT 1
FROM StepBreakdown
UNION ALL
SELECT 1
FROM EventType
WHERE regexp_matches(name, '^(Iterator::|InfeedEnqueue|MemcpyHToD)|DataLoader')
