-- Lanes with the group they are in.
RankSummary JOIN (SELECT rank, device_idx, cluster FROM LaneCluster) AS c USING (rank, device_idx)
