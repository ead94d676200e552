#!/usr/bin/env bash
# Cross-compiles for aarch64 on Debian, runs the unit tests under qemu and compares the output of the program with
# that of the native build. Both are built without the web UI and DuckDB. Installs foreign packages: use it in a
# disposable installation, as `scripts/fresh.sh --aarch64` does. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
passed=0
failed=0

libraries=(zlib1g-dev libzstd-dev libcurl4-openssl-dev libmicrohttpd-dev libnghttp2-dev)

install() {
    apt-get install -y -qq --no-install-recommends "$@"
}

install_native() {
    apt-get update -qq
    install cmake ninja-build pkg-config gcc libc6-dev "${libraries[@]}"
}

# Some development packages of two architectures contain different files of the same name: those of the native build
# make room once it is done. Its shared libraries stay.
install_foreign() {
    local native
    mapfile -t native < <(dpkg-query --show --showformat '${Package}\n' '*-dev' | grep -v -x -E 'libc6-dev|linux-libc-dev|libgcc-.*')
    apt-get purge -y -qq "${native[@]}"
    dpkg --add-architecture arm64
    apt-get update -qq
    install qemu-user gcc-aarch64-linux-gnu libc6-dev:arm64 libcmocka-dev:arm64 "${libraries[@]/%/:arm64}"
}

logged() {
    local name=$1
    shift
    echo "aarch64: $name"
    "$@" >"build/log-$name" 2>&1 || { tail -n 40 "build/log-$name" && echo "aarch64: $name failed" && exit 1; }
}

build() {
    cmake --preset "$1" && cmake --build "build/$1"
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
        case $program in
        */unit-sql | */unit-device_tables) echo "aarch64: $(basename "$program"): left out, it needs DuckDB" && continue ;;
        esac
        status=0
        timeout 600 qemu-aarch64 "$program" >"build/unit.log" 2>&1 || status=$?
        [ "$status" = 0 ] || tail -n 40 build/unit.log
        verdict "$(basename "$program")" "$status"
    done
}

# Runs both programs with the same arguments: the output must be identical.
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
logged native-packages install_native
logged release build release
logged arm64-packages install_foreign
logged aarch64 build aarch64
unit_tests
compare
record
echo "aarch64: $passed passed, $failed failed"
[ "$failed" = 0 ]
