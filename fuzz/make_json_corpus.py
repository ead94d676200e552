"""Writes the seed corpus of fuzz-json: small Chrome traces that together use every part of the format."""

import gzip
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
import random_chrome  # noqa: E402
import zstandard  # noqa: E402

OUT = pathlib.Path(__file__).parent / "corpus" / "json"


def kineto():
    """The first events of each category of a real file, with all metadata."""
    path = ROOT / "tests" / "data" / "kineto" / "amd_mi250.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    seen = {}
    for event in document["traceEvents"]:
        seen.setdefault((event["ph"], event.get("cat"), event["name"] if event["ph"] == "M" else ""), event)
    document["traceEvents"] = list(seen.values())
    document["deviceProperties"] = document["deviceProperties"][:1]
    document |= {"distributedInfo": {"rank": 1}, "WARNING": ["w"], "ERROR": ["e"], "host_name": "h"}
    return json.dumps(document, indent=1)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    seeds = {"kineto": kineto()}
    for seed in (1, 2, 11, 12):
        seeds[f"random_{seed}"] = random_chrome.make(seed, count=25)
    seeds["planes"] = json.dumps([
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "pid": 1, "tid": 14, "name": "thread_name", "args": {"name": "Stream #14(Compute)"}},
        {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "X", "pid": 1, "tid": 14, "ts": 1.25, "dur": 4.5439999999999996, "name": "k"},
        {"ph": "X", "pid": 701, "tid": 5, "ts": "1", "dur": 4, "name": "h", "args": {"_r": 1, "step_num": 2}},
        {},
    ])
    for name, text in seeds.items():
        (OUT / name).write_bytes(text.encode())
    (OUT / "planes_gzip").write_bytes(gzip.compress(seeds["planes"].encode(), mtime=0))
    (OUT / "planes_zstd").write_bytes(zstandard.compress(seeds["planes"].encode()))


if __name__ == "__main__":
    main()
