#!/usr/bin/env bash
# Builds for aarch64 on a Debian of another processor, runs the unit tests under qemu and holds what the program prints
# against what the native build prints. Installs what that needs, foreign packages among it: meant for a machine that may
# be thrown away, as `scripts/fresh.sh --aarch64` makes it. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
bindings=node_modules/@duckdb/node-bindings-linux-arm64
passed=0
failed=0

install_cross_tools() {
    dpkg --add-architecture arm64
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user \
        libc6-dev:arm64 libstdc++6:arm64 libcmocka-dev:arm64 zlib1g-dev:arm64 libzstd-dev:arm64 \
        libcurl4-openssl-dev:arm64 libmicrohttpd-dev:arm64
}

# npm installs what is for this processor alone.
install_duckdb() {
    local version package
    version=$(node -p 'require("./package.json").optionalDependencies["@duckdb/node-bindings-linux-arm64"]')
    package=$(npm pack --silent "@duckdb/node-bindings-linux-arm64@$version")
    mkdir -p "$bindings"
    tar -xzf "$package" -C "$bindings" --strip-components=1
    rm "$package"
}

logged() {
    local name=$1
    shift
    echo "aarch64: $name"
    "$@" >"build/$name.log" 2>&1 || { tail -n 40 "build/$name.log" && echo "aarch64: $name failed" && exit 1; }
}

build() {
    cmake --preset aarch64 && cmake --build build/aarch64
}

verdict() {
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "aarch64: $1: failed"
    fi
}

unit_tests() {
    local program status
    for program in build/aarch64/unit/unit-*; do
        status=0
        timeout 600 qemu-aarch64 "$program" >"build/unit.log" 2>&1 || status=$?
        [ "$status" = 0 ] || tail -n 40 build/unit.log
        verdict "$(basename "$program")" "$status"
    done
}

# The same words to both programs: what they print must not differ in a byte.
same() {
    local status=0
    bin/kymo "$@" >build/native.out || status=$?
    qemu-aarch64 build/aarch64/bin/kymo "$@" >build/aarch64.out || status=$?
    [ -s build/native.out ] && cmp build/native.out build/aarch64.out || status=1
    verdict "kymo $*" "$status"
}

compare() {
    local capture
    for capture in tests/data/xplane/jax_matmul_h200.xplane.pb tests/data/xplane/jax_gpt_python_h200.xplane.pb \
        tests/data/xplane/tpu_inference.xplane.pb tests/data/kineto/nccl_gpu_rank.json.gz \
        tests/data/neuron/system_profile.json; do
        same info "$capture"
        same view "$capture" --output-format json
        same view "$capture" --output-format summary-text
    done
}

# A recording made with the generic timer, read by both.
record() {
    local status=0
    rm -rf build/recording
    NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_OUTPUT_DIR=build/recording \
        qemu-aarch64 build/aarch64/bin/examples/training 20 >build/record.log 2>&1 || status=$?
    verdict "a recording" "$status"
    same info build/recording
    same view build/recording --output-format json
}

mkdir -p build
logged native make all
logged cross-tools install_cross_tools
logged duckdb install_duckdb
logged build build
unit_tests
compare
record
echo "aarch64: $passed passed, $failed failed"
[ "$failed" = 0 ]
