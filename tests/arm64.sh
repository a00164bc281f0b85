#!/usr/bin/env bash
# Builds for arm64 on another processor, and runs under qemu-user what needs nothing of parties/ and starts no program:
# the tests of base, netio, mpc, protocols and aim. They assert the same bytes as everywhere, under each kernel table.
#
#   tests/arm64.sh                       ONLY=mpc tests/arm64.sh    those with such a name
#
# The compiler and qemu are this system's. Libraries of arm64 are fetched by apt-get with lists of its own and unpacked
# in build/arm64; nothing of this system changes. What cannot be had is said, and skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
triplet=aarch64-linux-gnu
kept=build/arm64
root=$kept/root
out=build/$triplet-gcc
limit=${TEST_LIMIT:-3600} # numbers of 128 bits, which arm64 has for long double, take qemu longest

skip() { # reason
    printf '1..0 # SKIP %s\n0 passed, 0 failed\n' "$1"
    exit 0
}

[ "$(uname -m)" != aarch64 ] || skip "this is arm64: make test runs them all"
for p in $triplet-gcc $triplet-ar qemu-aarch64 apt-get dpkg-deb; do
    command -v "$p" >/dev/null || skip "no $p: apt-get install gcc-$triplet libc6-dev-arm64-cross qemu-user"
done

apt_arm64() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$PWD/$kept/apt" \
        -o Dir::State::status="$PWD/$kept/apt/status" -o Dir::Cache="$PWD/$kept/apt" "$@"
}

# The development packages that tools/deps.sh knows, and what they need.
fetch() {
    local packages package link
    packages=$(grep -oE '[a-z0-9-]+-dev\b' tools/deps.sh | grep -vE 'ipsec|openmpi' | sort -u)
    rm -rf "$kept/apt"
    mkdir -p "$kept/apt/lists/partial" "$kept/apt/archives/partial"
    : >"$kept/apt/status"
    # shellcheck disable=SC2086
    apt_arm64 update && apt_arm64 install -y --no-install-recommends --download-only $packages || return 1
    rm -rf "$root.new" && mkdir "$root.new"
    for package in "$kept"/apt/archives/*.deb; do
        dpkg-deb -x "$package" "$root.new" || return 1
    done
    [ -e "$root.new/lib" ] || ln -s usr/lib "$root.new/lib"
    find "$root.new" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
        ln -sfn "$PWD/$root$(readlink "$link")" "$link"
    done
    mv "$root.new" "$root"
}
if [ ! -d "$root" ]; then
    echo "trefoil: fetches libraries for arm64"
    mkdir -p "$kept"
    fetch >"$kept/log" 2>&1 || { tail -n 5 "$kept/log" >&2; skip "no libraries for arm64 can be fetched"; }
fi

blas=/usr/lib/$triplet/openblas-pthread # which a system finds through its alternatives
export PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig:$root$blas/pkgconfig

build() { # targets...
    make --no-print-directory -j"$(nproc)" CC=$triplet-gcc AR=$triplet-ar IPSEC= RANKS= \
        CFLAGS="-O2 -g --sysroot=$root" "$@"
}

run_arm64=(qemu-aarch64 -L "$PWD/$root" -E LD_LIBRARY_PATH="$blas")

mapfile -t names < <(find tests -name 'test_*.c' | LC_ALL=C sort |
    xargs grep -LE '"(parties|library)/|"(harness|tests/support)/(process|scene|faults|postgres)|TREFOIL_OUT' | xargs -n 1 basename -s .c | grep -e "${ONLY:-}")
build "$out/trefoil" "${names[@]/#/$out/tests/}" || exit 1
"${run_arm64[@]}" "$out/trefoil" --version | sed 's/^/# /'

export CMOCKA_MESSAGE_OUTPUT=TAP OPENBLAS_NUM_THREADS=1 TREFOIL_QEMU=1 TREFOIL_SLOW="${TREFOIL_SLOW:-10}"
count() { # pattern, log: cmocka writes "not ok N # SKIP test"
    grep -aE "$1" "$2" | grep -acv '# SKIP'
}
run() { # name
    local log=$out/tests/$1.log status
    SECONDS=0
    timeout -k 10 "$limit" "${run_arm64[@]}" "$out/tests/$1" >"$log" 2>&1 </dev/null
    status=$?
    [ $status -eq 0 ] || [ "$(count '^not ok' "$log")" -gt 0 ] || echo "not ok - ended with status $status" >>"$log"
    printf '%-28s %4d passed %3d failed %5d s\n' "$1" "$(count '^ok' "$log")" "$(count '^not ok' "$log")" $SECONDS
    grep -aE '^not ok' "$log" | grep -av '# SKIP'
}
for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
        wait -n
    done
    run "$name" &
done
wait

passed=0 failed=0
for name in "${names[@]}"; do
    passed=$((passed + $(count '^ok' "$out/tests/$name.log")))
    failed=$((failed + $(count '^not ok' "$out/tests/$name.log")))
done
echo "not run: $(($(find tests bench -name 'test_*.c' | wc -l) - ${#names[@]})) suites that start programs or belong to parties, library and bench"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
