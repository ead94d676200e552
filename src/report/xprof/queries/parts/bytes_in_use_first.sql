-- Bytes in use in the high digits, for a position in the low ones: sorting all events takes three times as
-- long.
(stack + heap)::HUGEINT * 1099511627776
