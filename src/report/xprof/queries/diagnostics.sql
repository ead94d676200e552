-- The capture's messages, as most of XProf's lists have at the end.
SELECT upper(category) AS severity, message
FROM Warning
