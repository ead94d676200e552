"""The tables of a processed profile are those of the published schema, and what they say of themselves is so."""

import pytest

import random_space
from store_captures import profile, write
from store_tables import Profile, fields_of

# The published profile schema 7.4.0, as far as there is data for it: name:type, * for required.
PUBLISHED = {
    "SystemProfileEvents": "id:i64* name:str* start_ts:i64* end_ts:i64* duration_ns:i64* "
    "trace_event_source:str* instance_id:str* process_id:i64* thread_id:i64* nc_idx:i64 "
    "pcore_idx:i64 worker_gid:i64 flow_id:[str] framework_stream_id:str extra_attributes_json:str",
    "SystemProfileMetadata": "first_ts:str* last_ts:str* first_ts_ns:str* last_ts_ns:str* "
    "ntff_version:i64* hbm_capacity_bytes:i64*",
    "Metadata": "profile_schema_version:str* ntff_version:i32* num_physical_cores:i32* "
    "vnc_enabled:bool* first_hw_timestamp:i64* last_hw_timestamp:i64* first_ts:str* last_ts:str* "
    "dma_ddr_bandwidth:f32* num_dma_engines_per_neuroncore:i32* hbm_ddr_bandwidth:f32* "
    "tensor_engine_num_rows:i64* tensor_engine_num_cols:i64* tensor_engine_clock_freq:f32* "
    "vector_engine_clock_freq:f32* vector_engine_num_channels:i64* scalar_engine_clock_freq:f32* "
    "scalar_engine_num_channels:i64* gpsimd_engine_clock_freq:f32* gpsimd_engine_num_channels:i64* "
    "neuroncore_clock_freq:f32* ticks_per_nanosec:i64* instance_type:str runtime_version:str "
    "collectives_version:str driver_version:str explorer_version:str compiler_version:str "
    "neuroncore_idx:i64 neuron_device_idx:i64 ultraserver_id:i64 ultraserver_type:str "
    "ultraserver_size:i32 ultraserver_instance_index:i32 s3_bucket_path:str profile_name:str "
    "explorer_build_time:str is_simulation:bool",
    "CpuUsage": "timestamp:i64* util_percent:f32* cpu_id:str* instance_id:str* ultraserver_id:i64 "
    "ultraserver_instance_index:i64",
    "HostMemUsage": "timestamp:i64* used_bytes:i64* used_percent:f32* instance_id:str* "
    "ultraserver_id:i64 ultraserver_instance_index:i64",
    "Flow": "in_id:i64* out_id:i64* in_table:str* out_table:str* dependency_type:str gap_time:i64",
    "StackFrame": "id:str* file_location_id:i32* parent_frame_id:str*",
    "StackFrameFileLocation": "id:str* file_name_id:i32* function_name_id:i32* line_number:i32*",
    "StackFrameFileName": "id:str* name:str*",
    "StackFrameFunctionName": "id:str* name:str*",
    "Warning": "message:str* category:str*",
    "SchemaFields": "table_name:str* table_description:str* field_name:str* field_description:str* "
    "field_example:str field_type:str* field_required:bool* field_format:str field_unit:str "
    "field_minimum:f32 field_maximum:f32 field_enum_values:str",
}
PUBLISHED_TYPES = {"i64": "int64", "i32": "int32", "f32": "float32", "str": "string"}
PUBLISHED_TYPES |= {"bool": "bool", "[str]": "list<string>"}


@pytest.mark.sanitized(cases=6)  # texts, numbers and times of all kinds are written
def test_schema_fields_describe_every_table_exactly(profile):
    described = fields_of(profile)
    for name, table in profile.tables.items():
        assert table.schema == described[name], name


def test_a_table_without_rows_is_not_written_but_those_of_events_and_findings(profile):
    always = {"SystemProfileEvents", "Finding", "FindingEvidence"}
    assert all(table.count > 0 for name, table in profile.tables.items() if name not in always)
    files = sorted(path.name for path in profile.directory.iterdir())
    modules = ["modules.hlo.zst"] if any(row["file"] for row in profile.rows("HloModule")) else []
    assert files == sorted([*(f"{name}.parquet" for name in profile.tables), "timeline.kymo", "summary.json", *modules])
    document = profile.document
    needed = {"Metadata", "SystemProfileMetadata", "SchemaFields", "EventType", "Track", *always}
    for table, list_of in (("Flow", "flows"), ("Step", "steps"), ("HloModule", "programs"),
                           ("HloRun", "derived_rows"), ("Warning", "messages")):  # fmt: skip
        assert (table in profile.tables) == bool(document[list_of]), table
    assert needed <= set(profile.tables)


@pytest.fixture(scope="module")
def any_profile(kymo, tmp_path_factory):
    """One for the tests that look at what is the same in all."""
    folder = tmp_path_factory.mktemp("any")
    return Profile(kymo, write(random_space.make(1), folder / "x.xplane.pb"), folder / "profile")


def published_fields(text):
    fields = [word.split(":") for word in text.split()]
    return [(name, PUBLISHED_TYPES[type.rstrip("*")], "*" in type) for name, type in fields]


@pytest.mark.parametrize("table", PUBLISHED)
def test_tables_of_the_published_schema_begin_with_its_columns(any_profile, table):
    """Columns of our own follow behind, on the table of events alone."""
    published, ours = published_fields(PUBLISHED[table]), fields_of(any_profile)[table]
    if table == "HostMemUsage":  # what was not recorded is not 0
        published = [(name, type, is_required and not name.startswith("used_")) for name, type, is_required in published]
    assert ours[: len(published)] == published
    assert len(ours) == len(published) or table == "SystemProfileEvents"


def test_schema_fields_tell_units_forms_and_choices(any_profile):
    rows = {(row["table_name"], row["field_name"]): row for row in any_profile.rows("SchemaFields")}
    assert len(rows) == len(any_profile.rows("SchemaFields"))
    for (_, name), row in rows.items():
        for column in ("table_description", "field_description"):
            assert row[column].endswith(".") and len(row[column]) > 4
        assert row["field_example"]
        if name.endswith("_ns") or name in ("start_ts", "end_ts", "timestamp"):
            assert row["field_unit"] == "ns", row
        if name.endswith("_bytes"):
            assert row["field_unit"] == "B", row
        assert name.endswith("_percent") == (row["field_unit"] in ("%", "fraction")) or row["table_name"] in ("Summary", "FrameworkNode"), row
        is_percent = row["field_unit"] == "%"
        bounds = row["field_minimum"], row["field_maximum"]
        assert bounds == ((0.0, 100.0) if is_percent else (None, None))
        assert (row["field_format"] == "json") == name.endswith("_json")
    assert rows["Metadata", "first_ts"]["field_format"] == "date-time"
    assert rows["SystemProfileMetadata", "first_ts_ns"]["field_format"] is None


def test_columns_of_few_values_hold_none_but_those_the_schema_lists(profile):
    for row in profile.rows("SchemaFields"):
        if row["field_enum_values"] is None or row["table_name"] not in profile.tables:
            continue
        values = set(profile.tables[row["table_name"]].columns[row["field_name"]])
        assert values - {None} <= set(row["field_enum_values"].split(", ")), row


def test_the_schema_that_is_shown_is_the_one_that_is_written(kymo, any_profile):
    text = kymo.ok("--show-profile-schema")
    assert "7.4.0" in text
    shown = {}
    for paragraph in text.split("\n\n")[1:]:
        head, *lines = paragraph.strip("\n").split("\n")
        fields = []
        for line in lines:
            name, type = line.split()[:2]
            fields.append((name, type.rstrip("?"), not type.endswith("?")))
        shown[head.split(":")[0]] = fields
    assert shown == fields_of(any_profile)
