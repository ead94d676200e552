-- Memory in use as XProf's MemoryAggregationStats, without what is not recorded, and with what is reserved of
-- allocators that XProf does not know.
json_merge_patch('{}'::JSON, to_json({'stackReservedBytes': (stack)::VARCHAR, 'heapAllocatedBytes':
    (heap)::VARCHAR, 'freeMemoryBytes': (free)::VARCHAR, 'fragmentation': CASE
        WHEN isnan(fragmentation) THEN to_json('NaN')
        ELSE to_json(fragmentation)
    END, 'peakBytesInUse': ({peak})::VARCHAR, 'reservedBytes': (reserved)::VARCHAR}))
