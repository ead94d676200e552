"""Writes the seed corpus of fuzz-neuron: small system traces, Explorer profiles and a Kymo export."""

import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import systrace_model  # noqa: E402


def truncated(document, limit=6):
    """Truncates every list to a few records."""
    return {k: v[:limit] if isinstance(v, list) else v for k, v in document.items()}


def main():
    out = ROOT / "fuzz" / "corpus" / "neuron"
    out.mkdir(parents=True, exist_ok=True)
    for seed in (1, 2):
        records, _, _ = systrace_model.make(seed, events=8, ids=4)
        records = systrace_model.order(records, random.Random(seed))
        (out / f"system_trace_{seed}").write_text(systrace_model.text(records))
    data = ROOT / "tests" / "data" / "neuron"
    for name in ("system_profile", "device_profile"):
        document = json.loads((data / f"{name}.json").read_text())
        (out / name).write_text(json.dumps(truncated(document)))
    whole = subprocess.run([ROOT / "bin" / "kymo", "view", "system_profile", "--output-format",
                            "json"], check=True, capture_output=True, cwd=out).stdout
    (out / "own").write_bytes(whole)
    odd = '{"first_event_ps":0,"tracks":[{"track":0,"level":"instance"},{"track":1,"parent":0,' \
          '"level":"process"},{"track":2,"parent":1,"level":"source","role":"device"},' \
          '{"track":3,"parent":2,"level":"lane","role":"counter","core":1}],"event_types":' \
          '[{"event_type":1,"args":{"a":[1]}}],"programs":[{"stack_frames":[{"parent":0}],' \
          '"operations":[{"stack_frame":0}]}],"trace_events":[{"track":3,"event_type":1,' \
          '"start_ps":5,"value":"NaN"},{"track":3,"num_occurrences":4}]}'
    (out / "odd").write_text(odd)


if __name__ == "__main__":
    main()
