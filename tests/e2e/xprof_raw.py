"""Writes what XProf answers for XPlane files, as it is: {file: {tool: JSON}}. A program of its own, as XProf may crash."""

import json
import pathlib
import shutil
import sys
import tempfile

from xprof.convert import raw_to_tool_data

TOOLS = ["overview_page", "input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "memory_profile", "pod_viewer",
         "hlo_stats", "roofline_model", "perf_counters", "inference_profile"]
GROUPS = ["program", "category", "provenance"]


def said(path, tool, **parameters):
    data, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], tool, parameters)
    return json.loads(data)


def main():
    answers = {}
    for file in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as directory:
            path = shutil.copy(file, pathlib.Path(directory) / "host.xplane.pb")
            answers[file] = {tool: said(path, tool) for tool in TOOLS}
            for group in GROUPS:
                answers[file][f"op_profile {group}"] = said(path, "op_profile", group_by=group)
    pathlib.Path(sys.argv[1]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
