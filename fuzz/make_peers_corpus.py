"""Writes the seeds of fuzz-peers: a message of each kind, as src/neuron/runtime/peers/links.h has them."""

import pathlib
import struct

OUT = pathlib.Path(__file__).resolve().parent / "corpus" / "peers"
AT_ROOT, AT_OTHER, TO_ROOT, TO_OTHER, READY = range(5)
HELLO, WELCOME, REFUSED, READS, RANKS, DATA, PLACED, FREED, FAILURE, NOTE = range(1, 11)


def message(kind, content):
    return struct.pack("<IHHQ", 0x4B52414E, 1, kind, len(content)) + content


def hello(session, ranks, entries=()):
    numbers = struct.pack("<10I", 0xFFFFFFFF, 1234, 8, 4567, 0, len(ranks), len(entries), 4, 2, 0)
    content = bytes(64) + bytes([session]) * 16 + bytes(16) + numbers + struct.pack(f"<{len(ranks)}I", *ranks)
    for port, is_gone, gone in entries:
        content += struct.pack("<HH4s12xII", 4, port, bytes([127, 0, 0, 1]), len(gone), is_gone) + struct.pack(f"<{len(gone)}I", *gone)
    return content


def data(rank, size, position=2, expected=8):
    return struct.pack("<6Q6I", 11, 0, 0, 0, 77, size, 0, rank, position, 0, expected, 0)


SEEDS = {
    "join": (AT_ROOT, message(HELLO, hello(0, [3, 4]))),
    "connect": (AT_OTHER, message(HELLO, hello(5, [3]))),
    "welcome": (TO_ROOT, message(WELCOME, hello(5, [0], [(4000, 0, [2, 3]), (0, 1, [6])]))),
    "welcome_other": (TO_OTHER, message(WELCOME, hello(5, [2])) + message(RANKS, struct.pack("<I", 3))),
    "refused": (TO_ROOT, message(REFUSED, struct.pack("<II", 1, 16))),
    "data": (READY, message(READS, struct.pack("<I", 1)) + message(RANKS, struct.pack("<II", 2, 5)) + message(DATA, data(2, 40) + bytes(40))),
    "placed": (READY, message(PLACED, data(2, 4999) + struct.pack("<Q", 4096)) + message(FREED, struct.pack("<Q", 4096))),
    "note": (READY, message(NOTE, struct.pack("<4I2Q", 1, 2, 3, 0, 0, 20) + bytes(20))),
    "failure": (READY, message(FAILURE, struct.pack("<QQII", 0, 3, 1, 2))),
}

OUT.mkdir(parents=True, exist_ok=True)
for name, (state, content) in SEEDS.items():
    (OUT / name).write_bytes(bytes([state]) + content)
