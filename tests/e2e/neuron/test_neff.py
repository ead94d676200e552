"""Executables and device profiles: Python's tarfile, gzip, hashlib, struct and zlib are the judges of the containers."""

import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import tarfile
import uuid
import zlib

import pytest

from conftest import DATA

NEFF = DATA / "neff" / "model.neff"
NTFF = DATA / "ntff" / "model.ntff"
HEADER = 1024


def tar(members, form=tarfile.USTAR_FORMAT):
    """An archive; values are contents, or TarInfo for what is not a plain file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, data in members.items():
            if isinstance(data, tarfile.TarInfo):
                archive.addfile(data)
                continue
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def neff(archive, name=b"other"):
    """A NEFF as the published description of its header has it."""
    header = struct.pack("<QQQQQ128sI32s16s256sI64sQI", 2, HEADER, len(archive), 1, 0, b"tool 2.1", 1, b"h" * 32,
                         b"u" * 16, name, 1, b"\1", 0, 1)
    return header.ljust(HEADER, b"\0") + archive


def vendor(path, form=tarfile.GNU_FORMAT, packed=True, **members):
    definition = {
        "var": {
            "in\u00fc": {"type": "input", "size": 4096, "var_id": 1, "alignment": 64},
            "tmp": {"type": "virtual", "size": 12, "backing_variable_off": 0},
        },
        "dma_queue": {"qSyncIO0": {"type": "in", "num_queues": 16, "owner": "sp", "queue_instances": [{"a": []}]}},
    }
    content = {
        "info.json": b"{}", "sg00/def.json": json.dumps(definition).encode(), "sg00/pe.bin": b"\x7f" * 100,
        "hlo_stats.json": b'{"HloMacCount": 77, "other": [1, {"x": null}]}', **members,
    }
    archive = tar(content, form)
    path.write_bytes(neff(gzip.compress(archive) if packed else archive))
    return content


@pytest.fixture(scope="module")
def sample():
    data = NEFF.read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data[HEADER:])) as archive:
        return data, {entry.name: archive.extractfile(entry).read() for entry in archive}


def test_the_header_is_at_the_published_offsets(kymo, sample):
    data, _ = sample
    info = kymo.json("neff", "info", "--json", NEFF)
    assert struct.unpack_from("<QQQQQ", data) == (2, HEADER, len(data) - HEADER, 1, 0)
    assert info["data_size"] == len(data) - HEADER
    assert data[40:168].rstrip(b"\0").decode() == info["build_version"]
    assert struct.unpack_from("<I", data, 168) == (info["core_count"],) == (2,)
    assert data[172:204] == hashlib.sha256(data[HEADER:]).digest() == bytes.fromhex(info["hash"])
    assert data[204:220] == uuid.UUID(info["uuid"]).bytes
    assert uuid.UUID(info["uuid"]).version == 8
    assert data[220:476].rstrip(b"\0").decode() == info["name"] == "a model"
    assert struct.unpack_from("<I64sQI", data, 476) == (2, b"\2" + bytes(63), 0, 2)
    assert not any(data[556:HEADER])


def test_members_are_those_of_the_archive(kymo, sample, tmp_path):
    _, members = sample
    lines = [line.split() for line in kymo.ok("neff", "list", NEFF).splitlines()]
    assert [(name, int(size)) for size, name in lines] == [(name, len(data)) for name, data in members.items()]
    kymo.run("neff", "unpack", NEFF, "-o", tmp_path / "out", check=True)
    files = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == members


def test_the_json_members_describe_the_program(kymo, sample):
    _, members = sample
    parts = {name: json.loads(data) for name, data in members.items() if name.endswith(".json")}
    assert parts["info.json"]["producer"] == "kymo"
    assert parts["kelf-0.json"]["graphs"][1]["definition"] == "sg01/def.json"
    assert parts["hlo_stats.json"]["HloMacCount"] == 2048
    definition = parts["sg00/def.json"]
    variables = definition["var"]
    assert variables["output0"] | {"shape": [4, 4, 4], "type": "output", "size": 256, "dtype": "fp32"} == variables["output0"]
    assert variables["spill"]["backing_variable_off"] == 1024
    weight = variables['w "0"/x']
    assert members["sg00/" + weight["file_name"]] == bytes(i * 7 % 256 for i in range(256))
    assert set(definition["dma_queue"]) == {"qSyncIO0", "qGpSimdDynamic"}
    (block,) = parts["sg00/SP.json"]["dma"]
    assert block["queue"] == "qSyncIO0" and block["semaphore"] == 5 and len(block["desc"]) == 2
    first = block["desc"][0]
    assert (first["op"], first["from"], first["to"]) == ("cast", "input0", "state-buffer")
    assert (first["from_steps"], first["from_sizes"]) == ([8, 0, 0, 0, 1], [8, 1, 1, 1, 8])
    info = kymo.json("info", "--json", NEFF)
    assert info["runnable"] and info["worker_count"] == 4 and info["mac_count"] == 2048
    assert info["programs"][0]["instructions"] == {"Tensor": 3, "Vector": 8, "Scalar": 0, "GpSimd": 0, "Sync": 11}
    assert parts["metrics.json"]["cores"][0]["instructions"]["Tensor"] == {"LDWEIGHTS": 1, "MATMUL": 1, "TRANSPOSE": 1}
    assert "a model" in kymo.ok("info", NEFF) and "qGpSimdDynamic" in kymo.ok("neff", "info", NEFF)


def test_the_program_has_a_magic_number_and_a_checksum(sample):
    _, members = sample
    program = members["sg00/program.kymo.bin"]
    assert program[:8] == b"KYMOPROG"
    assert struct.unpack_from("<II", program, 8) == (1, zlib.crc32(program[16:]))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_executables_of_other_compilers_are_described(kymo, tmp_path, form):
    long_name = "sg00/" + "deep/" * 19 + "weights.npy"
    content = vendor(tmp_path / "v.neff", form, packed=form != tarfile.USTAR_FORMAT, **{long_name: b"1234"})
    info = kymo.json("neff", "info", "--json", tmp_path / "v.neff")
    assert not info["runnable"] and info["programs"] == [] and info["mac_count"] == 77
    assert info["build_version"] == "tool 2.1" and info["uuid"] == str(uuid.UUID(bytes=b"u" * 16))
    assert [(t["name"], t["type"], t["size"]) for t in info["tensors"]] == [("in\u00fc", "input", 4096), ("tmp", "virtual", 12)]
    assert info["queues"] == [{"graph": "sg00", "name": "qSyncIO0", "type": "in", "owner": "sp", "rings": 16}]
    assert "another compiler" in kymo.ok("info", tmp_path / "v.neff")
    names = [line.split()[1] for line in kymo.ok("neff", "list", tmp_path / "v.neff").splitlines()]
    assert names == list(content)


def test_unpacking_keeps_files_that_exist(kymo, tmp_path):
    vendor(tmp_path / "v.neff")
    kymo.run("neff", "unpack", "v.neff", cwd=tmp_path, check=True)
    assert (tmp_path / "v" / "sg00" / "pe.bin").read_bytes() == b"\x7f" * 100
    (tmp_path / "v" / "info.json").write_text("mine")
    message = kymo.refuses("neff", "unpack", tmp_path / "v.neff", "-o", tmp_path / "v")
    assert "info.json" in message and "--force" in message
    assert (tmp_path / "v" / "info.json").read_text() == "mine"
    kymo.run("neff", "unpack", tmp_path / "v.neff", "-o", tmp_path / "v", "--force", check=True)
    assert (tmp_path / "v" / "info.json").read_bytes() == b"{}"


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "a//x", "..", "a/./x", "a/"])
def test_nothing_is_written_outside_the_directory(kymo, tmp_path, name):
    (tmp_path / "inner").mkdir()
    vendor(tmp_path / "v.neff", packed=False, **{name: b"evil"})
    before = set(tmp_path.rglob("*"))
    message = kymo.refuses("neff", "unpack", tmp_path / "v.neff", "-o", tmp_path / "inner")
    assert "outside the directory" in message
    assert set(tmp_path.rglob("*")) == before


def test_links_are_neither_made_nor_followed(kymo, tmp_path):
    link = tarfile.TarInfo("sg00/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    vendor(tmp_path / "v.neff", **{"sg00/link": link})
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sg00").symlink_to(tmp_path / "outside")
    message = kymo.refuses("neff", "unpack", tmp_path / "v.neff", "-o", tmp_path / "out", "--force")
    assert "sg00" in message
    assert list((tmp_path / "outside").iterdir()) == []
    kymo.run("neff", "unpack", tmp_path / "v.neff", "-o", tmp_path / "clean", check=True)
    assert not (tmp_path / "clean" / "sg00" / "link").exists()


def test_damaged_executables_are_refused(kymo, tmp_path, sample):
    data, members = sample
    path = tmp_path / "bad.neff"
    path.write_bytes(data[:5000])
    assert "cut off" in kymo.refuses("info", path)
    path.write_bytes(data[:600])
    assert "ends inside its header" in kymo.refuses("neff", "list", path)
    path.write_bytes(b"PK\3\4")
    assert "not a NEFF" in kymo.refuses("neff", "info", path)
    weight = bytearray(members["sg00/weights/2.bin"])
    weight[3] ^= 1
    path.write_bytes(neff(tar({**members, "sg00/weights/2.bin": bytes(weight)})))
    assert "is damaged" in kymo.refuses("neff", "info", path)
    program = bytearray(members["sg00/program.kymo.bin"])
    program[200] ^= 1
    path.write_bytes(neff(tar({**members, "sg00/program.kymo.bin": bytes(program)})))
    assert "checksum" in kymo.refuses("neff", "info", path)
    path.write_bytes(neff(tar({name: part for name, part in members.items() if "weights" not in name})))
    assert "missing" in kymo.refuses("neff", "info", path)
    path.write_bytes(neff(gzip.compress(tar(members))[:-2000]))
    assert "truncated" in kymo.refuses("neff", "list", path)


@pytest.mark.slow
@pytest.mark.plain_build
def test_an_archive_that_unpacks_to_10_gb_is_refused(kymo, tmp_path):
    entry = tarfile.TarInfo("sg00/weights.bin")
    entry.size = 640 * (16 << 20)
    path = tmp_path / "bomb.neff"
    path.write_bytes(neff(gzip.compress(entry.tobuf(tarfile.GNU_FORMAT)) + gzip.compress(bytes(16 << 20)) * 640))
    assert path.stat().st_size < 11e6
    with subprocess.Popen([kymo.path, "neff", "info", path], stderr=subprocess.PIPE, text=True) as process:
        message = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1 and str(path) in message
    assert "20 times its size" in message or "half of the available memory" in message
    assert usage.ru_maxrss < 3 << 20 and usage.ru_utime + usage.ru_stime < 30


def test_sizes_that_lie_are_refused(kymo, tmp_path):
    path = tmp_path / "lies.neff"
    for size in (1 << 40, (1 << 63) - 1, 4096):
        entry = tarfile.TarInfo("sg00/def.json")
        entry.size = size
        archive = entry.tobuf(tarfile.GNU_FORMAT) + b"{}"
        for content in (archive, gzip.compress(archive)):
            path.write_bytes(neff(content))
            assert "the archive inside is cut off" in kymo.refuses("neff", "info", path)
    header = bytearray(neff(tar({"info.json": b"{}"})))
    header[16:24] = struct.pack("<Q", (1 << 64) - 1)
    path.write_bytes(header)
    assert "cut off" in kymo.refuses("neff", "info", path)


@pytest.mark.slow
def test_members_are_limited(kymo, tmp_path):
    entry = tarfile.TarInfo("sg00/x").tobuf(tarfile.USTAR_FORMAT)
    path = tmp_path / "many.neff"
    path.write_bytes(neff(gzip.compress(entry * 100_001)))
    assert "more than 100000 members" in kymo.refuses("neff", "list", path)
    path.write_bytes(neff(gzip.compress(entry * 100_000)))
    assert kymo.ok("neff", "list", path).count("\n") == 100_000


def test_wrong_usage_is_said(kymo):
    assert "usage" in kymo.refuses("neff", code=2)
    assert "did you mean list" in kymo.refuses("neff", "lst", NEFF, code=2)
    assert "takes no --json" in kymo.refuses("neff", "list", NEFF, "--json", code=2)
    assert "takes no --force" in kymo.refuses("neff", "info", NEFF, "--force", code=2)
    assert "takes no --output" in kymo.refuses("neff", "info", NEFF, "-o", "x", code=2)


def test_data_that_does_not_match_the_hash_is_refused(kymo, tmp_path):
    data = bytearray(NEFF.read_bytes())
    assert hashlib.sha256(data[1024:]).digest() == data[172:204]
    path = tmp_path / "changed.neff"
    for at in (1024 + 512, 172, len(data) - 1):
        data[at] ^= 1
        path.write_bytes(data)
        data[at] ^= 1
        for command in (["neff", "info"], ["neff", "list"], ["info"], ["neff", "unpack", "-o", tmp_path / "out"]):
            assert "SHA-256" in kymo.refuses(*command, path)
    path.write_bytes(data)
    kymo.ok("neff", "info", path)


def frames(data):
    """(offset, head, payload) of the frames of a device profile; schema/ntff.md describes them."""
    at = 512
    while at + 40 <= len(data) - 16:
        head = struct.unpack_from("<IIBBBxIIIQQ", data, at)
        payload = data[at + 40 : at + 40 + head[1]]
        assert head[0] == zlib.crc32(data[at + 4 : at + 40 + head[1]])
        yield at, head, payload
        at += 40 + head[1]


def test_device_profiles_are_as_described(kymo):
    data = NTFF.read_bytes()
    info = kymo.json("info", "--json", NTFF)
    assert data[:16] == b"KYMONTFF" + struct.pack("<II", 2, 512)
    assert zlib.crc32(data[:508]) == struct.unpack_from("<I", data, 508)[0]
    assert info["ticks_per_us"] == 4800 == struct.unpack_from("<I", data, 60)[0]
    assert data[200:456].rstrip(b"\0").decode() == info["neff_name"]
    listed = list(frames(data))
    *rest, (index_at, index, entries) = listed
    assert index[2] == 3 and struct.unpack("<Q8s", data[-16:]) == (index_at, b"KYMONEND")
    assert entries == b"".join(struct.pack("<Q", at) + data[at : at + 40] for at, _, _ in rest)
    assert sum(head[5] for _, head, _ in rest if head[2] == 1) == 600 == sum(group["count"] for group in info["notifications"])
    executions = [(*struct.unpack("<IIQQQQ", payload), head[7]) for _, head, payload in rest if head[2] == 2]
    keys = ("index", "status", "start_ns", "end_ns", "start_ticks", "end_ticks", "neff")
    assert [dict(zip(keys, values)) for values in executions] == info["executions"]
    neffs = [(data[200:456], data[16:32])] + [(payload[16:], payload[:16]) for _, head, payload in rest if head[2] == 4]
    assert [(name.rstrip(b"\0").decode(), uuid.hex()) for name, uuid in neffs] == [
        (neff["name"], neff["uuid"].replace("-", "")) for neff in info["neffs"]]
    assert len(neffs) == 2 and [execution["neff"] for execution in info["executions"]] == [0, 1]
    text = kymo.ok("info", NTFF)
    assert "Vector" in text and all(neff["name"] in text for neff in info["neffs"])


def test_an_older_profile_is_read(kymo, tmp_path):
    header = bytearray(NTFF.read_bytes()[:512])
    struct.pack_into("<I", header, 8, 1)
    struct.pack_into("<I", header, 508, zlib.crc32(header[:508]))
    path = tmp_path / "older.ntff"
    path.write_bytes(header + NTFF.read_bytes()[512:])
    assert kymo.json("info", "--json", path) == kymo.json("info", "--json", NTFF) | {"version": 1}
    struct.pack_into("<I", header, 8, 3)
    path.write_bytes(header)
    assert "version 3" in kymo.refuses("info", path)


def test_a_profile_whose_writer_was_killed_is_described(kymo, tmp_path):
    data = NTFF.read_bytes()
    path = tmp_path / "killed.ntff"
    *whole, torn = list(frames(data))[:6]
    path.write_bytes(data[: torn[0] + 7])
    info = kymo.json("info", "--json", path)
    assert info["is_partial"] and len(info["executions"]) == sum(head[2] == 2 for _, head, _ in whole)
    counts = [head[5] for _, head, _ in whole if head[2] == 1]
    assert sum(group["count"] for group in info["notifications"]) == sum(counts) > 0
    assert "partial" in kymo.ok("info", path)
    path.write_bytes(data[:300])
    assert "ends inside its header" in kymo.refuses("info", path)
