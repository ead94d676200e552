#!/usr/bin/env python3
"""Seeds of fuzz-remote: answers, requests and connections of captures over the network."""

import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import http2  # noqa: E402

FOLDER = ROOT / "fuzz" / "corpus" / "remote"


def request(method, body, stream=1):
    head = http2.headers((":method", "POST"), (":scheme", "http"), (":path", f"/tensorflow.ProfilerService/{method}"),
                         (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers"))  # fmt: skip
    return http2.frame(http2.HEADERS, http2.END_HEADERS, stream, head) + http2.frame(http2.DATA, http2.END_STREAM, stream, http2.message(body))


def main():
    field, message = http2.field, http2.message
    entry = field(12, field(1, "tpu_trace_mode") + field(2, field(1, "TRACE")))
    options = field(2, 2) + field(5, 1) + field(8, 1) + field(9, 100) + entry
    profile = field(1, 100) + field(3, "trace_viewer") + field(4, options) + field(5, "/tmp") + field(6, "s") + field(9, 1)
    monitor = field(1, 1) + field(2, 2) + field(3, 1)
    seeds = {
        "answer": b"\0" + message(field(8, b"profile" * 20)),
        "answer_parts": b"\0" + message(field(6, b"x") + field(7, 0) + field(8, b"a" * 200) + b"\x79" + bytes(8) + b"\x7d" + bytes(4) + field(8, b"b")),
        "answer_empty": b"\0" + message(field(7, 1)),
        "profile": b"\1" + profile,
        "profile_message": b"\1" + message(profile),
        "monitor": b"\1" + monitor,
        "terminate": b"\1" + field(1, "s"),
        "call": b"\2" + request("Profile", profile),
        "calls": b"\2" + request("Profile", profile) + request("Profile", profile, 3) + request("Terminate", field(1, "s"), 5)
        + request("Monitor", monitor, 7) + request("Other", b"", 9),
        "reset": b"\2" + request("Profile", profile) + http2.frame(http2.RESET, 0, 1, struct.pack(">I", 8)),
        "windows": b"\2" + http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 1)) + request("Profile", profile)
        + http2.frame(http2.WINDOW, 0, 1, struct.pack(">I", 5)) + http2.frame(http2.PING, 0, 0, bytes(8)),
    }  # fmt: skip
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, data in seeds.items():
        (FOLDER / name).write_bytes(data)


if __name__ == "__main__":
    main()
