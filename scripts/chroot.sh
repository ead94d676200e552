#!/usr/bin/env bash
# Runs a command in a fresh Debian chroot, which is removed afterwards:
#   scripts/chroot.sh [--suite SUITE] [--user] [--clone] [--copy FILE]... COMMAND [ARGUMENT]...
# The command runs in the home folder of root or, with --user, of a user who may use sudo. --clone puts a clone of
# this repository (committed files) there, --copy a file. Package registries are configured as on this machine:
# apt sources and proxies, pip and npm settings, certificates. Needs root and debootstrap.
#
# KYMO_CHROOT_DIR (/var/cache/kymo-chroots) caches an archive of each suite and downloaded packages, which root runs:
# nobody else may be able to write there. All mounts and all programs of the chroot are in separate namespaces: the
# kernel cleans them up when this script ends for any reason.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${KYMO_CHROOT_DIR:-/var/cache/kymo-chroots}
base_packages=ca-certificates,git,make,sudo

say() { echo "chroot: $*" >&2; }

fail() {
    say "$@"
    exit 1
}

# On the host: makes a folder for the tree, starts the rest, removes the folder.

# Only root may be able to write in the folder, or to put another in its place: folders above it in which others may
# write must have the sticky bit.
make_folder() {
    local path owner mode allowed=0
    mkdir -p -m 700 "$folder"
    path=$(realpath "$folder")
    while :; do
        read -r owner mode < <(stat -c '%u 0%a' "$path")
        [ "$owner" = 0 ] || fail "$path does not belong to root; set KYMO_CHROOT_DIR to a folder that does"
        [ $((mode & 022)) = 0 ] || [ $((mode & allowed)) != 0 ] ||
            fail "others may write in $path; set KYMO_CHROOT_DIR to a folder where only root may"
        [ "$path" != / ] || break
        path=$(dirname "$path")
        allowed=01000
    done
}

# Before a command that gets namespaces of its own.
apart=(unshare --mount --pid --fork --kill-child --)

install_debootstrap() {
    command -v debootstrap >/dev/null && return
    command -v apt-get >/dev/null || fail "install debootstrap first"
    say "installing debootstrap"
    { apt-get update && apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 debootstrap; } \
        >"$folder/debootstrap.log" 2>&1 || { tail "$folder/debootstrap.log" >&2; fail "could not install debootstrap"; }
}

# Lines of "url release": the apt sources of this machine.
host_sources() {
    command -v apt-get >/dev/null || return 0
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u
}

# The mirror this machine uses for a release of Debian (with a suffix: -updates, -security), or the default.
mirror() {
    local suffix=$1 default=$2 codename address
    codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || true
    address=$(host_sources | awk -v release="$codename$suffix" '$2 == release {print $1; exit}')
    echo "${address:-$default}"
}

# The apt settings for reaching servers; the others are those of the suite.
write_apt_settings() {
    local etc=$1/etc/apt debian security
    debian=$(mirror "" http://deb.debian.org/debian)
    security=$(mirror -security http://deb.debian.org/debian-security)
    printf 'deb %s main\n' "$debian $suite" "$debian $suite-updates" "$security $suite-security" >"$etc/sources.list"
    command -v apt-config >/dev/null || return 0
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-Valid-Until|Retries|ForceIPv[46])[: ]' \
        >"$etc/apt.conf.d/99host" || true
    [ ! -d /etc/apt/auth.conf.d ] || cp -a /etc/apt/auth.conf.d "$etc/"
}

make_base() {
    local work
    install_debootstrap
    work=$(mktemp -d "$folder/base.XXXXXX")
    chmod 755 "$work" # it becomes the root folder, for users too
    trees+=("$work")
    say "making Debian $suite (once)"
    if ! "${apart[@]}" debootstrap --variant=minbase --include="$base_packages" "$suite" "$work" \
        "$(mirror "" http://deb.debian.org/debian)" >"$folder/debootstrap.log" 2>&1; then
        tail "$folder/debootstrap.log" >&2
        fail "debootstrap failed"
    fi
    rm -rf "$work"/var/cache/apt/archives/*.deb "$work"/dev/*
    tar -C "$work" --numeric-owner -cf "$archive.part" .
    mv "$archive.part" "$archive"
    rm -rf --one-file-system "$work"
}

# The user's pip and npm settings, and the trusted certificates.
copy_settings() {
    local tree=$1 home=$2 file
    for file in /etc/hosts /etc/resolv.conf /etc/pip.conf /etc/npmrc; do
        [ ! -f "$file" ] || cp -L "$file" "$tree$file"
    done
    for file in .config/pip .pip .npmrc; do
        [ ! -e "$HOME/$file" ] || { mkdir -p "$(dirname "$tree$home/$file")" && cp -aL "$HOME/$file" "$tree$home/$file"; }
    done
    [ ! -d /usr/local/share/ca-certificates ] || cp -aL /usr/local/share/ca-certificates "$tree/usr/local/share/"
}

make_tree() {
    local tree=$1 home=/root
    tar -C "$tree" --numeric-owner -xf "$archive"
    mount_all "$tree"
    write_apt_settings "$tree"
    echo force-unsafe-io >"$tree/etc/dpkg/dpkg.cfg.d/99-no-sync" # the tree is disposable
    if [ "$user" != root ]; then
        home=/home/$user
        chroot "$tree" useradd -m -s /bin/bash "$user"
        echo "$user ALL=(ALL) NOPASSWD: ALL" >"$tree/etc/sudoers.d/$user"
    fi
    link_packages "$folder/packages-$suite" "$tree/var/cache/apt/archives"
    copy_settings "$tree" "$home"
    chroot "$tree" update-ca-certificates >/dev/null 2>&1
    [ -z "$clone" ] || git clone -q --no-hardlinks "$repository" "$tree$home/kymo"
    [ ${#copies[@]} = 0 ] || cp -L "${copies[@]}" "$tree$home/"
    chroot "$tree" chown -R "$user:" "$home"
}

# The package cache is shared by hard links: apt locks its folder, and several chroots may run concurrently.
link_packages() {
    mkdir -p "$1" "$2"
    find "$1" -maxdepth 1 -name '*.deb' -exec cp -l -n -t "$2" {} +
}

remove_trees() {
    local attempt tree
    [ -z "$child" ] || { kill -KILL "$child" 2>/dev/null && wait "$child" 2>/dev/null; } || true
    for tree in "${trees[@]}"; do
        for attempt in 1 2 3 4 5; do # the last processes may still be ending
            rm -rf --one-file-system "$tree" 2>/dev/null && break
            sleep 0.2
        done
    done
}

# In the chroot, as the init process of its namespaces.

# The minimal set of device files.
mount_devices() {
    local dev=$1/dev name
    mount -t tmpfs -o mode=755 tmpfs "$dev"
    for name in null zero full random urandom tty; do
        touch "$dev/$name"
        mount --bind "/dev/$name" "$dev/$name"
    done
    mkdir "$dev/pts" "$dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$dev/shm"
    ln -s pts/ptmx "$dev/ptmx"
    ln -s /proc/self/fd "$dev/fd"
    ln -s fd/0 "$dev/stdin"
    ln -s fd/1 "$dev/stdout"
    ln -s fd/2 "$dev/stderr"
}

mount_all() {
    local tree=$1
    mount_devices "$tree"
    mount -t proc proc "$tree/proc"
    mount -t sysfs -o ro sysfs "$tree/sys"
    mount -t tmpfs -o mode=755 tmpfs "$tree/run"
}

# Environment variables for reaching servers, for `env`. Files and folders they name exist under the same path.
host_environment() {
    local tree=$1 name value
    while IFS= read -r name; do
        value=${!name}
        environment+=("$name=$value")
        if [[ $value == /* && -e $value && ! -e $tree$value ]]; then
            if [ -d "$value" ]; then
                mkdir -p "$tree$value"
            else
                mkdir -p "$(dirname "$tree$value")"
                touch "$tree$value"
            fi
            mount --bind -o ro "$value" "$tree$value"
        fi
    done < <(compgen -e | grep -E -i '^(pip_.*|npm_config_.*|(https?|ftp|all|no)_proxy|ssl_cert_(file|dir)|node_extra_ca_certs|(requests|curl)_ca_bundle|kymo_(fuzz_seconds|soak_seconds))$')
}

enter() {
    local tree=$1 home=/root as=()
    shift
    if [ "$user" != root ]; then
        home=/home/$user
        as=(setpriv "--reuid=$user" "--regid=$user" --init-groups)
    fi
    environment=("HOME=$home" "USER=$user" "LOGNAME=$user" LANG=C.UTF-8 "TERM=${TERM:-dumb}"
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
    host_environment "$tree"
    cd "$tree"
    chroot . env -i --default-signal "${environment[@]}" "${as[@]}" \
        bash -c 'cd && exec "$@"' bash "$@"
}

suite=bookworm
user=root
clone=
copies=()
inside=
while [ $# -gt 0 ]; do
    case $1 in
    --suite) suite=$2 && shift 2 ;;
    --user) user=tester && shift ;;
    --clone) clone=1 && shift ;;
    --copy) copies+=("$2") && shift 2 ;;
    --inside) inside=$2 && shift 2 ;; # internal
    -h | --help) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
    --) shift && break ;;
    -*) fail "no option $1" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || fail "which command? --help shows how to call this"
[ "$(id -u)" = 0 ] || fail "this needs root"
archive=$folder/$suite-$(dpkg --print-architecture 2>/dev/null || uname -m).tar
if [ -n "$inside" ]; then
    make_tree "$inside"
    enter "$inside" "$@"
    exit
fi

trees=()
child=
make_folder
trap remove_trees EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
tree=$(mktemp -d "$folder/tree.XXXXXX")
trees+=("$tree")
[ -f "$archive" ] || make_base
options=(--suite "$suite" --inside "$tree")
[ "$user" = root ] || options+=(--user)
[ -z "$clone" ] || options+=(--clone)
for file in "${copies[@]}"; do options+=(--copy "$file"); done
# In the background, so the traps above act at once; with standard input.
"${apart[@]}" "${BASH_SOURCE[0]}" "${options[@]}" -- "$@" <&0 &
child=$!
status=0
wait "$child" || status=$?
child=
link_packages "$tree/var/cache/apt/archives" "$folder/packages-$suite"
exit "$status"
