"""Writes the seeds of fuzz-nccom: a file of each kind, after the byte that chooses."""

import json
import pathlib

OUT = pathlib.Path(__file__).resolve().parent / "corpus" / "nccom"
COUNTS = {"send_counts": [1, 2, 3, 0], "send_displs": [0, 1, 3, 6], "recv_counts": [1, 2, 3, 4], "recv_displs": [0, 1, 3, 6]}
EVENT = {"event_type": "cc_running", "phase": "start", "tracking_id": 7, "nc_idx": 0, "timestamp_ns": 1,
         "data": {"exec_id": 9, "nc_timestamp_ns": 1500, "collective": 2, "algorithm": "ring"}}
STOP = {"event_type": "cc_running", "phase": "stop", "tracking_id": 7, "nc_idx": 0, "data": {"nc_timestamp_ns": 4000}}
SEEDS = {
    "groups": (0, {"replica_groups": [[[0, 2], [1, 3]]]}),
    "pairs": (1, {"src_target_pairs": [[[0, 1], [1, 0], [2, 2]]]}),
    "gatherv": (2, {"metadata": [COUNTS]}),
    "alltoallv": (6, {"alltoallv_metadata": [COUNTS] * 4}),
    "streams": (3, [{"op": "allr", "minbytes": "1kb", "datatype": "bf16", "ops_per_iter": 2}, {"op": "allg", "data_parallel_dimension": 2}]),
    "trace": (128, {"events": [EVENT | {"event_type": "cc_exec_barrier", "tracking_id": 6}, EVENT, STOP], "data_version": 2}),
}

OUT.mkdir(parents=True, exist_ok=True)
for name, (kind, value) in SEEDS.items():
    (OUT / name).write_bytes(bytes([kind]) + json.dumps(value).encode())
