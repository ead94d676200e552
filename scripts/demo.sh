#!/usr/bin/env bash
# Demo: records a program, processes it and GPU captures of JAX and PyTorch, prints a summary, and serves
# all three in the browser until ctrl-c. KYMO_DEMO_PORT overrides port 3001.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/demo
port=${KYMO_DEMO_PORT:-3001}

show() {
    echo "\$ $*"
    "$@"
    echo
}

process() {
    bin/kymo view "$1" --data-path "$folder/profiles" --display-name "$2" --force "${@:3}"
    echo
}

rm -rf "$folder/recording"
mkdir -p "$folder"
process tests/data/xplane/jax_gpt_python_h200.xplane.pb jax-gpt --top 8
process tests/data/kineto/nccl_gpu_rank.json.gz pytorch-nccl --ingest-only
show bin/kymo inspect -o "$folder/recording" bin/examples/training 100
process "$folder/recording" training --ingest-only

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    (sleep 1 && xdg-open "http://localhost:$port/") >/dev/null 2>&1 &
fi
exec bin/kymo view --data-path "$folder/profiles" --port "$port"
