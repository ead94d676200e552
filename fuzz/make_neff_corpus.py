"""Writes the seed corpora of fuzz-neff, fuzz-ntff and fuzz-device from the samples in tests/data."""

import gzip
import io
import pathlib
import struct
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = 1024


def tar(members, form):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def neff(archive):
    return struct.pack("<QQQ", 2, HEADER, len(archive)).ljust(HEADER, b"\0") + archive


def write(target, name, data):
    folder = ROOT / "fuzz" / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main():
    sample = (ROOT / "tests" / "data" / "neff" / "model.neff").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(sample[HEADER:])) as archive:
        members = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.name.startswith("sg00")}
    small = {name: data for name, data in members.items() if not name.endswith("P.json")}
    write("neff", "plain", b"n" + neff(tar(small, tarfile.USTAR_FORMAT)))
    write("neff", "packed", b"n" + neff(gzip.compress(tar(small, tarfile.USTAR_FORMAT), mtime=0)))
    long = {"a/" * 60 + "def.json": members["sg00/def.json"]}
    write("neff", "pax", b"n" + neff(tar(long, tarfile.PAX_FORMAT)))
    write("neff", "gnu", b"n" + neff(tar(long, tarfile.GNU_FORMAT)))
    write("neff", "program", b"p" + members["sg00/program.kymo.bin"][16:])
    write("neff", "definition", b"d" + members["sg00/def.json"])
    write("neff", "statistics", b"d" + b'{"HloMacCount": 12345678901234567890, "var": {"a": {"shape": [1, 2]}}}')
    profile = (ROOT / "tests" / "data" / "ntff" / "model.ntff").read_bytes()
    write("ntff", "whole", profile)
    write("ntff", "killed", profile[: len(profile) // 2])
    write("ntff", "without_trailer", profile[:-16])
    profile = (ROOT / "tests" / "data" / "device" / "profile_rank_1.ntff").read_bytes()
    write("device", "whole", profile)
    write("device", "killed", profile[: len(profile) // 2])


if __name__ == "__main__":
    main()
