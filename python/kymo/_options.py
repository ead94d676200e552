"""ProfileOptions, with the properties of jax.profiler's, checked when they are set."""

from __future__ import annotations

from typing import Any, Callable, Mapping

_Check = Callable[[Any], Any]


def nearest(name: str, names: Any) -> str:
    """What to add to a message about an unknown name."""
    import difflib
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"must be True or False, not {value!r}")


def _number(least: int, most: int = 2**63 - 1) -> _Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"must be an integer, not {value!r}")
        if not least <= value <= most:
            raise ValueError(f"must be from {least} to {most}, not {value}" if most < 2**62 else
                             f"must be at least {least}, not {value}")
        return value
    return check


def _limit(value: Any) -> int:
    value = _number(-1)(value)
    if value == 0:
        raise ValueError("must be -1 (all) or at least 1")
    return int(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"must be a string, not {value!r}")


def _word(*words: str) -> _Check:
    def check(value: Any) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}, not {value!r}{nearest(str(value), words)}")
        return str(value)
    return check


def _words(*words: str) -> _Check:
    def check(value: Any) -> str:
        for word in _text(value).split(","):
            _word(*words)(word.strip())
        return str(value)
    return check


def _detail(value: Any) -> str:
    import re
    text = _text(value)
    found = re.fullmatch(r"sampled=(\d+)/(\d+)", text)
    if found and not 0 < int(found[1]) < int(found[2]) * 1000:
        raise ValueError(f"{text!r}: {found[1]} ms do not fit into {found[2]} s")
    return text if found else str(_word("graph", "kernel", "sampled")(value))


def _modules(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"must be names of modules, not {value!r}")
    return tuple(name.strip() for name in names if name.strip())


# As libkymo-cuda has them (src/capture/cuda/options/gpu_options.c).
GPU_KEYS: dict[str, _Check] = {
    "gpu_detail": _detail,
    "gpu_api_calls": _text,
    "gpu_max_callback_api_events": _limit,
    "gpu_max_activity_api_events": _limit,
    "gpu_max_annotation_strings": _limit,
    "gpu_enable_nvtx_tracking": _flag,
    "gpu_enable_cupti_activity_graph_trace": _flag,
    "gpu_pm_sample_counters": _text,
    "gpu_pm_sample_interval_us": _number(1, 1_000_000),
    "gpu_pm_sample_buffer_size_per_gpu_mb": _number(1, 4096),
    "gpu_num_chips_to_profile_per_task": _number(-2**63),  # all GPUs if it is not a number of GPUs
    "gpu_dump_graph_node_mapping": _flag,
    "gpu_counter_interval_ms": _number(0, 86400000),
}

# Defaults of XProf's guide, where libkymo-cuda's own are others: its limits are off. docs/gpu.md has all of them.
GPU_DEFAULTS: dict[str, Any] = {
    "gpu_max_callback_api_events": 2 * 1024 * 1024,
    "gpu_max_activity_api_events": 2 * 1024 * 1024,
    "gpu_max_annotation_strings": 1024 * 1024,
}

_COUNTER_SETS = ("TC_COMPUTATION", "TC_MEMORY", "SC_ACTIVITY", "SC_MEMORY", "HBM")

# What libtpu takes; passed on to it by JAX's own profiler.
TPU_KEYS: dict[str, _Check] = {
    "tpu_trace_mode": _word("TRACE_ONLY_HOST", "TRACE_ONLY_XLA", "TRACE_COMPUTE", "TRACE_COMPUTE_AND_SYNC"),
    "tpu_num_sparse_cores_to_trace": _number(0),
    "tpu_num_sparse_core_tiles_to_trace": _number(0),
    "tpu_num_chips_to_profile_per_task": _number(0),
    "tpu_power_trace_level": _number(0, 2),
    "tpu_e2e_enable_fw_throttle_event": _flag,
    "tpu_e2e_enable_fw_power_level_event": _flag,
    "tpu_e2e_enable_fw_thermal_event": _flag,
    "tpu_tracemark_lower": _number(0),
    "tpu_tracemark_upper": _number(0),
    "tpu_enable_periodic_counter_sampling": _flag,
    **{f"tpu_{unit}_perf_counter_sampling_options": _text for unit in ("tc", "scs", "sctc", "sctd", "cmn", "icr")},
    "tpu_perf_counter_sets": _words(*_COUNTER_SETS),
    "tpu_enable_kernel_profiling": _flag,
    "tpu_perf_counters": _text,
    "max_trace_buffers": _number(1),
    "tpu_circular_buffer_tracing": _flag,
    "tpu_watched_sync_flag_number": _number(0),
    "tpu_watched_sync_flag_mask": _number(0),
    "tpu_sc_dma": _flag,
    "tpu_cpu_perf_counter_profile_events": _text,
    "tpu_cpu_perf_counter_configs": _text,
}

# Of those, the ones jaxlib's tracer of GPUs takes as well.
JAX_GPU_KEYS = frozenset({
    "gpu_max_callback_api_events", "gpu_max_activity_api_events", "gpu_max_annotation_strings", "gpu_enable_nvtx_tracking",
    "gpu_enable_cupti_activity_graph_trace", "gpu_num_chips_to_profile_per_task",
})

# Device profiles of Neuron models: none, of the first execution of each, of all; in the order of libkymo's values.
DEVICE_PROFILES = ("none", "model", "session")

# Of Kymo's own recorder.
KYMO_KEYS: dict[str, _Check] = {
    "kymo_gpu": _flag,
    "kymo_max_events": _number(1),
    "kymo_device_profile": _word(*DEVICE_PROFILES),
    "kymo_cpu_util_ms": _number(0, 2**32 - 1),
    "kymo_host_memory_ms": _number(0, 2**32 - 1),
    "kymo_python_min_duration_us": _number(0),
    "kymo_python_exclude": _modules,
    "kymo_python_c_functions": _flag,
    "kymo_python_sample_hz": _number(0, 1000),
    "kymo_trace_json": _flag,
}

_KEYS: dict[str, _Check] = {**GPU_KEYS, **TPU_KEYS, **KYMO_KEYS}


def check_configuration(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The same with values of the right types; a ValueError names an unknown key or an invalid value."""
    if not isinstance(configuration, Mapping):
        raise TypeError(f"advanced_configuration must be a dict, not {type(configuration).__name__}")
    checked = {}
    for key, value in configuration.items():
        if not isinstance(key, str) or key not in _KEYS:
            raise ValueError(f"INVALID_ARGUMENT: advanced_configuration has no key {key!r}{nearest(str(key), _KEYS)}")
        try:
            checked[key] = _KEYS[key](value)
        except ValueError as problem:
            raise ValueError(f"INVALID_ARGUMENT: advanced_configuration[{key!r}] {problem}") from None
    if checked.get("gpu_enable_cupti_activity_graph_trace") and checked.get("gpu_detail", "graph") != "graph":
        raise ValueError("INVALID_ARGUMENT: gpu_enable_cupti_activity_graph_trace=True and "
                         f"gpu_detail={checked['gpu_detail']} contradict each other")
    return checked


_ATTRIBUTES: dict[str, tuple[Any, type, _Check]] = {
    "host_tracer_level": (2, int, _number(0, 3)),
    "device_tracer_level": (1, int, _number(0, 1)),
    "python_tracer_level": (1, int, _number(0, 1)),
    "include_dataset_ops": (True, bool, _flag),
    "enable_hlo_proto": (True, bool, _flag),
    "start_timestamp_ns": (0, int, _number(0)),
    "duration_ms": (0, int, _number(0)),
    "raise_error_on_start_failure": (False, bool, _flag),
    "repository_path": ("", str, _text),
    "session_id": ("", str, _text),
}


class ProfileOptions:
    """What to record, as jax.profiler.ProfileOptions.

    >>> options = ProfileOptions()
    >>> options.python_tracer_level = 0                    # no Python functions (default: 1)
    >>> options.host_tracer_level = 1                      # 0: nothing on the host, 1: annotations, 2 (default), 3: more of XLA
    >>> options.device_tracer_level = 0                    # nothing on GPUs (default: 1)
    >>> options.session_id = "first"                       # the name of the run (default: its time)
    >>> options.advanced_configuration = {"gpu_detail": "graph", "kymo_python_min_duration_us": 20}

    Values are checked when they are set; an unknown key or an invalid value is a ValueError:

    >>> options.advanced_configuration = {"gpu_detial": "graph"}
    Traceback (most recent call last):
    ValueError: INVALID_ARGUMENT: advanced_configuration has no key 'gpu_detial'; did you mean 'gpu_detail'?
    """

    host_tracer_level: int
    device_tracer_level: int
    python_tracer_level: int
    include_dataset_ops: bool
    enable_hlo_proto: bool
    start_timestamp_ns: int
    duration_ms: int
    raise_error_on_start_failure: bool
    repository_path: str
    session_id: str

    def __init__(self) -> None:
        for name, (value, _, _) in _ATTRIBUTES.items():
            self.__dict__[name] = value
        self.__dict__["_configuration"] = {}

    @property
    def advanced_configuration(self) -> dict[str, Any]:
        return dict(self.__dict__["_configuration"])

    @advanced_configuration.setter
    def advanced_configuration(self, configuration: Mapping[str, Any]) -> None:
        self.__dict__["_configuration"] = check_configuration(configuration)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "advanced_configuration":
            object.__setattr__(self, name, value)
            return
        if name not in _ATTRIBUTES:
            raise AttributeError(f"ProfileOptions has no property {name!r}"
                                 f"{nearest(name, [*_ATTRIBUTES, 'advanced_configuration'])}")
        _, kind, check = _ATTRIBUTES[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"{name} must be {kind.__name__}, not {type(value).__name__}")
        try:
            self.__dict__[name] = check(value)
        except ValueError as problem:
            raise ValueError(f"INVALID_ARGUMENT: {name} {problem}") from None

    def __repr__(self) -> str:
        changed = [f"{name}={self.__dict__[name]!r}" for name, (value, _, _) in _ATTRIBUTES.items()
                   if self.__dict__[name] != value]
        if self.advanced_configuration:
            changed.append(f"advanced_configuration={self.advanced_configuration!r}")
        return f"ProfileOptions({', '.join(changed)})"


def _value(options: Any, name: str) -> Any:
    """None if it has no such property or cannot read it, like advanced_configuration in jaxlib 0.6 and 0.7."""
    try:
        return getattr(options, name)
    except (AttributeError, TypeError):
        return None


def options_of(options: Any) -> ProfileOptions:
    """Options as ours: a copy, also of jax.profiler.ProfileOptions, which has fewer properties in earlier versions."""
    copy = ProfileOptions()
    if options is None:
        return copy
    values = {name: _value(options, name) for name in (*_ATTRIBUTES, "advanced_configuration")}
    if values["host_tracer_level"] is None or values["python_tracer_level"] is None:
        raise TypeError(f"profiler_options must be ProfileOptions, not {type(options).__name__}")
    for name, value in values.items():
        if value is not None:
            setattr(copy, name, value)
    return copy
