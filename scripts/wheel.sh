#!/usr/bin/env bash
# Builds the Python packages, kymo and that of its extra torch-neuronx, into a folder (build/wheels) and prints their sizes:
# wheel.sh [FOLDER [options of pip wheel for kymo]]. PYTHON names the Python to build with; where that has scikit-build-core, nothing
# is downloaded.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/wheels}
mkdir -p "$folder"
python=${PYTHON:-python3}
log=build/wheel.log
isolation=()
"$python" -c "import scikit_build_core" 2>/dev/null && isolation=(--no-build-isolation)
build() { # SOURCE [options of pip wheel]
    "$python" -m pip wheel --disable-pip-version-check --no-deps "${isolation[@]}" --wheel-dir "$folder" "${@:2}" "$1" >>"$log" 2>&1
}
: >"$log"
if ! { build . "${@:2}" && build python/torch_neuronx; }; then
    tail -n 40 "$log" >&2
    exit 1
fi
for name in kymo kymo_torch_neuronx; do
    wheel=$(ls -t "$folder/$name"-*.whl | head -n 1)
    echo "$wheel: $(($(stat -c %s "$wheel") / 1000)) kB"
done
