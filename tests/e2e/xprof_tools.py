"""Prints what XProf's tools make of XPlane files, as JSON: {file: {tool: what it says, sorted}}.

A program of its own: XProf is C++ code, which may crash. Lists are sorted, as XProf writes some of them in any order.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

from xprof.convert import raw_to_tool_data

TOOLS = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile",
         "pod_viewer", "op_profile", "hlo_stats", "roofline_model", "inference_profile", "smart_suggestion",
         "perf_counters", "utilization_viewer", "trace_viewer"]
OF_A_MODULE = {
    "memory_viewer": lambda module: {"module_name": module},
    "graph_viewer": lambda module: {"graph_viewer_options": {"module_name": module, "type": "short_txt"}},
}


def canonical(value):
    if isinstance(value, dict):
        return {key: canonical(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return sorted((canonical(item) for item in value), key=lambda item: json.dumps(item))
    return value


def said(paths, tool, parameters):
    data, _ = raw_to_tool_data.xspace_to_tool_data(paths, tool, parameters)
    data = data.decode() if isinstance(data, bytes) else data
    if tool == "trace_viewer":  # an event on each line: sorting these takes a fraction of sorting what they say
        return sorted(line.rstrip(",") for line in data.splitlines())
    try:
        return canonical(json.loads(data))
    except (TypeError, ValueError):
        return data


def without_samples(profile):
    """Which snapshots XProf shows changes from call to call, where several have one time; its summary does not."""
    for allocator in profile["memoryProfilePerAllocator"].values():
        allocator["sampledTimelineSnapshots"] = len(allocator.get("sampledTimelineSnapshots", []))
        for key in ("memoryProfileSnapshots", "activeAllocations", "specialAllocations"):
            allocator.pop(key, None)
    return profile


def tools_of(file, directory):
    path = shutil.copy(file, pathlib.Path(directory) / "host.xplane.pb")
    found = {"tools": sorted(raw_to_tool_data.xspace_to_tool_names([path]))}
    for tool in TOOLS:
        found[tool] = said([path], tool, {})
    found["memory_profile"] = without_samples(found["memory_profile"])
    modules = sorted(name[: -len(".hlo_proto.pb")] for name in os.listdir(directory) if name.endswith(".hlo_proto.pb"))
    for tool, parameters in OF_A_MODULE.items():
        for module in modules[:3]:
            if module != "NO_MODULE":
                found[f"{tool} {module}"] = said([path], tool, parameters(module))
    return found


def main():
    answers = {}
    for file in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as directory:
            answers[file] = tools_of(file, directory)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
