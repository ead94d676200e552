-- What the program waits for, in XProf's words and as sentences.
WITH {step_shares}
SELECT {input_bottleneck} AS bottleneck, {input_statement} AS statement,
    {degree share=launch_percent} AS kernel_launch_bottleneck,
    {part_statement part=launch | what=Devices wait while the host launches work:} AS kernel_launch_statement,
    {degree share=collectives_percent} AS device_collectives_bottleneck,
    {part_statement part=collectives | what=Devices exchange data, and do nothing else,} AS
        device_collectives_statement,
    {degree share=other_percent} AS all_other_bottleneck,
    {part_statement part=other | what=Devices are idle without a known cause} AS all_other_statement,
    CASE
        WHEN compute_percent > 0 AND half_percent < 10 THEN printf('Of the time in which devices compute, %.1f %% is in 16 bits or fewer; more of it'
            || ' would be faster, where the accuracy allows.', half_percent)
        ELSE ''
    END AS precision_statement,
    CASE {input_bottleneck}
        WHEN 'host' THEN 'device'
        WHEN 'device' THEN 'host'
        ELSE ''
    END AS non_bottleneck_tip_types
FROM shares
