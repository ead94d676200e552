#!/usr/bin/env bash
# Cross-compiles for aarch64 on Debian, runs the unit tests under qemu and compares the output of the program with
# that of the native build: for captures, a model and a recording. Both are built without the web UI and DuckDB.
# Installs foreign packages: use it in a disposable installation, as `scripts/fresh.sh --aarch64` does. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
passed=0
failed=0
left_out=0
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

leave_out() {
    left_out=$((left_out + 1))
    echo "aarch64: $1: left out, $2"
}

# Why a unit test cannot run here; nothing if it can.
obstacle() {
    case $1 in
    unit-sql | unit-device_tables) echo "it needs DuckDB" ;;
    unit-record_crash | unit-record_guest)
        # An assertion of qemu 7.2 in qemu_plugin_vcpu_init_hook; 10.0 has no such fault.
        [ "$qemu" -ge 10 ] || echo "qemu $qemu ends children of fork that start a thread when their parent has threads"
        ;;
    esac
}

unit_tests() {
    local program name reason status
    for program in build/aarch64/unit/unit-*; do
        name=$(basename "$program")
        reason=$(obstacle "$name")
        if [ -n "$reason" ]; then
            leave_out "$name" "$reason"
            continue
        fi
        status=0
        timeout 600 qemu-aarch64 "$program" >build/unit.log 2>&1 </dev/null || status=$?
        [ "$status" = 0 ] || tail -n 40 build/unit.log
        sed -n "s/^\[  SKIPPED \] \([a-z0-9_]*\)$/aarch64: $name: skipped \1/p" build/unit.log | sort -u
        verdict "$name" "$status"
    done
}

# Runs both programs with the same arguments, in which @ stands for a folder of each.
both() {
    bin/kymo "${@//@/build/native}" >build/native.out &&
        qemu-aarch64 build/aarch64/bin/kymo "${@//@/build/foreign}" >build/foreign.out
}

same() {
    local status=0
    both "$@" && [ -s build/native.out ] && cmp build/native.out build/foreign.out || status=1
    verdict "kymo $*" "$status"
}

# The same for the file that they write.
same_file() {
    local name=$1 status=0
    shift
    rm -f "build/native/$name" "build/foreign/$name"
    both "$@" "@/$name" && [ -s "build/native/$name" ] && cmp "build/native/$name" "build/foreign/$name" || status=1
    verdict "kymo $* $name" "$status"
}

compare_captures() {
    local capture
    for capture in tests/data/xplane/jax_matmul_h200.xplane.pb tests/data/xplane/jax_gpt_python_h200.xplane.pb \
        tests/data/xplane/tpu_inference.xplane.pb tests/data/kineto/nccl_gpu_rank.json.gz \
        tests/data/neuron/system_profile.json; do
        same info "$capture"
        same recommend "$capture"
        same view "$capture" --output-format json
        same view "$capture" --output-format summary-text
        same_file trace.pftrace view "$capture" --output-format perfetto --output-file
        same_file trace.xplane.pb convert "$capture"
    done
}

# A model, compiled and executed on software NeuronCores. The profiles differ in the time of day only.
compare_models() {
    local status=0
    same_file gpt.neff neff build examples/gpt12.json -o
    same neff info @/gpt.neff
    both capture -n @/gpt.neff -s @/gpt.ntff || status=1
    verdict "kymo capture" "$status"
    same view -n @/gpt.neff -s @/gpt.ntff --output-format summary-text
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

mkdir -p build/native build/foreign
logged native-packages install_native
logged release build release
logged arm64-packages install_foreign
logged aarch64 build aarch64
qemu=$(qemu-aarch64 --version | sed -n 's/.* version \([0-9]*\).*/\1/p')
unit_tests
compare_captures
compare_models
record
echo "aarch64: $passed passed, $failed failed, $left_out left out"
[ "$failed" = 0 ]
