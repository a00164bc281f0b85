#!/usr/bin/env bash
# Installs the packages that Trefoil needs, where they are missing and where apt-get can; elsewhere
# it says what to install. Quiet when there is nothing to do. Arguments are more packages, for one target:
# scdoc makes the manual pages out of a text that people can read.
set -u

packages=(gcc make pkg-config libzmq3-dev libsodium-dev libssl-dev libgmp-dev libopenblas-dev
    libsqlite3-dev libjansson-dev libyaml-dev libcsv-dev libmicrohttpd-dev libcmocka-dev "$@")

missing=()
if command -v dpkg-query >/dev/null; then
    for p in "${packages[@]}"; do
        # pkgconf provides pkg-config on newer releases
        if [ "$p" = pkg-config ] && command -v pkg-config >/dev/null; then
            continue
        fi
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null)
        [ "${state:0:2}" = ii ] || missing+=("$p")
    done
else
    command -v "${CC:-gcc}" >/dev/null || missing+=(gcc)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    if command -v pkg-config >/dev/null; then
        for p in libzmq libsodium libcrypto gmp openblas sqlite3 jansson yaml-0.1 libmicrohttpd cmocka; do
            pkg-config --exists "$p" || missing+=("$p")
        done
    fi
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "trefoil: please install the development packages of: ${missing[*]}" >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "trefoil: as root, please run: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "trefoil: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq
    --no-install-recommends "${missing[@]}")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${install[@]}" >"$log" 2>&1; then
    # the package lists may be absent or old
    if ! { "${as_root[@]}" apt-get update -qq && "${install[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "trefoil: could not install: ${missing[*]}" >&2
        exit 1
    fi
fi
