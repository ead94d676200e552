-- Whether programs wait for input, as a sentence.
CASE
    WHEN step_count = 0 AND known_count > 0 THEN
        'An earlier version of kymo made the profile, without the parts of its steps: `kymo view CAPTURE --force` makes it again.'
    WHEN step_count = 0 THEN 'The capture has no steps: how long they wait for input is not known.'
    ELSE printf('Devices wait for input %.1f %% of the step time (on average %.2f of %.2f ms):', input_percent,
        input_percent * mean_ms / 100, mean_ms) || CASE
            WHEN input_percent >= 20 THEN ' the program is bound by its input.'
            WHEN input_percent >= 5 THEN ' input is part of the problem.'
            WHEN other_percent >= 3 THEN printf(' little, but %.1f %% of the time has no known cause.',
                other_percent)
            ELSE ' it is not bound by its input.'
        END
END
