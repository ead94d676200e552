-- Whether programs wait for input, as a sentence.
WITH {step_shares}
SELECT {input_statement} AS conclusion
FROM shares
