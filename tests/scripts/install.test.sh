#!/usr/bin/env bash
# What make install puts into a folder of its own, for all to read: manual pages; a library that programs can be built
# with, and that contains what it should; a systemd unit that systemd reads without a complaint, and finds hardened, and
# under whose filter of system calls servers, owners and a run do their work. Writes TAP.
set -u
. tests/scripts/support.sh

nothing() { # words: the standard input must be empty
    local words
    words=$(cat)
    [ -z "$words" ] || sed "s/^/# $1: /" <<<"$words"
    [ -z "$words" ]
}

(umask 077 && make --no-print-directory install PREFIX="$folder") >"$folder/install.log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/install.log"
for page in man1/trefoil.1 man1/trefoil-share.1 man3/libtrefoil.3 man5/trefoil-study.5; do
    [ -s "$folder/share/man/$page" ] || grep -q 'no manual pages were installed' "$folder/install.log" ||
        { echo "# $page is left out"; status=1; }
done
result $status "make install"
find "$folder"/{bin,include,lib,share} ! -type l ! -perm -a+r -o -type d ! -perm -a+x | nothing "not for all"
result $? "everybody can read it, whatever the umask was"

# --- the library

library=$folder/lib/libtrefoil.so.0
nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort >"$folder/has"
awk '/^TREFOIL_/ { version = $1 } /^ *trefoil_[a-z_]*;$/ { sub(";", ""); print $1 "@@" version }' library/libtrefoil.map |
    LC_ALL=C sort >"$folder/should"
sed '/^ \*/d' library/trefoil.h | grep -oE '\btrefoil_[a-z_]+\(' | tr -d '(' | LC_ALL=C sort -u >"$folder/declared"
[ -s "$folder/has" ] && diff "$folder/has" "$folder/should" && diff <(sed 's/@.*//' "$folder/has") "$folder/declared"
result $? "the library has the functions of its map and header, by version, and no others"
[ "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = libtrefoil.so.0 ]
result $? "its name is libtrefoil.so.0"

# sanitizers and gcov have globals, print, and need more
if [[ ${TREFOIL_OUT:-build/gcc} == *-* ]]; then
    skip "what the library needs, calls and keeps" "this build has a sanitizer or gcov in it"
else
    readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(libsodium|libjansson|libm|libc|ld-linux.*)\.so' | nothing "it needs"
    result $? "it needs libsodium and jansson alone"
    nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
        grep -xE '_?exit|abort|v?printf|puts|putchar|perror|[a-z]*env|signal|sigaction|setlocale|dlopen|fork|socket|prctl|setrlimit|s?rand(om)?' |
        nothing "it calls"
    result $? "it calls nothing that prints, ends the program or changes it"
    objdump -t "$library" | awk '/ O \.(data|bss|tdata|tbss)\t/ { print $NF }' |
        grep -vE '^(completed\.[0-9]+|__dso_handle|__TMC_END__|__cpu_model|__cpu_features2)$' | nothing "it keeps"
    result $? "it has no state of its own"
    cat >"$folder/use.c" <<'X'
#include <stdio.h>
#include <trefoil.h>
int main(void)
{
    struct trefoil_error error;
    struct trefoil *t;
    int status = (int)trefoil_open(&t, "/nowhere", &error);
    printf("%s %d %s\n", trefoil_version(), status, error.text);
    return status != TREFOIL_SYSTEM;
}
X
    export PKG_CONFIG_PATH=$folder/lib/pkgconfig
    eval "flags=($(pkg-config --cflags --libs trefoil))"
    status=0
    for compiler in 'gcc -std=c99' 'g++ -x c++ -std=c++11'; do
        command -v "${compiler%% *}" >/dev/null || continue
        # shellcheck disable=SC2086
        $compiler -Wall -Wextra -Werror -pedantic "$folder/use.c" -o "$folder/use" "${flags[@]}" &&
            LD_LIBRARY_PATH=$folder/lib "$folder/use" >"$folder/said" &&
            grep -q "^$(pkg-config --modversion trefoil) 1 .*/nowhere" "$folder/said" || status=1
    done
    result $status "programs in C and C++ are built with it by pkg-config"
fi

# --- the unit

if ! command -v systemd-analyze >/dev/null; then
    skip "the unit" "systemd-analyze is absent"
    end_test
fi
cp "$folder/lib/systemd/system/trefoil@.service" "$folder/trefoil@study.service"
systemd-analyze verify --man=no "$folder/trefoil@study.service" 2>&1 | grep -F trefoil | nothing "systemd"
result $? "systemd reads the unit"
exposure=$(systemd-analyze security --offline=true "$folder/trefoil@study.service" 2>/dev/null |
    sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p')
if [ -z "$exposure" ]; then
    skip "the unit is hardened" "this systemd-analyze does not rate files"
else
    awk -v e="$exposure" 'BEGIN { exit !(e <= 2.0) }'
    result $? "the unit is hardened (exposure $exposure of 10)"
fi
python=/usr/bin/python3
[ -x $python ] || python=$(command -v python3)
if [ -z "$python" ] || [[ ${TREFOIL_OUT:-build/gcc} == *-* ]]; then
    skip "a study under the unit's filter" "that needs python3, and a build without a sanitizer or gcov"
    end_test
fi
chmod 711 "$folder" && install -d -m 700 "$folder/demo"
[ "$(id -u)" -ne 0 ] || chown nobody "$folder/demo"
timeout "$(patience 30)" "$python" tests/scripts/unit_filter.py "$folder/trefoil@study.service" \
    "$folder/bin/trefoil" demo --folder "$folder/demo" >"$folder/said" 2>&1
status=$?
if [ $status -eq 77 ]; then
    skip "a study under the unit's filter" "$(sed 's/^# //' "$folder/said")"
else
    [ $status -eq 0 ] || tail -n 5 "$folder/said" "$folder"/demo/*.log | sed 's/^/# /'
    result $status "serve, share and run do their work under the unit's filter, as nobody"
fi
end_test
