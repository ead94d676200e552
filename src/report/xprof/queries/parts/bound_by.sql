-- What bounds a relation with rates. The first of equals wins, as in XProf.
CASE
    WHEN coalesce({best_use}, 0) <= 0 THEN 'Unknown'
    ELSE ['Compute', 'HBM', 'CMEM Read', 'CMEM Write', 'VMEM Read',
        'VMEM Write'][list_position([{uses}], {best_use})]
END
