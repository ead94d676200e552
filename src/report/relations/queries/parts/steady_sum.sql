-- The sum of fractions, or of counts that are: in ascending order, so that its last digits are the same in every
-- run, however many threads take part.
sum({of} ORDER BY {of})
