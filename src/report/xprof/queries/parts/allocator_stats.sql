-- Memory in use as XProf's MemoryAggregationStats.
{'stackReservedBytes': (stack)::VARCHAR, 'heapAllocatedBytes': (heap)::VARCHAR, 'freeMemoryBytes': (free)::VARCHAR,
    'fragmentation': CASE
        WHEN isnan(fragmentation) THEN to_json('NaN')
        ELSE to_json(fragmentation)
    END, 'peakBytesInUse': ({peak})::VARCHAR}
