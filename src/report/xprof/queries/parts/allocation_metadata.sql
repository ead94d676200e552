-- An allocation or free as XProf's MemoryActivityMetadata.
{'memoryActivity': CASE WHEN is_allocation THEN 'ALLOCATION' ELSE 'DEALLOCATION' END, 'requestedBytes':
    (coalesce(requested, 0))::VARCHAR, 'allocationBytes': (allocated)::VARCHAR, 'address': (address)::VARCHAR, 'tfOpName':
    tf_op, 'stepId': (step)::VARCHAR, 'regionType': region, 'dataType': {type_name}, 'tensorShape': shape}
