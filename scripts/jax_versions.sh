#!/usr/bin/env bash
# Tests the Python package with each version of JAX that tests/jax-versions.txt lists, or with those named:
#   jax_versions.sh [--install-only] [VERSION…]
# Installs what is missing into .tools/jax-VERSION (KYMO_JAX_FOLDER names another folder), each with the first Python of PYTHONS
# (default: python3 and the later ones that are installed) that this version of JAX is published for.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${KYMO_JAX_FOLDER:-.tools}
pythons=${PYTHONS:-python3 $(ls /usr/bin/python3.1[2-9] "$HOME"/.pyenv/versions/3.1[2-9].*/bin/python3 2>/dev/null || true)}

install_jax() {
    local version=$1 new log python
    [ -d "$folder/jax-$version" ] && return
    echo "setup: installing JAX $version for the tests"
    mkdir -p "$folder"
    new=$(mktemp -d "$folder/jax.XXXXXX")
    log=$new.log
    for python in $pythons; do
        if "$python" -m venv --clear --without-pip "$new" >"$log" 2>&1 &&
            .venv/bin/pip --python "$new/bin/python" install --quiet --disable-pip-version-check --no-compile --only-binary :all: \
                "jax==$version" "jaxlib==$version" "numpy<3" >>"$log" 2>&1; then
            mv "$new" "$folder/jax-$version" # its Python, all that is used, works in any place
            rm -f "$log"
            return
        fi
    done
    tail -n 20 "$log" >&2
    rm -rf "$new" "$log"
    echo "setup: could not install JAX $version" >&2
    exit 1
}

only=
[ "${1:-}" = --install-only ] && only=1 && shift
versions=("$@")
[ ${#versions[@]} -gt 0 ] || mapfile -t versions <tests/jax-versions.txt
for version in "${versions[@]}"; do
    install_jax "$version"
done
[ -n "$only" ] || KYMO_JAX_VERSIONS="${versions[*]}" exec .venv/bin/python -m pytest -q -p no:cacheprovider tests/e2e/capture/test_jax_versions.py
