#!/usr/bin/env bash
# Installs missing dependencies for building (setup.sh build) or testing (setup.sh test). Idempotent, and
# quiet if nothing is missing. KYMO_SKIP_SETUP=1 skips it.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${KYMO_SKIP_SETUP:-}" = 1 ] && exit 0

purpose=${1:-build}
packages=(gcc libc6-dev cmake ninja-build pkg-config zlib1g-dev libzstd-dev
    libcurl4-openssl-dev libmicrohttpd-dev libnghttp2-dev python3-dev)
command -v npm >/dev/null || packages+=(nodejs npm)
if [ "$purpose" = test ]; then
    packages+=(ccache clang libclang-rt-dev llvm libcmocka-dev git python3 python3-venv chromium chromium-headless-shell fonts-dejavu-core
        mandoc default-jre-headless)
fi

missing_packages() {
    local installed
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
        awk '$2 == "installed" {print $1}')
    comm -23 <(printf '%s\n' "${packages[@]}" | sort) <(sort <<<"$installed")
}

install_packages() {
    local missing as_root=()
    if ! command -v apt-get >/dev/null; then
        echo "setup: no apt-get here; install by hand what is missing of: ${packages[*]}" >&2
        return
    fi
    missing=$(missing_packages)
    [ -z "$missing" ] && return
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { echo "setup: run as root, or install sudo" >&2; exit 1; }
        as_root=(sudo)
    fi
    echo "setup: installing" $missing
    local log
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! { "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: could not install the packages above" >&2
        exit 1
    fi
    rm -f "$log"
}

# From npm, as in package.json: libduckdb.so and the build tools of the web UI.
install_npm() {
    local stamp=node_modules/package-lock.sum sum log
    sum=$(sha256sum <package-lock.json)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ] && return
    echo "setup: installing DuckDB's library and what the web UI is built with"
    log=$(mktemp)
    if ! npm ci --no-audit --no-fund >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: could not install the packages of package.json" >&2
        exit 1
    fi
    rm -f "$log"
    echo "$sum" >"$stamp"
}

# The Python packages of the tests are in .venv, recreated when their list changes.
install_python() {
    local stamp=.venv/requirements.sum sum
    sum=$(cat tests/requirements.txt tests/requirements-xprof.txt | sha256sum)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ] && return
    echo "setup: making the tests' Python environment"
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/requirements-xprof.txt
    echo "$sum" >"$stamp"
}

# The InfluxDB server of the tests. Its package is unpacked into .tools rather than installed: installing
# would start a system service.
unpack_influxdb() {
    local folder
    { command -v influxd || [ -x .tools/influxdb/usr/bin/influxd ]; } >/dev/null && return
    command -v apt-get >/dev/null || return 0
    echo "setup: unpacking InfluxDB for the tests"
    mkdir -p .tools
    folder=$(mktemp -d .tools/influxdb.XXXXXX)
    if ! (cd "$folder" && apt-get download -qq influxdb && dpkg -x influxdb_*.deb . && rm influxdb_*.deb) \
        >"$folder/log" 2>&1; then
        tail -n 20 "$folder/log" >&2
        rm -rf "$folder"
        echo "setup: could not unpack InfluxDB; \`apt-get update\` may help" >&2
        exit 1
    fi
    rm -rf .tools/influxdb
    mv "$folder" .tools/influxdb
}

# Apache Spark of the tests, with its Python package. Unpacked, as building a wheel of it takes minutes.
unpack_spark() {
    local version=4.3.0 folder
    [ -d ".tools/spark-$version" ] && return
    echo "setup: unpacking Spark for the tests"
    mkdir -p .tools
    folder=$(mktemp -d .tools/spark.XXXXXX)
    if ! .venv/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
        --dest "$folder" "pyspark==$version" >"$folder/log" 2>&1 ||
        ! tar -xzf "$folder/pyspark-$version.tar.gz" -C "$folder" --strip-components 1 2>>"$folder/log"; then
        tail -n 20 "$folder/log" >&2
        rm -rf "$folder"
        echo "setup: could not unpack Spark" >&2
        exit 1
    fi
    rm "$folder/pyspark-$version.tar.gz"
    rm -rf .tools/spark-*
    mv "$folder" ".tools/spark-$version"
}

# The oldest JAX that the Python package supports. It is not published for Python 3.13 and later, where its tests are left out.
install_oldest_jax() {
    python3 -c 'import sys; sys.exit(sys.version_info >= (3, 13))' || return 0
    scripts/jax_versions.sh --install-only "$(head -n 1 tests/jax-versions.txt)"
}

install_packages
install_npm
if [ "$purpose" = test ]; then
    install_python
    install_oldest_jax
    unpack_influxdb
    unpack_spark
fi
exit 0
