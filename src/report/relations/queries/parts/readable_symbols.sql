-- Symbols of C++ with the names they are shown under.
(SELECT name AS symbol, any_value(display_name) AS readable FROM EventType WHERE starts_with(name, '_Z') GROUP BY name)
