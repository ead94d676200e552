-- An event as XProf's MemoryProfileSnapshot.
to_json({'timeOffsetPs': (time_ps)::VARCHAR, 'aggregationStats': {allocator_stats peak=lifetime_peak},
    'activityMetadata': {allocation_metadata}})
