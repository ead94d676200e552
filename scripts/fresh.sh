#!/usr/bin/env bash
# Tests Kymo on fresh systems: `make demo` and `make test` from a clean clone of the committed files in Debian 12 and
# Debian 13, as root and as a user with sudo. Needs root (see scripts/chroot.sh).
#   --suite SUITE      in this release of Debian (bookworm, trixie, ...); can be repeated
#   --root, --user     as root only, as a user only
#   --command COMMAND  instead of both commands; can be repeated. A command that starts a server, such as `make demo`,
#                      passes when the server responds
#   --aarch64          a build for aarch64 instead, its unit tests and a few commands under qemu
#   --shell COMMAND    only runs the command, in a home folder without a clone
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
logs=$here/../build/fresh
suites=()
users=()
commands=()
shell=
aarch64=

fail() {
    echo "fresh: $*" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --suite | --command | --shell) [ $# -gt 1 ] || fail "$1 needs a value" ;;&
    --suite) suites+=("$2") && shift 2 ;;
    --root | --user) users+=("${1#--}") && shift ;;
    --command) commands+=("$2") && shift 2 ;;
    --aarch64) aarch64=1 && shift ;;
    --shell) shell=$2 && shift 2 ;;
    -h | --help) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
    *) fail "no option $1; --help shows those there are" ;;
    esac
done
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
[ ${#users[@]} -gt 0 ] || { [ -n "$aarch64$shell" ] && users=(root) || users=(root user); }
[ ${#commands[@]} -gt 0 ] || commands=("make demo" "make test")

# These functions run in the chroot.

# Waits for the server, requests its page and its profiles, and stops it as ctrl-c would.
try_server() {
    local log=/tmp/server.log group status=0
    export KYMO_DEMO_PORT=$((20000 + RANDOM % 10000))
    set -m # separate process group, as in a terminal
    bash -c "$1" >"$log" 2>&1 </dev/null &
    group=$!
    set +m
    tail -n +1 -f --pid="$group" "$log" &
    until grep -q '^ctrl-c to exit' "$log"; do
        kill -0 "$group" 2>/dev/null || { wait; echo "fresh: it ended by itself" && return 1; }
        sleep 0.5
    done
    answer / | grep -a -q '<title>Kymo' && answer /api/v1/profiles | grep -a -q '"jax-gpt"' || status=1
    kill -INT -- "-$group"
    wait # for make, which reports the interrupt
    if answer / >/dev/null 2>&1; then status=1; fi
    [ "$status" = 0 ] && echo "fresh: the page answers" || echo "fresh: the page does not answer"
    return "$status"
}

answer() {
    exec 3<>"/dev/tcp/127.0.0.1/$KYMO_DEMO_PORT" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost:%s\r\nConnection: close\r\n\r\n' "$1" "$KYMO_DEMO_PORT" >&3
    cat <&3
    exec 3>&-
}

# Runs all commands in one clone and prints one result line each.
try_commands() {
    local command status all=0
    cd kymo
    for command; do
        status=0
        SECONDS=0
        case $command in
        "make demo"*) try_server "$command" || status=$? ;;
        *) bash -c "$command" </dev/null || status=$? ;;
        esac
        [ "$status" = 0 ] || all=1
        echo "fresh: $label: $command: $([ "$status" = 0 ] && echo passed || echo "failed ($status)"), $SECONDS s"
    done
    return "$all"
}

# In the background, so that a signal to this script stops it at once.
run_in() {
    local suite=$1 user=$2 options=()
    shift 2
    [ "$user" = root ] || options+=(--user)
    "$here/chroot.sh" --suite "$suite" "${options[@]}" "$@" <&0 &
    child=$!
    wait "$child"
}

child=
trap '[ -z "$child" ] || { kill "$child" 2>/dev/null && wait "$child"; } || true' EXIT # not for tee: it waits for this
trap 'exit 130' INT
trap 'exit 143' TERM HUP
failed=0
for suite in "${suites[@]}"; do
    for user in "${users[@]}"; do
        if [ -n "$shell" ]; then
            run_in "$suite" "$user" -- bash -c "$shell" || failed=$?
            continue
        fi
        mkdir -p "$logs"
        log=$logs/$suite-$user${aarch64:+-aarch64}.log
        if [ -n "$aarch64" ]; then
            inside=(bash kymo/scripts/aarch64.sh)
        else
            label="$suite, $user"
            inside=(bash -c "$(declare -p label); $(declare -f try_commands try_server answer); try_commands \"\$@\"" bash
                "${commands[@]}")
        fi
        run_in "$suite" "$user" --clone -- "${inside[@]}" > >(tee "$log") 2>&1 || failed=1
    done
done
exit "$failed"
