"""Writes the ring seed of fuzz-recording: the rings of the example program, killed while it recorded."""

import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "fuzz" / "corpus" / "recording" / "rings"
FILES = ["session", "names", "lane_0", "lane_1", "cpu_util.pb", "host_mem.pb"]
PACK = 7  # the number of pack_0 in fuzz_recording.c
HEADER, RECORD = 192, 32  # of a lane in a pack; ring.h
GAP = 64  # zeros that end a piece


def pieces(number, data):
    """The non-zero ranges, in the format fuzz_recording.c reads."""
    data = data.rstrip(b"\0")
    at = 0
    while at < len(data):
        if data[at] == 0:
            at += 1
            continue
        end = data.find(bytes(GAP), at)
        end = min(end if end >= 0 else len(data), at + 0xFFFF)
        yield struct.pack("<BxHI", number, end - at, at) + data[at:end]
        at = end


def pack_of(lane, number):
    """A pack with a copy of a lane, as if its thread had ended."""
    slots, head = struct.unpack_from("<2Q", lane, 120)
    copy = bytearray(lane[:HEADER] + lane[4096 : 4096 + min(slots, head) * RECORD])
    struct.pack_into("<I", copy, 20, number)
    version = lane[8:12]
    return struct.pack("<Q4sIQ40x", 0x314B41504F4D594B, version, 0, 64 + len(copy)) + bytes(copy)


def main():
    with tempfile.TemporaryDirectory() as folder:
        variables = {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": folder,
                     "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC": "60", "KYMO_INSTANCE_ID": "i-fuzz"}  # fmt: skip
        process = subprocess.Popen([ROOT / "bin" / "examples" / "training", "1000000"], env=os.environ | variables)
        time.sleep(1)
        process.kill()
        process.wait()
        (rings,) = pathlib.Path(folder).glob("*/rings")
        here = [str(ROOT).encode(), socket.gethostname().encode()]  # must not appear in a seed
        seed = b"KYMORING"
        for number, name in enumerate(FILES):
            data = (rings / name).read_bytes()
            for word in here:
                data = data.replace(word, b"x" * len(word))
            if name.startswith("lane_"):  # the header has the size of the file
                data = data[: 64 << 10]
                seed += struct.pack("<BxHI", number, 1, len(data) - 1) + b"\0"
            seed += b"".join(pieces(number, data))
        pack = pack_of((rings / "lane_0").read_bytes(), 2)
        seed += struct.pack("<BxHI", PACK, 1, len(pack) - 1) + b"\0" + b"".join(pieces(PACK, pack))
        size = (rings / "session").stat().st_size
        OUT.write_bytes(seed + struct.pack("<BxHI", 0, 1, size - 1) + b"\0")


if __name__ == "__main__":
    main()
