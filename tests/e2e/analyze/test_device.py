"""Device profiles: NEFF and NTFF become tables. Arrow and DuckDB read them; what they must say follows from the JSON members
of the NEFF and from the notifications as `show-session` prints them."""

import collections
import json
import math
import os
import re
import shutil
import struct
import subprocess

import duckdb
import pyarrow.parquet
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import test_influx
from conftest import DATA, ROOT
from test_influx import server  # noqa: F401

TYPES = {"i64": "int64", "i32": "int32", "f32": "float", "f64": "double", "str": "string", "bool": "bool",
         "[i64]": "list<element: int64 not null>"}
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "int32": 4, "uint8": 1, "int8": 1, "fp8e4": 1, "uint32": 4, "int64": 8}
RANKS = 4
EXECUTIONS = {"mlp": 3, "gpt12": 1, "collectives": 1}


class Profile:
    """A processed profile: its tables by DuckDB."""

    def __init__(self, folder):
        self.folder = folder
        self.connection = duckdb.connect()
        for path in folder.glob("*.parquet"):
            self.connection.execute(f"CREATE VIEW \"{path.stem}\" AS SELECT * FROM '{path}'")

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def one(self, query):
        ((value,),) = self.rows(query)
        return value


@pytest.fixture(scope="module")
def made(kymo, tmp_path_factory):
    """Of each example: the NEFF, what is in it, its profiles, and these processed."""
    folder = tmp_path_factory.mktemp("device")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    environment |= {"XDG_RUNTIME_DIR": str(folder)}
    for name, executions in EXECUTIONS.items():
        place = folder / name
        place.mkdir()
        kymo.run("neff", "build", ROOT / "examples" / f"{name}.json", "-o", place / "file.neff", "--core", "v2", check=True)
        kymo.run("neff", "unpack", place / "file.neff", "-o", folder / f"{name}.members", check=True)
        several = ["--num-exec", executions, "--exec-mode", "async"] if executions > 1 else []
        kymo.run("capture", "-n", place / "file.neff", *several, "--enable-dge-notifs", check=True, cwd=place, env=environment)
    kymo.run("view", "-d", folder / "collectives", "--data-path", folder / "data", "--display-name", "collectives", "--ingest-only", check=True)
    for name, extra in (("mlp", []), ("gpt12", ["--enable-memory-tracker"])):
        result = kymo.run("view", "-n", folder / name / "file.neff", "-s", folder / name / "profile.ntff", "--data-path", folder / "data",
                          "--display-name", name, "--ingest-only", *extra, check=True)
        assert result.stdout == f'Profile "{name}" is ready to view\n'
    return folder


@pytest.fixture(scope="module")
def profiles(made):
    return {path.name.removesuffix("@latest"): Profile(path) for path in (made / "data" / "profiles" / "global").iterdir()}


@pytest.mark.slow
def test_tables_have_the_published_columns_and_then_ours(made, profiles):
    published = json.loads((DATA / "device" / "schema.json").read_text())
    seen = set()
    for profile in profiles.values():
        for path in profile.folder.glob("*.parquet"):
            if path.stem not in published or path.stem in seen:
                continue
            seen.add(path.stem)
            schema = pyarrow.parquet.read_schema(path)
            columns = published[path.stem]
            assert schema.names[:len(columns)] == [name for name, *_ in columns], path.stem
            for (name, kind, _, required), field in zip(columns, schema):
                assert str(field.type) == TYPES.get(kind, "string"), (path.stem, name)
                assert field.nullable == (not required) or kind.startswith("["), (path.stem, name)
            assert schema.names[-1] == "rank"
    absent = {"DeviceProfileList", "Error", "FrameworkInstruction", "Throttle", "ThrottleSummary", "CoreBarriers"}
    assert seen == set(published) - absent


def blocks_of(made, name):
    for engine in ("PE", "DVE", "Activation", "Pool", "SP"):
        yield from json.loads((made / f"{name}.members" / "sg00" / f"{engine}.json").read_text())["dma"]


def program_of(made, name):
    """Instructions by engine and opcode, and descriptors by queue, as the NEFF's JSON members list them."""
    (core,) = json.loads((made / f"{name}.members" / "metrics.json").read_text())["cores"]
    queues = collections.defaultdict(list)
    for block in blocks_of(made, name):
        queues[block["queue"]].append(block["desc"])
    return core["instructions"], queues


def side_bytes(descriptor, side):
    return math.prod(descriptor[f"{side}_sizes"]) * BYTES[descriptor[f"{side}_dtype"]]


def bytes_of(descriptor):
    return max(side_bytes(descriptor, side) for side in ("from", "to"))


@pytest.mark.parametrize("name", ["mlp", "gpt12", "collectives_profile_rank_2"])
def test_all_of_the_program_ran_in_each_execution(made, profiles, name):
    profile = profiles[name]
    source = name.split("_")[0]
    instructions, queues = program_of(made, source)
    executions = EXECUTIONS[source]
    assert profile.one("SELECT count(*) FROM ExecutionInfo") == executions
    for index in range(1, executions + 1):
        found = collections.defaultdict(dict)
        for engine, opcode, count in profile.rows(
                f"SELECT engine, opcode, count(*) FROM Instruction WHERE execution_index = {index} GROUP BY ALL"):
            found[engine][opcode] = count
        assert found == {engine: opcodes for engine, opcodes in instructions.items() if opcodes}
        assert profile.rows(f"SELECT 1 FROM Instruction WHERE execution_index = {index} GROUP BY engine, pc HAVING count(*) > 1") == []
        moved = dict(profile.rows(f"SELECT queue_name, sum(transfer_bytes) FROM DmaPacketAggregated WHERE execution_index = {index} GROUP BY ALL"))
        assert moved == {queue: sum(bytes_of(item) for block in blocks for item in block) for queue, blocks in queues.items() if blocks}
    packets = profile.rows("SELECT a.id, a.transfer_bytes, a.start_ts, sum(p.transfer_bytes), min(p.start_ts), count(*) FROM DmaPacketAggregated a "
                           "JOIN DmaPacket p ON p.packet_aggregation_id = a.id GROUP BY ALL")
    assert len(packets) == sum(map(len, queues.values())) * executions
    assert all(row[1:3] == row[3:5] for row in packets)
    assert profile.one("SELECT max(total_transfer_bytes) FROM DmaUsage") == pytest.approx(sum(row[1] for row in packets), rel=1e-6)
    for column in ("hbm_read_bytes", "hbm_write_bytes", "input_queue_bytes", "output_queue_bytes", "weight_queue_bytes", "spill_save_bytes"):
        assert profile.one(f"SELECT {column} FROM Summary") == profile.one(f"SELECT sum({column}) FROM Instruction"), column
    totals = profile.rows("SELECT engine, opcode, instruction_count FROM OpcodeSummary ORDER BY ALL")
    assert totals == profile.rows("SELECT engine, opcode, count(*) FROM Instruction GROUP BY ALL ORDER BY ALL")


@pytest.mark.parametrize("name", ["mlp", "gpt12"])
def test_rates_of_a_layer_are_the_mean_of_its_intervals(profiles, name):
    """Also where matrix products use a part of the array: by operations, not by columns."""
    rows = profiles[name].rows(
        "SELECT node_name, time_intervals::BIGINT[][], hfu, hfu_per_interval::DOUBLE[], mfu, mfu_per_interval::DOUBLE[] FROM FrameworkNode WHERE hfu > 0")
    assert len(rows) > 2
    for node, intervals, *rates in rows:
        lengths = [end - start for start, end in intervals]
        for whole, parts in (rates[:2], rates[2:]):
            mean = sum(length * part for length, part in zip(lengths, parts, strict=True)) / sum(lengths)
            assert mean == pytest.approx(whole, rel=0.01, abs=0.02), node


@pytest.mark.parametrize("name", ["mlp", "collectives_profile_rank_0"])
def test_times_are_those_of_the_notifications(kymo, made, profiles, name):
    """Each start and end in the NTFF is in the table, in whole nanoseconds after the execution's start."""
    source, *rank = name.split("_", 1)
    file = made / source / (f"{rank[0]}.ntff" if rank else "profile.ntff")
    session = kymo.json("show-session", "-s", file, "-j", "--show-trace", "--show-dma")
    ticks = session["TicksPerMicrosecond"]
    starts = {item["Index"]: item["StartTicks"] - session["Executions"][0]["StartTicks"] for item in session["Executions"]}
    engines = ["Tensor", "Vector", "Scalar", "GpSimd", "Sync"]

    def ns(execution, time):
        base = starts[execution] * 10**6 // ticks
        return (base + time * 10**6 // ticks) // 1000

    expected = collections.Counter()
    for unit in session["InstructionTrace"]:
        for event in unit["Events"]:
            if event["Event"] == "START":
                expected[engines[unit["Unit"]], event["PC"], unit["Execution"], ns(unit["Execution"], event["Time"])] += 1
    assert expected == collections.Counter(profiles[name].rows("SELECT engine, pc, execution_index, start_ts FROM Instruction"))
    expected = collections.Counter(
        (unit["Unit"], ns(unit["Execution"], event["Time"])) for unit in session["DmaTrace"] for event in unit["Events"] if event["Event"] == "M2S_SOP")
    assert expected == collections.Counter(profiles[name].rows("SELECT engine_idx, start_ts FROM DmaPacket"))
    crcs = {event["Crc"] for unit in session["DmaTrace"] for event in unit["Events"] if "Crc" in event}
    assert crcs == {crc for (crc,) in profiles[name].rows("SELECT DISTINCT crc FROM DmaPacket")}


@pytest.mark.parametrize("name", ["mlp", "gpt12", "collectives", "collectives_profile_rank_1"])
def test_rows_are_the_events_of_the_timeline(profiles, name):
    profile = profiles[name]
    for table, label in (("Instruction", "t.opcode = e.name"), ("DmaPacketAggregated", "e.name = coalesce(nullif(t.variable, ''), 'on-chip copy')"),
                         ("DmaPacket", "e.name = coalesce(t.variable, 'on-chip copy')"), ("CcOp", "t.operation = e.name")):
        if not (profile.folder / f"{table}.parquet").exists():
            continue
        rows, ids, same = profile.rows(
            f"SELECT count(*), count(DISTINCT t.id), count(*) FILTER (t.start_ts = e.start_ts AND {label} AND t.end_ts * 1000 <= "
            "(e.start_ts + e.duration_ns) * 1000 + e.start_fraction_ps + e.duration_fraction_ps "
            "AND (t.end_ts + 1) * 1000 > (e.start_ts + e.duration_ns) * 1000 + e.start_fraction_ps + e.duration_fraction_ps) "
            f"FROM {table} t LEFT JOIN SystemProfileEvents e USING (id)")[0]
        assert rows == ids == same > 0
    tracks = dict(profile.rows("SELECT t.name, count(*) FROM Track t JOIN SystemProfileEvents e ON e.track_id = t.id WHERE t.role = 'stream' GROUP BY ALL"))
    assert tracks == dict(profile.rows("SELECT timeline_track, count(*) FROM Instruction GROUP BY ALL"))
    unknown = profile.one(
        "WITH rows AS (SELECT 'Instruction' AS name, id FROM Instruction UNION ALL SELECT 'DmaPacketAggregated', id FROM DmaPacketAggregated"
        + (" UNION ALL SELECT 'CcOp', id FROM CcOp" if "coll" in name else "")
        + ") SELECT count(*) FROM Flow f WHERE NOT EXISTS (FROM rows WHERE name = in_table AND id = in_id) "
        "OR NOT EXISTS (FROM rows WHERE name = out_table AND id = out_id)")
    assert unknown == 0 and profile.one("SELECT min(gap_time) FROM Flow") >= 0


@pytest.mark.parametrize("name", ["mlp", "gpt12"])
def test_nothing_is_busier_than_time_allows(profiles, name):
    profile = profiles[name]
    total = profile.one("SELECT sum(execution_end_ts - execution_start_ts) FROM ExecutionInfo")
    active = dict(profile.rows("SELECT engine, sum(duration_ns) FROM ActiveTime GROUP BY ALL"))
    assert 0 < max(active.values()) <= total
    assert profile.one("SELECT total_time FROM Summary") * 1e9 == pytest.approx(total, abs=3)
    for engine in ("Tensor", "Vector", "Scalar", "GpSimd", "Sync"):
        spans = sorted(profile.rows(f"SELECT start_ts, end_ts FROM Instruction WHERE engine = '{engine}'"))
        # Ends are rounded, not durations: their errors do not add up.
        taken, shown = profile.rows(f"SELECT sum(end_ts - start_ts), sum(duration_ns) FROM Instruction WHERE engine = '{engine}'")[0]
        assert taken == shown == pytest.approx(profile.one(f"SELECT {engine.lower()}_engine_instruction_time FROM Summary") * 1e9, rel=0.003, abs=3)
        union, last = 0, -1
        for start, end in spans:
            union += max(0, end - max(start, last))
            last = max(last, end)
        assert active[engine.lower()] == pytest.approx(union, rel=0.001, abs=3)
        share = profile.one(f"SELECT {engine.lower()}_engine_active_time FROM Summary")
        assert share * 1e9 == pytest.approx(union, rel=0.003, abs=3)
    for table in ("SbufUsage", "PsumUsage"):
        low, high = profile.rows(f"SELECT min(avg_util_percent), max(avg_util_percent) FROM {table}")[0]
        assert low == 0 and 0 < high <= 100
    assert profile.one("SELECT count(*) FROM SbufAllocation WHERE end_ts < start_ts OR end_address <= start_address") == 0
    # No two allocations of a partition overlap in both time and address.
    assert profile.one("SELECT count(*) FROM SbufAllocation a JOIN SbufAllocation b ON a.partition = b.partition AND a.rowid < b.rowid "
                       "AND a.start_ts + 1 < b.end_ts AND b.start_ts + 1 < a.end_ts AND a.start_address < b.end_address "
                       "AND b.start_address < a.end_address".replace("SbufAllocation a", "(SELECT *, row_number() OVER () AS rowid FROM SbufAllocation) a")
                       .replace("SbufAllocation b", "(SELECT *, row_number() OVER () AS rowid FROM SbufAllocation) b")) == 0
    pending = [value for (value,) in profile.rows("SELECT value FROM PendingDma ORDER BY timestamp")]
    assert min(pending) == 0 == pending[-1] and max(pending) > 1


def test_the_memory_tracker_shows_what_is_in_the_scratchpad(kymo, made, profiles, tmp_path):
    """Uses, and their sum over time, from the ends of all descriptors in the NEFF and the times of their blocks."""
    profile = profiles["gpt12"]
    definition = json.loads((made / "gpt12.members" / "sg00" / "def.json").read_text())
    sizes = dict(profile.rows("SELECT variable_name, size FROM TensorInfo WHERE type = 'VIRTUAL'"))
    times = {block: (start, end) for block, start, end in profile.rows("SELECT block_id, start_ts, end_ts FROM DmaPacketAggregated")}
    touched, moved = collections.defaultdict(list), collections.Counter()
    for block in blocks_of(made, "gpt12"):
        for descriptor in block["desc"]:
            for side in {"from", "to"}:
                if descriptor[side] in sizes:
                    touched[descriptor[side]].append(times[block["id"]])
                    moved[descriptor[side], side] += side_bytes(descriptor, side)
    rows = profile.rows("SELECT tensor_name, start_ts, end_ts, size_bytes, start_address, end_address, read_bytes, write_bytes, access_count, layer "
                        "FROM ScratchpadAllocation ORDER BY start_ts")
    assert len({row[0] for row in rows}) == len(rows) and touched.keys() == {row[0] for row in rows}
    for name, start, end, size, low, high, read, written, count, layer in rows:
        assert (start, size, high - low) == (min(touched[name])[0], sizes[name], sizes[name])
        assert end == pytest.approx(max(end for _, end in touched[name]), abs=1)
        assert (read, written, count) == (moved[name, "from"], moved[name, "to"], len(touched[name])) and layer.startswith("/gpt")
    for i, a in enumerate(rows):  # what is there at the same time has its own place
        assert all(b[1] >= a[2] or b[4] >= a[5] or a[4] >= b[5] for b in rows[i + 1:])
    capacity = definition["scratchpad_size"]
    for time, used, tensors, share in profile.rows("SELECT timestamp, used_bytes, tensor_count, util_percent FROM ScratchpadUsage"):
        there = [row[3] for row in rows if row[1] <= time + 1 and time + 1 < row[2]]
        assert (used, tensors) == (sum(there), len(there)) and share == pytest.approx(100 * used / capacity)
    assert profile.rows("SELECT count(*), count(*) FILTER (e.name = a.tensor_name AND e.start_ts = a.start_ts AND a.end_ts - e.end_ts IN (0, 1)) "
                        "FROM ScratchpadAllocation a JOIN SystemProfileEvents e USING (id)") == [(len(rows), len(rows))]
    assert profile.rows("SELECT max(used_bytes) FROM ScratchpadUsage") == profile.rows(
        "SELECT max(value) FROM CounterSample WHERE name = 'Scratchpad use (B)'")
    plain = kymo.json("view", "-n", made / "gpt12" / "file.neff", "-s", made / "gpt12" / "profile.ntff", "--output-format", "json")
    assert "scratchpad_usage" not in plain
    assert not (profiles["mlp"].folder / "ScratchpadUsage.parquet").exists()
    kymo.run("view", made / "mlp", "--enable-memory-tracker", "--output-file", tmp_path / "empty", "--ingest-only", check=True)
    assert any("no scratchpad" in text for (text,) in Profile(tmp_path / "empty").rows("SELECT message FROM Warning"))
    kymo.refuses("view", made / "mlp", "--enable-memory-tracker", "--output-format", "summary-text", code=2)
    assert "device profile" in kymo.refuses("view", DATA / "xplane" / "tpu_inference.xplane.pb", "--enable-memory-tracker", "--data-path", tmp_path)


def test_ranks_meet_in_their_collectives(kymo, made, profiles):
    whole = profiles["collectives"]
    assert whole.one("SELECT count(DISTINCT rank) FROM Instruction") == RANKS
    assert whole.rows("SELECT op_id FROM CcOp GROUP BY ALL HAVING count(*) <> 4 OR count(DISTINCT end_ts) <> 1 AND any_value(operation) = 'AllReduce'") == []
    assert whole.rows("SELECT o.op_id FROM CcOp o ANTI JOIN CcStream s USING (stream_id, stream_index, rank)") == []
    for rank in range(RANKS):
        alone = profiles[f"collectives_profile_rank_{rank}"]
        assert alone.rows("SELECT op_id, start_ts, end_ts FROM CcOp ORDER BY ALL") == whole.rows(
            f"SELECT op_id, start_ts, end_ts FROM CcOp WHERE rank = {rank} ORDER BY ALL")
    assert whole.one("SELECT count(*) FROM CcInstruction WHERE description = 'TPB_TRIGGER'") == whole.one("SELECT count(*) FROM CcOp")
    names = [kymo.run("view", "-d", made / "collectives", "--data-path", made / "named", "--ingest-only", check=True).stdout for _ in range(2)]
    assert names[0] == names[1]
    found = re.findall(r'^Profile "([np]_[0-9a-f]{40})" is ready to view$', names[0], re.MULTILINE)
    assert [name[0] for name in found] == list("nnnnp") and len(set(found)) == 5


def test_a_session_leads_to_its_device_profiles(kymo, made):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    environment |= {"XDG_RUNTIME_DIR": str(made), "NEURON_RT_INSPECT_DEVICE_PROFILE": "1", "KYMO_INSTANCE_ID": "i-0test"}
    subprocess.run([kymo.path, "inspect", "-o", "out", kymo.path, "capture", "-n", made / "mlp" / "file.neff", "--disable-profile"], check=True,
                   capture_output=True, cwd=made, timeout=120, env=environment)
    kymo.run("view", "-d", made / "out", "--data-path", made / "session", "--display-name", "run", "--ingest-only", check=True)
    folder = made / "session" / "profiles" / "global"
    system = Profile(folder / "run@latest")
    ((name, instance, process, core),) = system.rows("SELECT device_profile_name, instance_id, process_id, nc_id FROM DeviceProfileList")
    assert system.one("SELECT count(*) FROM SystemProfileEvents WHERE name = 'nrt_execute'") > 0
    device = Profile(folder / f"{name}@latest")
    assert device.one("SELECT count(*) FROM Instruction") > 0
    assert (instance, core) == ("i-0test", 0) and process > 0
    assert [path.name for path in folder.iterdir() if not path.name.startswith("run")] == []
    only = kymo.run("view", "-d", made / "out", "--ignore-system-profile", "--data-path", made / "session", "--display-name", "only",
                    "--ingest-only", check=True)
    assert only.stdout == 'Profile "only" is ready to view\n'
    (listed,) = kymo.json("info", "--json", made / "out")["device_profiles"]
    assert (listed["neff_name"], listed["nc_idx"], listed["execution_count"]) == ("mlp", 0, 1)
    assert re.search(r" mlp +0 +ND0 +NC0 +1$", kymo.ok("info", made / "out"), re.MULTILINE)
    both = kymo.json("view", "-d", made / "out", "--output-format", "summary-json")
    (key,) = both.keys() - {"system_profile"}
    assert both["system_profile"]["event_count"] > 0 and both[key]["total_time"] == pytest.approx(device.one("SELECT total_time FROM Summary"))
    text = kymo.ok("view", "-d", made / "out", "--output-format", "summary-text")
    assert "Host events, by self time" in text and re.search(r"^total_time +[0-9.e-]+$", text, re.MULTILINE)


def test_files_that_do_not_belong_together_are_refused_and_named(kymo, made, tmp_path):
    message = kymo.run("view", "-n", made / "gpt12" / "file.neff", "-s", made / "mlp" / "profile.ntff", "--data-path", tmp_path)
    uuids = [kymo.json("neff", "info", "--json", made / name / "file.neff")["uuid"] for name in ("mlp", "gpt12")]
    assert message.returncode == 1 and "'mlp'" in message.stderr and "'gpt12'" in message.stderr
    assert all(uuid in message.stderr for uuid in uuids)
    shutil.copy(made / "mlp" / "profile.ntff", tmp_path)
    lonely = kymo.refuses("view", tmp_path / "profile.ntff", "--data-path", tmp_path / "data")
    assert "its NEFF was not found: 'mlp'" in lonely and uuids[0] in lonely and "-n" in lonely
    assert "name its profile instead" in kymo.refuses("view", made / "mlp" / "file.neff", "--data-path", tmp_path / "data")


def test_what_an_interrupted_capture_left_is_shown_with_a_warning(kymo, made, tmp_path):
    whole = (made / "gpt12" / "profile.ntff").read_bytes()
    shutil.copy(made / "gpt12" / "file.neff", tmp_path)
    (tmp_path / "cut.ntff").write_bytes(whole[:len(whole) // 3])
    text = kymo.ok("view", tmp_path / "cut.ntff", "--output-file", tmp_path / "cut")
    assert 0 < text.index("the capture was interrupted") < text.index("Findings")
    cut = Profile(tmp_path / "cut")
    assert any("interrupted" in text for (text,) in cut.rows("SELECT message FROM Warning"))
    full = Profile(made / "data" / "profiles" / "global" / "gpt12@latest")
    assert 0 < cut.one("SELECT count(*) FROM Instruction") < full.one("SELECT count(*) FROM Instruction")


@pytest.mark.slow
def test_a_profile_that_was_cut_anywhere_has_what_was_written(kymo, made, tmp_path):
    whole = (made / "mlp" / "profile.ntff").read_bytes()
    shutil.copy(made / "mlp" / "file.neff", tmp_path)
    counts = []
    for part in range(1, 10):
        cut = tmp_path / f"cut{part}.ntff"
        cut.write_bytes(whole[:len(whole) * part // 10])
        result = kymo.run("view", cut, "--output-file", tmp_path / f"tables{part}", "--ingest-only")
        if result.returncode != 0:  # within the header
            assert result.returncode == 1 and "cut" in result.stderr and counts == []
            continue
        profile = Profile(tmp_path / f"tables{part}")
        assert any("interrupted" in text for (text,) in profile.rows("SELECT message FROM Warning"))
        has_rows = (profile.folder / "Instruction.parquet").exists()
        counts.append(profile.one("SELECT count(*) FROM Instruction") if has_rows else 0)
        summary = kymo.run("view", "-n", tmp_path / "file.neff", "-s", cut, "--output-format", "summary-json")
        assert summary.returncode == 0 and "cut off" in summary.stderr
    assert counts == sorted(counts) and counts[-1] > counts[0] and len(counts) > 5


@pytest.mark.slow
@pytest.mark.sanitized
def test_what_is_damaged_is_left_out_and_told(kymo, made, tmp_path):
    """A bit flipped, and bytes missing, in the middle: all but the block there is shown, as the tables of the whole file have it."""
    whole = (made / "gpt12" / "profile.ntff").read_bytes()
    full = Profile(made / "data" / "profiles" / "global" / "gpt12@latest")
    shutil.copy(made / "gpt12" / "file.neff", tmp_path)
    at, kind, blocks = 512, 1, []
    while kind != 3:  # blocks of instructions, until the index
        size, kind, type_, count = struct.unpack_from("<4xIBB2xI", whole, at)
        blocks += [(count, at + 40 + size // 2)] if (kind, type_) == (1, 0) else []
        at += 40 + size
    count, middle = max(blocks)
    for name, content in (("flipped", whole[:middle] + bytes([whole[middle] ^ 16]) + whole[middle + 1:]),
                          ("missing", whole[:middle] + whole[middle + 100:])):
        file = tmp_path / f"{name}.ntff"
        file.write_bytes(content)
        kymo.run("view", file, "--output-file", tmp_path / name, "--ingest-only", check=True)
        damaged = Profile(tmp_path / name)
        ((message,),) = damaged.rows("SELECT message FROM Warning WHERE message LIKE 'the file is damaged%'")
        offset = int(re.search(r"at byte (\d+): \d+ bytes", message)[1])
        assert offset <= middle < offset + 200_000
        if name == "flipped":
            assert message.endswith(f" with {count} notifications of execution 1 are left out")
        columns = "engine, pc, start_ts, end_ts"
        assert damaged.rows(f"SELECT {columns} FROM Instruction EXCEPT ALL SELECT {columns} FROM '{full.folder}/Instruction.parquet'") == []
        lost = full.one("SELECT count(*) FROM Instruction") - damaged.one("SELECT count(*) FROM Instruction")
        assert count / 2 <= lost <= count
        assert full.one("SELECT count(*) FROM DmaPacket") == damaged.one("SELECT count(*) FROM DmaPacket")
        for command in (["view", "-n", tmp_path / "file.neff", "-s", file, "--output-format", "summary-json"],
                        ["recommend", "-n", tmp_path / "file.neff", "-s", file],
                        ["show-session", "-s", file, "--show-trace", "--show-dma", "-j"]):
            result = kymo.run(*command)
            assert result.returncode == 0 and "the file is damaged" in result.stderr, command
        document = json.loads(kymo.run("view", "-n", tmp_path / "file.neff", "-s", file, "--output-format", "json", check=True).stdout)
        assert any("the file is damaged" in text for text in document["warnings"])


def test_many_profiles_are_told_in_one_line(kymo, made, tmp_path):
    shutil.copy(made / "mlp" / "file.neff", tmp_path)
    for i in range(9):
        shutil.copy(made / "mlp" / "profile.ntff", tmp_path / f"profile_{i}.ntff")
    told = kymo.run("view", "-d", tmp_path, "--data-path", tmp_path / "data", "--display-name", "all", "--ingest-only", check=True).stdout
    assert told == '9 device profiles are ready to view: "all_profile_0" to "all_profile_8"\nProfile "all" is ready to view\n'


def test_the_critical_path_is_as_long_as_the_executions(profiles):
    for name in ("mlp", "gpt12"):
        profile = profiles[name]
        rows = profile.rows("SELECT execution_index, start_ts, end_ts, unit, event_id, event_table FROM CriticalPath ORDER BY ALL")
        for index, start, end in profile.rows("SELECT execution_index, execution_start_ts, execution_end_ts FROM ExecutionInfo"):
            own = [row for row in rows if row[0] == index]
            assert (own[0][1], own[-1][2]) == (start, end)
            assert all(abs(a[2] - b[1]) <= 1 for a, b in zip(own, own[1:]))
        known = {(table, key) for table in ("Instruction", "DmaPacketAggregated") for (key,) in profile.rows(f"SELECT id FROM {table}")}
        assert {(row[5], row[4]) for row in rows if row[4] is not None} <= known


def test_bytes_and_operations_add_up(made, profiles):
    profile = profiles["gpt12"]
    assert profile.one("SELECT sum(transfer_bytes) FROM DmaPacketAggregated") == profile.one("SELECT dma_transfer_total_bytes FROM Summary")
    assert profile.one("SELECT sum(raw_flops) FROM Instruction") == profile.one("SELECT hardware_flops FROM Summary")
    assert profile.one("SELECT sum(raw_flops) - sum(flops_transpose) FROM Instruction") == profile.one("SELECT model_flops FROM Summary")
    # Colors by HLO operation: each instruction's is a row, and has as many instructions.
    assert profile.one("SELECT count(*) FROM Instruction i ANTI JOIN HloInstruction h USING (raw_hlo_id) WHERE i.raw_hlo_id IS NOT NULL") == 0
    assert profile.one("SELECT count(*) FROM Instruction i JOIN HloInstruction h USING (raw_hlo_id) WHERE i.hlo_name <> h.hlo_name "
                       "OR i.start_ts < h.start_ts OR i.end_ts > h.end_ts + 1") == 0


@pytest.mark.parametrize("name", ["mlp", "gpt12", "collectives"])
def test_points_of_a_database_are_the_rows_of_the_tables(kymo, made, profiles, server, name):  # noqa: F811
    """One core, and several ranks together: every event and sample, with what instructions did."""
    profile = profiles[name]
    capture = made / name if name == "collectives" else made / name / "profile.ntff"
    extra = ["--enable-memory-tracker"] if name == "gpt12" else []
    written = test_influx.put_ok(kymo, server.endpoint, capture, name, "--db-bucket", "devices", *extra)
    events, samples = (server.points("devices", measurement, name) for measurement in ("trace_events", "counters"))
    (metadata,) = server.points("devices", "system_profile_metadata", name)
    assert len(events) + len(samples) + 1 == written == metadata["event_count"] + 1
    columns = "id, name, start_ts * 1000 + start_fraction_ps, duration_ns * 1000 + duration_fraction_ps, process_id, track_id"
    assert sorted((point["id"], point["name"], point["start_ps"], point["duration_ps"], int(point["process_id"]), int(point["track"]))
                  for point in events + samples) == sorted(profile.rows(f"SELECT {columns} FROM SystemProfileEvents"))
    told = ("text.operands", "int.raw_flops", "int.psum_read_bytes", "int.psum_write_bytes", "text.layer", "text.hlo_name")
    assert {point["id"]: tuple(point.get(key) for key in told) for point in events if "text.operands" in point} == {
        row[0]: row[1:] for row in profile.rows(
            "SELECT id, operands, nullif(raw_flops, 0), nullif(psum_read_bytes, 0), nullif(psum_write_bytes, 0), layer, hlo_name FROM Instruction "
            "WHERE operands <> ''")}
    assert {point["id"]: point["int.transfer_bytes"] for point in events if "int.transfer_bytes" in point} == dict(
        profile.rows("SELECT id, transfer_bytes FROM DmaPacketAggregated"))
    assert collections.Counter((point["start_ps"] // 1000, point["value"]) for point in samples if "Pending" in point["name"]) == collections.Counter(
        profile.rows("SELECT timestamp, value FROM PendingDma"))


def test_perfetto_has_where_instructions_come_from_and_their_dependencies(kymo, made, profiles, tmp_path):
    profile = profiles["gpt12"]
    kymo.run("view", "-n", made / "gpt12" / "file.neff", "-s", made / "gpt12" / "profile.ntff", "--output-format", "perfetto",
             "--show-perfetto-flows", "--output-file", tmp_path / "gpt.pftrace", check=True)
    trace = Trace.FromString((tmp_path / "gpt.pftrace").read_bytes())
    names, keys, texts = {}, {}, {}
    for packet in trace.packet:
        data = packet.interned_data
        names |= {entry.iid: entry.name for entry in data.event_names}
        keys |= {entry.iid: entry.name for entry in data.debug_annotation_names}
        texts |= {entry.iid: entry.str.decode() for entry in data.debug_annotation_string_values}
    start = min(packet.timestamp for packet in trace.packet if packet.HasField("track_event"))
    numbers = ("raw_flops", "sbuf_read_bytes", "sbuf_write_bytes", "psum_read_bytes", "psum_write_bytes")
    ends, layers, work, blocks = collections.defaultdict(list), collections.Counter(), collections.Counter(), collections.Counter()
    packets = 0
    for packet in trace.packet:
        event = packet.track_event
        if not packet.HasField("track_event") or event.type not in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_INSTANT):
            continue
        for flow in event.flow_ids:
            ends[flow].append((names[event.name_iid], packet.timestamp - start))
        told = {keys[item.name_iid]: texts.get(item.string_value_iid) or item.int_value for item in event.debug_annotations}
        if "operands" in told:
            work[names[event.name_iid], packet.timestamp - start, *(told.get(key, 0) for key in ("operands", *numbers))] += 1
        if "transfer_bytes" in told:
            blocks[packet.timestamp - start, told["transfer_bytes"]] += 1
            packets += told["packets"]
        if "hlo_name" in told:
            layers[names[event.name_iid], told.get("layer"), told["hlo_name"], told.get("source")] += 1
    assert all(len(pair) == 2 for pair in ends.values())
    wanted = profile.rows("SELECT a.name, a.start_ts, b.name, b.start_ts FROM Flow f JOIN SystemProfileEvents a ON a.id = f.in_id "
                          "JOIN SystemProfileEvents b ON b.id = f.out_id WHERE dependency_type IN ('semaphore', 'trigger', 'data')")
    assert collections.Counter(tuple(sorted(pair)) for pair in ends.values()) == collections.Counter(
        tuple(sorted([(a, at), (b, bt)])) for a, at, b, bt in wanted)
    assert layers == collections.Counter(profile.rows("SELECT opcode, layer, hlo_name, bir_debug_info_source_location FROM Instruction "
                                                      "WHERE hlo_name IS NOT NULL"))
    # What instructions and transfers did; bytes of the transfers that an instruction triggers are on their own slices.
    select = f"SELECT opcode, start_ts, operands, {', '.join(f'coalesce({name}, 0)' for name in numbers)} FROM Instruction WHERE operands <> ''"
    assert {row: count for row, count in work.items() if row[0] != "PSEUDO_DMA_TRIGGER"} == collections.Counter(
        profile.rows(f"{select} AND opcode <> 'PSEUDO_DMA_TRIGGER'"))
    assert blocks == collections.Counter(profile.rows("SELECT start_ts, transfer_bytes FROM DmaPacketAggregated"))
    assert packets == profile.one("SELECT count(*) FROM DmaPacket")


@pytest.mark.slow
@pytest.mark.sanitized
def test_a_session_is_printed_without_its_neff(kymo, made):
    file = made / "collectives" / "profile_rank_1.ntff"
    text = kymo.ok("show-session", "-s", file, "--show-trace", "--show-dma")
    for part in ("Instruction trace for ND 0 NC 1 engine Sync execution 1", "Collectives trace for CC-core 0", "TPB_TRIGGER", "SEMAPHORE_WAIT",
                 "DMA_ADVANCE", "M2S_SOP", "S2M_EOP", "S2M_COMPLETION", "PC=0"):
        assert part in text
    assert "Instruction trace" not in kymo.ok("show-session", "-s", file, "-e")
    (node,) = kymo.json("show-session", "-s", file, "-j")["NeffNodes"]
    (graph,) = node["NodeInfo"]["Graphs"]
    total = Profile(made / "data" / "profiles" / "global" / "collectives_profile_rank_1@latest").one("SELECT neuroncore_cycle_count FROM Summary")
    assert graph["CycleCount"] == pytest.approx(total, rel=0.02)
    assert kymo.ok("show-session", "-s", file, "-i") == kymo.ok("info", file)
    kymo.refuses("show-session", code=2)
    assert "not an NTFF" in kymo.refuses("show-session", "-s", made / "mlp" / "file.neff")
