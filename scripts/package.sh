#!/usr/bin/env bash
# Builds packages in build/packages: kymo_VERSION_ARCH.deb, and the relocatable kymo-VERSION-linux-MACHINE.tar.gz.
# Builds are reproducible: SOURCE_DATE_EPOCH defaults to the time of the last commit. DEBFULLNAME and DEBEMAIL name the maintainer.
#
# One package rather than kymo, libkymo0 and libkymo-dev: `kymo inspect` preloads the library it was built with, and
# while the library's ABI is version 0, separate versions have no benefit.
set -euo pipefail
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
unset DESTDIR
build=build/package
packages=build/packages
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "package: $tool is not there; the package dpkg-dev has it" >&2; exit 1; }
done
arch=$(dpkg --print-architecture)
machine=$(uname -m)

# Builds for a library directory (relative to the prefix) and installs into a folder.
build_into() {
    local log=build/package.log
    mkdir -p build
    { cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
        -DCMAKE_INSTALL_LIBDIR="$1" \
        -DCMAKE_C_FLAGS="-ffile-prefix-map=$PWD=. -D_FORTIFY_SOURCE=2 -fstack-protector-strong" \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,-z,relro,-z,now -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-z,relro,-z,now &&
        cmake --build $build && rm -rf "$2" && cmake --install $build --strip --prefix "$PWD/$2"; } \
        >$log 2>&1 || { tail -n 30 $log >&2; exit 1; }
    [ -f "$2/$1/kymo/libduckdb.so" ] && [ -f "$2/share/doc/kymo/licenses/ui.txt" ] ||
        { echo "package: DuckDB's library or the web UI is missing; \`make setup\` installs what they need" >&2; exit 1; }
    strip --strip-unneeded "$2/$1/kymo/libduckdb.so"
    strip --strip-debug --enable-deterministic-archives "$2/$1/libkymo.a"
    chmod 644 "$2/$1"/*.so* "$2/$1"/kymo/*.so*
    chmod -R u+w,go-w "$2"
}

make_tarball() {
    local name=kymo-$version-linux-$machine
    build_into lib "$build/$name"
    tar -C $build --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -cf - "$name" | gzip -9n >"$packages/$name.tar.gz"
    echo "$packages/$name.tar.gz"
}

# Debian's copyright file: all licenses in one.
write_copyright() {
    local licenses=$1/licenses
    cat <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kymo

Files: *
Copyright: the authors of Kymo
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.

Files: usr/lib/*/kymo/libduckdb.so
$(sed -n '1s/^Copyright/Copyright:/p' "$licenses/duckdb.txt")
License: Expat
$(sed '1,2d; s/^$/./; s/^/ /' "$licenses/duckdb.txt")

Files: usr/bin/kymo
Copyright: the authors of Kymo, and of the parts of its web UI that are named below
License: Apache-2.0 and Expat
 The web UI in the program contains parts of these packages:
 .
$(sed 's/^$/./; s/^/ /' "$licenses/ui.txt")
TEXT
}

# Package dependencies, from the libraries its files are linked with.
dependencies() {
    local work=$build/shlibdeps
    rm -rf $work
    mkdir -p $work/debian
    printf 'Source: kymo\n\nPackage: kymo\nArchitecture: any\n' >$work/debian/control
    (cd $work && dpkg-shlibdeps -O --ignore-missing-info -xkymo "-l$1/$libdir" \
        "$1/usr/bin/kymo" "$1/$libdir"/libkymo*.so* "$1/$libdir"/kymo/*.so* 2>shlibdeps.log) |
        sed 's/^shlibs:Depends=//'
}

write_control() {
    local root=$1
    mkdir -p "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<TEXT
Package: kymo
Version: $version
Architecture: $arch
Maintainer: ${DEBFULLNAME:-Kymo} <${DEBEMAIL:-kymo@localhost}>
Installed-Size: $(find "$root/usr" -type f -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
Depends: $(dependencies "$PWD/$root")
Recommends: libcurl4 | libcurl4t64 | libcurl3-gnutls
Suggests: bash-completion
Section: devel
Priority: optional
Description: profiler for machine learning on accelerators
 Kymo records what a program, its runtime and its devices do, and reads the
 profiles of JAX (XPlane), PyTorch (Kineto) and Neuron's tools. It tells where
 the time went, answers SQL, and shows everything on a timeline in the browser.
 .
 The package has the program, the library that programs link to be recorded
 with its headers, the one that lets them be recorded over the network, and
 those that record the calls of a Neuron runtime and what GPUs do.
TEXT
    printf '%s 0 kymo (>= %s)\n' libkymo "$version" libkymo-server "$version" >"$root/DEBIAN/shlibs"
    echo "activate-noawait ldconfig" >"$root/DEBIAN/triggers"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
}

make_deb() {
    local root=$build/deb doc name
    libdir=usr/lib/$(gcc -print-multiarch)
    build_into "${libdir#usr/}" "$root/usr"
    doc=$root/usr/share/doc/kymo
    write_copyright "$doc" >"$doc/copyright"
    rm -r "$doc/licenses" "$doc/LICENSE"
    printf 'kymo (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s <%s>  %s\n' "$version" "$version" \
        "${DEBFULLNAME:-Kymo}" "${DEBEMAIL:-kymo@localhost}" "$(date -R -d "@$SOURCE_DATE_EPOCH")" |
        gzip -9n >"$doc/changelog.gz"
    gzip -9n "$root"/usr/share/man/man1/*.1 "$root/$libdir"/kymo/compat/man/man1/*.1
    mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions" # Debian's path
    mkdir -p "$root/usr/share/lintian/overrides"
    cp scripts/lintian-overrides "$root/usr/share/lintian/overrides/kymo"
    write_control "$root"
    name=$packages/kymo_${version}_$arch.deb
    dpkg-deb --root-owner-group -Zxz --build "$root" "$name" >/dev/null
    echo "$name"
}

version=$(sed -n 's/^project(kymo VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
mkdir -p $packages
rm -f $packages/*
make_tarball
make_deb
