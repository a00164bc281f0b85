#!/usr/bin/env bash
# Installs the packages that Trefoil needs and that are missing, where apt-get can; elsewhere it says what to
# install. Quiet when there is nothing to do. Arguments are more packages, for one target: scdoc, for instance,
# makes the manual pages from text that people can read. Packages after --nice are left out, with a message, where
# they cannot be installed. So are unixODBC, without which there is no SQL, libipsec-mb, which seals faster, and
# utf8proc, without which keys of persons are ASCII. `make MPI=1` needs libopenmpi-dev and openmpi-bin, which are
# installed only if MPI is 1.
set -u

nice=(unixodbc-dev libutf8proc-dev)
[ "$(uname -m)" != x86_64 ] || nice+=(libipsec-mb-dev)
needed=()
while [ $# -gt 0 ] && [ "$1" != --nice ]; do
    needed+=("$1")
    shift
done
[ $# -gt 0 ] && nice+=("${@:2}")
[ "${MPI:-}" = 1 ] && needed+=(libopenmpi-dev openmpi-bin)

packages=(gcc make pkg-config libzmq3-dev libsodium-dev libssl-dev libgmp-dev libopenblas-dev
    libsqlite3-dev libjansson-dev libyaml-dev libcsv-dev libmicrohttpd-dev libcmocka-dev "${needed[@]}")

missing=() wanted=()
if command -v dpkg-query >/dev/null; then
    for p in "${packages[@]}"; do
        # pkgconf provides pkg-config on newer releases
        if [ "$p" = pkg-config ] && command -v pkg-config >/dev/null; then
            continue
        fi
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)
        [ "${state:0:2}" = ii ] || missing+=("$p")
    done
    for p in "${nice[@]}"; do
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)
        [ "${state:0:2}" = ii ] || wanted+=("$p")
    done
else
    command -v "${CC:-gcc}" >/dev/null || missing+=(gcc)
    command -v "${PKG_CONFIG:-pkg-config}" >/dev/null || missing+=(pkg-config)
    if command -v "${PKG_CONFIG:-pkg-config}" >/dev/null; then
        for p in libzmq libsodium libcrypto gmp openblas sqlite3 jansson yaml-0.1 libmicrohttpd cmocka; do
            "${PKG_CONFIG:-pkg-config}" --exists "$p" || missing+=("$p")
        done
    fi
fi
[ ${#missing[@]} -eq 0 ] && [ ${#wanted[@]} -eq 0 ] && exit 0

give_up() { # what to say
    [ ${#wanted[@]} -eq 0 ] || echo "trefoil: goes on without: ${wanted[*]}" >&2
    [ ${#missing[@]} -gt 0 ] || exit 0
    echo "trefoil: $1: ${missing[*]}" >&2
    exit 1
}

command -v apt-get >/dev/null || give_up "please install the development packages of"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up "as root, please run apt-get install"
    as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() { # packages...
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
install() { # packages...
    [ $# -gt 0 ] || return 0
    echo "trefoil: installing $*"
    # the package lists may be absent or old
    apt_get "$@" >"$log" 2>&1 || { "${as_root[@]}" apt-get update -qq && apt_get "$@"; } >"$log" 2>&1
}

if ! install "${missing[@]}"; then
    tail -n 20 "$log" >&2
    give_up "could not install"
fi
missing=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n) # never asks for a password: nobody needs these
if ! install "${wanted[@]}"; then
    absent=()
    for p in "${wanted[@]}"; do # one that does not exist here must not keep the others away
        apt_get "$p" >"$log" 2>&1 || absent+=("$p")
    done
    wanted=("${absent[@]}")
    give_up ""
fi
