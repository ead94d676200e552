#!/usr/bin/env bash
# Builds the Python package into a folder (build/wheels) and prints its size: wheel.sh [FOLDER [options of pip wheel]]. PYTHON names
# the Python to build with; where that has scikit-build-core, nothing is downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheels}
mkdir -p "$folder"
python=${PYTHON:-python3}
log=build/wheel.log
isolation=()
"$python" -c "import scikit_build_core" 2>/dev/null && isolation=(--no-build-isolation)
if ! "$python" -m pip wheel --disable-pip-version-check --no-deps "${isolation[@]}" --wheel-dir "$folder" "${@:2}" . >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
fi
wheel=$(ls -t "$folder"/kymo-*.whl | head -n 1)
echo "$wheel: $(($(stat -c %s "$wheel") / 1000000)) MB"
