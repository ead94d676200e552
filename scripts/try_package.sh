#!/usr/bin/env bash
# Tests the packages of `make package` in fresh systems: installs the .deb in a minimal Debian 12 and 13, runs the
# program, removes it and checks for leftovers; then runs the tarball. Needs root and debootstrap.
#   scripts/try_package.sh [SUITE]...
# apt is configured as on this machine: mirror, settings and proxies. KYMO_CHROOT_DIR caches the minimal systems;
# without it nothing is cached.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- bookworm trixie
capture=tests/data/xplane/jax_matmul_h200.xplane.pb

# In the chroot.

check() {
    echo "try_package: $suite: $1"
}

# Whether the input contains this text; reads all of it to avoid SIGPIPE.
has() {
    grep -a -e "$1" >/dev/null
}

# Fetches a page from the server on this port.
fetch() {
    exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost:%s\r\nConnection: close\r\n\r\n' "$2" "$1" >&3
    cat <&3
    exec 3>&-
}

install_apt() {
    apt-get install -y -qq --no-install-recommends "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }
}

# First steps of a user, in a separate folder: with the program $2, recording the program $3.
use() {
    local work=$1 kymo=$2 example=$3 server port=$((20000 + RANDOM % 10000))
    mkdir "$work"
    "$kymo" --version
    "$kymo" inspect -o "$work/recording" "$example" 5
    "$kymo" view -d "$work/recording" --data-path "$work/data" --display-name recorded --ingest-only
    "$kymo" view capture.xplane.pb --data-path "$work/data" --display-name jax --top 2 | has 'Devices'
    "$kymo" sql --data-path "$work/data" jax 'SELECT count(*) > 100 AS many FROM SystemProfileEvents' --format csv |
        grep -x true
    "$kymo" view --data-path "$work/data" --port $port >"$work/log" 2>&1 &
    server=$!
    for _ in $(seq 100); do grep -q 'ctrl-c' "$work/log" && break; sleep 0.1; done
    fetch $port / | has '<title>Kymo'
    fetch $port /api/v1/profiles | has '"recorded"'
    kill $server
    wait $server || true
}

try_deb() {
    local libdir files left
    install_apt ./kymo.deb
    files=$(dpkg -L kymo)
    libdir=$(dirname "$(find /usr/lib -name 'libkymo.so.0')")
    use /root/deb /usr/bin/kymo "$libdir/kymo/examples/training"
    [ "$("$libdir/kymo/compat/neuron-profile" --version)" = "$(kymo --version)" ]
    check "the program works"
    install_apt man-db gcc libc6-dev pkg-config
    man kymo | has 'profiler for machine learning'
    man kymo-view | has '--output-format'
    PATH=$libdir/kymo/compat:$PATH man neuron-profile | has 'SEE ALSO'
    check "the manual is found"
    gcc /usr/share/doc/kymo/examples/training.c $(pkg-config --cflags --libs kymo) -pthread -o /root/program
    kymo inspect -o /root/built /root/program 3 2>&1 | has 'capture written to'
    check "a program is built with kymo.pc and recorded"
    apt-get purge -y -qq kymo >/dev/null 2>&1
    left=$(for file in $files; do [ -d "$file" ] || ls -d "$file" 2>/dev/null || true; done
        find / -xdev \( -path /proc -o -path /sys -o -path /root -o -path /dev -o -path /var/cache/man \) -prune -o -name '*kymo*' -print)
    [ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
    check "removing it leaves nothing"
}

try_tarball() {
    mkdir /opt/unpacked
    tar -xzf kymo.tar.gz -C /opt/unpacked --strip-components=1
    use /root/tarball /opt/unpacked/bin/kymo /opt/unpacked/lib/kymo/examples/training
    check "the tarball works"
}

try_all() {
    set -euo pipefail
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    cd /root
    apt-get update -qq
    try_deb
    try_tarball # with the libraries that the package needed
}

# On the host.

# The Debian mirror in this machine's apt sources.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: '"$(. /etc/os-release && echo "$VERSION_CODENAME")" |
        head -n 1 | grep . || echo http://deb.debian.org/debian
}

make_tree() {
    local suite=$1 tree=$2 base=$folder/base-$1
    if [ ! -d "$base" ]; then
        echo "try_package: making a minimal $suite"
        unshare --mount debootstrap --variant=minbase --include=ca-certificates "$suite" "$base.part" "$(mirror)" \
            >"$folder/$suite.log" 2>&1 || { tail "$folder/$suite.log" >&2; exit 1; }
        mv "$base.part" "$base"
    fi
    cp -a --one-file-system "$base/." "$tree"
    chmod 755 "$tree"
    apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until|Retries)[: ]' >"$tree/etc/apt/apt.conf.d/99host" || true
    cp -a /etc/apt/auth.conf.d/. "$tree/etc/apt/auth.conf.d/" 2>/dev/null || true
    cp -L /etc/hosts /etc/resolv.conf "$tree/etc/"
    [ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates "$tree/usr/local/share/"
    cp build/packages/kymo_*.deb "$tree/root/kymo.deb"
    cp build/packages/kymo-*.tar.gz "$tree/root/kymo.tar.gz"
    cp "$capture" "$tree/root/capture.xplane.pb"
}

# Mounts are in a separate namespace and end with it.
run_in() {
    local suite=$1 tree=$2
    unshare --mount --pid --fork --kill-child -- bash -c '
        mount -t proc proc "$1/proc"
        mount -t tmpfs tmpfs "$1/dev"
        for name in null zero full random urandom tty; do
            touch "$1/dev/$name" && mount --bind "/dev/$name" "$1/dev/$name"
        done
        mkdir "$1/dev/shm" && mount -t tmpfs tmpfs "$1/dev/shm" && ln -s /proc/self/fd "$1/dev/fd"
        exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:3}" bash -c "$2"' \
        bash "$tree" "$(declare -p suite); $(declare -f check has fetch install_apt use try_deb try_tarball try_all); try_all" \
        $(env | grep -iE '^(https?|ftp|no|all)_proxy=' || true)
}

clean_up() {
    rm -rf --one-file-system "$tree" "$folder"/*.part
    [ -n "${KYMO_CHROOT_DIR:-}" ] || rm -rf --one-file-system "$folder"
}

[ "$(id -u)" = 0 ] || { echo "try_package: this needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "try_package: debootstrap is not installed" >&2; exit 1; }
ls build/packages/kymo_*.deb >/dev/null 2>&1 || { echo "try_package: make package first" >&2; exit 1; }
folder=${KYMO_CHROOT_DIR:-$(mktemp -d "${TMPDIR:-/tmp}/kymo-try.XXXXXX")}
mkdir -p "$folder"
tree=
trap clean_up EXIT
for suite; do
    tree=$(mktemp -d "$folder/tree-$suite.XXXXXX")
    make_tree "$suite" "$tree"
    run_in "$suite" "$tree"
    rm -rf --one-file-system "$tree"
done
