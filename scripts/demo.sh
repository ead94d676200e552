#!/usr/bin/env bash
# Demo: records a program, processes it and GPU captures of JAX and PyTorch, prints a summary, measures collectives on
# software NeuronCores, builds a GPT for them, runs and captures both under inspect, prints what the device profile of the
# GPT says, and serves all in the browser until ctrl-c. KYMO_DEMO_PORT overrides port 3001.
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
    bin/kymo view "$1" --data-path "$folder/profiles" --display-name "$2" --force --ingest-only "${@:3}"
    echo
}

rm -rf "$folder/recording" "$folder/neuron" "$folder/collectives"
mkdir -p "$folder"
show bin/kymo view tests/data/xplane/jax_gpt_python_h200.xplane.pb --output-format summary-text --top 8
process tests/data/xplane/jax_gpt_python_h200.xplane.pb jax-gpt
process tests/data/kineto/nccl_gpu_rank.json.gz pytorch-nccl
show bin/kymo inspect -o "$folder/recording" bin/examples/training 100
process "$folder/recording" training
PATH=$PWD/bin/compat:$PATH show neuron-profile inspect -o "$folder/collectives" \
    nccom-test allg -b 512kb -e 512kb -r 32 -n 10 -d fp32 -w 1 -f 512
process "$folder/collectives" allgather-neuron --ignore-device-profile
show bin/kymo neff build examples/gpt12.json -o "$folder/gpt12.neff" --force
show bin/kymo inspect -o "$folder/neuron" \
    bin/kymo capture -n "$folder/gpt12.neff" -s "$folder/gpt12.ntff" --num-exec 3 --profile-nth-exec 3
process "$folder/neuron" gpt12-neuron
show bin/kymo recommend -n "$folder/gpt12.neff" -s "$folder/gpt12_exec_3.ntff"
show bin/kymo view -n "$folder/gpt12.neff" -s "$folder/gpt12_exec_3.ntff" \
    --data-path "$folder/profiles" --display-name gpt12-device --force --ingest-only

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
    (sleep 1 && xdg-open "http://localhost:$port/") >/dev/null 2>&1 &
fi
exec bin/kymo view --data-path "$folder/profiles" --port "$port"
