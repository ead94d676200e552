"""Device profiles: metrics, the critical path, findings and JSON of the GPT example, held against sums made here from the
events, and against what the model needs by its shapes."""

import collections
import json
import os
import re

import pytest

from conftest import ROOT

ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")


def make(kymo, folder, graph, core, instance, *arguments):
    neff, ntff = folder / f"{graph}.neff", folder / "profile.ntff"
    kymo.run("neff", "build", ROOT / "examples" / f"{graph}.json", "-o", neff, "--core", core, check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NEURON_", "KYMO_NEURON"))}
    kymo.run("capture", "-n", neff, "-s", ntff, *arguments, check=True,
             env=environment | {"KYMO_NEURON_INSTANCE": instance, "XDG_RUNTIME_DIR": str(folder)})
    return neff, ntff


@pytest.fixture(scope="module")
def gpt(kymo, tmp_path_factory):
    return make(kymo, tmp_path_factory.mktemp("gpt"), "gpt12", "v3", "trn2.48xlarge", "--enable-dge-notifs")


@pytest.fixture(scope="module")
def document(kymo, gpt):
    return kymo.json("view", "-n", gpt[0], "-s", gpt[1], "--output-format", "json", "--enable-memory-tracker")


@pytest.fixture(scope="module")
def summary(document):
    return document["summary"][0]


def union(spans):
    """Time that is covered at least once."""
    covered, end = 0, -1
    for start, stop in sorted(spans):
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered


@pytest.mark.slow
def test_flops_are_those_of_the_model(summary):
    tokens, width, hidden, vocabulary, heads = 128, 256, 1024, 1024, 4
    projections = 4 * tokens * width * width
    attention = 2 * heads * tokens * tokens * (width // heads)
    block = projections + attention + 2 * tokens * width * hidden
    needed = 2 * (12 * block + tokens * width * vocabulary)
    assert summary["model_flops"] == needed
    assert summary["hardware_flops"] - summary["transpose_flops"] == needed
    assert summary["mfu_estimated_percent"] == pytest.approx(needed / (2 * 128 * 128 * 2.4e9 * summary["total_time"]))


def test_the_critical_path_is_as_long_as_the_execution(summary):
    parts = {name: value for name, value in summary.items() if name.startswith("critical_path_")}
    assert len(parts) == 14 and min(parts.values()) >= 0
    assert sum(parts.values()) == pytest.approx(summary["total_time"], abs=1e-12)
    for engine in ENGINES:  # no more of it than the engine works
        assert parts[f"critical_path_{engine}_engine_time"] <= summary[f"{engine}_engine_active_time"] + 1e-12
    assert parts["critical_path_dma_time"] <= summary["dma_active_time"] + 1e-12


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_are_active_when_they_have_instructions(document, summary, engine):
    rows = {"tensor": ("Tensor", "TensorMatrix"), "gpsimd": ("GpSimd",)}.get(engine, (engine.capitalize(),))
    items = [i for i in document["instruction"] if i["label"] in rows]
    assert len(items) == summary[f"{engine}_engine_instruction_count"] > 0
    rounding = 2e-9 * len(items)  # times are whole nanoseconds
    spans = [(i["timestamp"], i["timestamp"] + i["duration"]) for i in items]
    assert summary[f"{engine}_engine_active_time"] == pytest.approx(union(spans) * 1e-9, abs=rounding)
    assert summary[f"{engine}_engine_instruction_time"] == pytest.approx(sum(i["duration"] for i in items) * 1e-9, abs=rounding)
    assert summary[f"{engine}_engine_active_time"] <= summary["total_time"]


def test_bytes_of_the_queues_are_the_bytes_of_all_transfers(document, summary):
    assert len(document["dma"]) == summary["dma_transfer_count"]
    assert sum(d["transfer_size"] for d in document["dma"]) == summary["dma_transfer_total_bytes"]
    weights = sum(d["read_size"] for d in document["dma"] if d["source"] == [["WEIGHT"]])
    assert weights == summary["weight_queue_bytes"]
    sizes = {n["variable_name"]: int(n["size"]) for n in document["neff_node"] if n["type"] == "WEIGHT"}
    assert summary["weight_size_bytes"] == sum(sizes.values())
    written = sum(d["write_size"] for d in document["dma"] if d["dest"] == ["OUTPUT"])
    assert written == summary["output_queue_bytes"] == 128 * 1024 * 4


def test_layers_add_up(document, summary):
    layers = {layer["name"]: layer for layer in document["layer_summary"]}
    assert layers["/gpt"]["FLOPs"] == summary["model_flops"]
    blocks = [layers[f"/gpt/block{i}"]["FLOPs"] for i in range(12)]
    assert len(set(blocks)) == 1 and 12 * blocks[0] + layers["/gpt/head"]["FLOPs"] == summary["model_flops"]
    assert layers["/gpt"]["hbm_read_bytes"] == summary["hbm_read_bytes"]
    for name, layer in layers.items():
        parent = layers.get(name.rpartition("/")[0])
        if parent:
            assert parent["start"] <= layer["start"] <= layer["end"] <= parent["end"]


def test_the_scratchpad_holds_tensors_from_their_first_to_their_last_transfer(document):
    sizes = {n["variable_name"]: int(n["size"]) for n in document["neff_node"] if n["type"] == "VIRTUAL"}
    spans = {}
    for item in document["dma"]:
        if item["variable"] in sizes:
            span = spans.setdefault(item["variable"], [item["timestamp"], 0])
            span[:] = min(span[0], item["timestamp"]), max(span[1], item["timestamp"] + item["duration"])
    uses = {u["variable_name"]: u for u in document["scratchpad_usage"]}
    assert spans and spans.keys() <= uses.keys() <= sizes.keys()
    for name, (start, end) in spans.items():
        assert uses[name]["start_ts"] <= start and end <= uses[name]["end_ts"] and uses[name]["size"] == sizes[name]
    items = sorted(uses.values(), key=lambda use: use["start_ts"])
    for i, a in enumerate(items):  # what is in use at the same time does not share memory
        for b in items[i + 1:]:
            if b["start_ts"] < a["end_ts"]:
                assert a["offset"] + a["size"] <= b["offset"] or b["offset"] + b["size"] <= a["offset"], (a, b)


def test_the_text_has_the_fields_of_the_json_in_two_columns(kymo, gpt, summary):
    lines = kymo.ok("view", "-n", gpt[0], "-s", gpt[1], "--output-format", "summary-text").splitlines()
    text = dict(line.split(None, 1) for line in lines)
    assert list(text) == list(summary)
    assert (text["nc_idx"], text["nd_idx"]) == ("0", "0")
    assert float(text["total_time"]) == pytest.approx(summary["total_time"])
    found = kymo.json("view", "-n", gpt[0], "-s", gpt[1], "--output-format", "summary-json")
    (name,) = found
    assert re.fullmatch("n_[0-9a-f]{40}", name) and found[name] == summary


def test_what_to_know_first_is_printed(kymo, gpt, document, summary, tmp_path):
    """Times and counts of the terminal's tables are those of the summary."""
    text = kymo.ok("view", "-n", gpt[0], "-s", gpt[1], "--output-file", tmp_path / "tables", "--top", "1000")
    sections = {block.split("\n")[0]: block.split("\n")[1:] for block in text.split("\n\n")}
    assert text.splitlines()[0].startswith("gpt12 on ND0 NC0: ")
    units = {line.split()[0]: line.split() for line in sections["Engines, DMA and collectives: active time, and share of the critical path"]}
    for engine in ("Tensor", "Vector", "Scalar", "GpSimd", "Sync"):
        assert float(units[engine][3]) == pytest.approx(100 * summary[f"{engine.lower()}_engine_active_time_percent"], abs=0.051)
        assert int(units[engine][-1].replace(",", "")) == summary[f"{engine.lower()}_engine_instruction_count"]
    assert float(units["DMA"][3]) == pytest.approx(100 * summary["dma_active_time_percent"], abs=0.051)
    path = [float(line[43:].split("%")[-2].split()[-1]) for line in sections["Engines, DMA and collectives: active time, and share of the critical path"][1:]]
    assert sum(path) == pytest.approx(100, abs=0.6)
    rates = {line.split()[0]: float(line.split()[1]) for line in sections["Utilization"]}
    assert rates == {name.upper(): pytest.approx(100 * summary[f"{name}_estimated_percent"], abs=0.051) for name in ("mfu", "hfu", "mbu")}
    layers = [line.split() for line in sections["Layers, by active time"][1:]]
    assert sum(int(words[1]) for words in layers if words[0].startswith("/gpt/block*/ln")) == 24
    assert sum(float(words[-5]) for words in layers) == pytest.approx(summary["model_flops"], rel=0.01)
    instructions = [line.split() for line in sections["Instructions, by active time on their engine"][1:]]
    spans = collections.defaultdict(list)
    for item in document["instruction"]:
        spans[item["opcode"], item["label"].removesuffix("Matrix")].append((item["timestamp"], item["timestamp"] + item["duration"]))
    for opcode, engine, _, _, share, *_ in instructions:  # the share is that of the time beside it, a union
        assert float(share) == pytest.approx(union(spans[opcode, engine]) / summary["total_time"] / 1e7, abs=0.06), (opcode, engine)
    counts = [int(words[-3].replace(",", "")) for words in instructions]
    assert sum(counts) == sum(summary[f"{engine}_engine_instruction_count"] for engine in ("tensor", "vector", "scalar", "gpsimd", "sync"))


def test_the_json_is_read_as_a_profile_again(kymo, document, tmp_path):
    path = tmp_path / "ntff.json"
    path.write_text(json.dumps(document))
    info = kymo.ok("info", path)
    assert f"{len(document['instruction']) + len(document['dma']) + len(document['layer_summary']):,} events" in info


def test_every_metric_is_explained(kymo, summary):
    text = kymo.ok("view", "--terminology")
    names = re.findall(r"^(\w+)", text, re.MULTILINE)
    own = ("critical_path", "bound_", "throttle_")
    listed = [n for n in summary if not n.startswith(own)]
    assert names == listed[listed.index("total_time"):]
    assert len(re.findall(r"^    = .", text, re.MULTILINE)) == len(names)


@pytest.mark.slow
@pytest.mark.sanitized
def test_recommendations_are_ranked_and_their_queries_answered(kymo, gpt, tmp_path):
    text = kymo.ok("recommend", "-n", gpt[0], "-s", gpt[1])
    shares = [float(share) for share in re.findall(r"can be gained, ([\d.]+) % of the time", text)]
    assert len(shares) > 3 and shares == sorted(shares, reverse=True)
    assert sum(float(share) for share in re.findall(r"\| ([\d.]+) % \|", text)) == pytest.approx(100, abs=1)
    kymo.ok("view", gpt[1], "--data-path", tmp_path, "--display-name", "gpt", "--ingest-only")
    findings = kymo.json("recommend", "gpt", "--data-path", tmp_path, "--format", "json")
    assert [f["rule"] for f in findings][0] == "pipeline"
    assert len(findings) == sum(share >= 3 for share in shares)
    for finding in findings:
        assert finding["query"] in text
        assert json.loads(kymo.ok("sql", "gpt", finding["query"], "--data-path", tmp_path, "--format", "json"))
        for evidence in finding["evidence"]:
            (event,) = json.loads(kymo.ok("sql", "gpt", "SELECT start_ts, duration_ns FROM SystemProfileEvents WHERE id = "
                                          f"{evidence['event_id']}", "--data-path", tmp_path, "--format", "json"))
            # The event is what works, or what begins after the wait.
            assert evidence["from_ps"] // 1000 <= event["start_ts"] + event["duration_ns"]
            assert event["start_ts"] - 1 <= -(-evidence["to_ps"] // 1000)


@pytest.mark.slow
def test_coverage_by_nki_kernels_is_told_with_their_directory(kymo, gpt, tmp_path):
    asked = ("recommend", "-n", gpt[0], "-s", gpt[1], "--nki-source-root")
    for name, file in (("kernels", "softmax.py"), ("model", "gpt.py")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
    assert "Most instructions do not come from NKI kernels" in kymo.ok(*asked, tmp_path / "kernels")
    assert "do not come from NKI kernels" not in kymo.ok(*asked, tmp_path / "model")
    assert "no such directory" in kymo.refuses(*asked, tmp_path / "none", code=2)


def test_ranks_are_compared(kymo, tmp_path):
    make(kymo, tmp_path, "collectives", "v2", "trn1.32xlarge")
    found = kymo.json("view", "-d", tmp_path, "--output-format", "summary-json")
    ranks = found.pop("ranks")
    assert len(found) == 4 == len({s["rank"] for s in found.values()})
    assert [r["rank"] for r in ranks["ranks"]] == [0, 1, 2, 3]
    assert all(r["collective_count"] == s["cc_op_count"] for r, s in zip(ranks["ranks"], found.values()))
    assert sorted(c["rank_count"] for c in ranks["collectives"]) == [2, 2, 4, 4, 4, 4, 4, 4]  # one has two groups
    assert ranks["slowest_rank"] is None  # all ranks do the same
    text = kymo.ok("view", "-d", tmp_path, "--output-format", "summary-text")
    assert len(re.findall("^n_[0-9a-f]{40}$", text, re.MULTILINE)) == 4 and "No rank waited for another." in text


@pytest.mark.parametrize("arguments", [["-n", "x.neff"], ["-s", "x.ntff"], ["-n", "x.neff", "-s", "x.ntff", "gpt"],
                                       ["--nki-source-root", "kernels", "gpt"]])
def test_half_a_device_profile_is_refused(kymo, arguments):
    assert "-n" in kymo.refuses("recommend", *arguments, code=2)
