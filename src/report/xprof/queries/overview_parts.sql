-- Parts of a step: mean time and share.
SELECT *
FROM ({part_of_steps name=device computes | part=compute} UNION ALL
    {part_of_steps name=collectives | part=collectives} UNION ALL
    {part_of_steps name=copies on devices | part=between} UNION ALL {part_of_steps name=input | part=input}
    UNION ALL {part_of_steps name=output | part=output} UNION ALL
    {part_of_steps name=transfers from and to the host | part=transfer} UNION ALL
    {part_of_steps name=host launches work | part=launch} UNION ALL
    {part_of_steps name=host computes | part=host} UNION ALL {part_of_steps name=host compiles | part=compile}
    UNION ALL {part_of_steps name=no known cause | part=other})
ORDER BY mean_ms DESC, part
