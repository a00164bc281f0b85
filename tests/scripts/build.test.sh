#!/usr/bin/env bash
# What make builds: the same bytes in any folder, hardened as Debian's packages are; and no more than a developer's turn
# needs. The tree is copied to two folders, one with a space in its name. Writes TAP.
set -u
. tests/scripts/support.sh
export CCACHE_DISABLE=1 # or one of the two could be the other
out=${TREFOIL_OUT:-build/gcc}
name=${out#build/}

copies=("$folder/a tree" "$folder/another/longer/tree")
for copy in "${copies[@]}"; do
    mkdir -p "$copy"
    find . -maxdepth 1 ! -name . ! -name build ! -name .git -exec cp -a {} "$copy" \;
done
quiet=(make --no-print-directory V=0 DEPS=:)

# --- the same bytes

objects=("$out"/base/error.o "$out"/parties/study/study_example.o "$out"/aim/question/parse.o)
[ -z "${TREFOIL_LONG:-}" ] || objects+=("$out/trefoil")
if [[ $name == *-* ]]; then
    skip "two folders, the same bytes" "sanitizers and gcov keep the folder's name"
else
    status=0
    for copy in "${copies[@]}"; do
        "${quiet[@]}" -C "$copy" -j"$(nproc)" "${objects[@]}" >"$folder/log" 2>&1 || { sed 's/^/# /' "$folder/log"; status=1; }
    done
    for object in "${objects[@]}"; do
        cmp "${copies[0]}/$object" "${copies[1]}/$object" || status=1
    done
    result $status "two folders, the same bytes"
fi

# --- hardened

readelf -hd "$trefoil" >"$folder/elf"
grep -q 'Type: *DYN' "$folder/elf" && grep -q BIND_NOW "$folder/elf" && readelf -l "$trefoil" | grep -q GNU_RELRO
result $? "the program is position independent, and binds all names before it starts"
if [[ $name == *-* || -n ${CFLAGS:-} ]]; then
    skip "it checks sizes of buffers" "sanitizers, gcov and other CFLAGS do without"
else
    nm -D --undefined-only "$trefoil" | grep -q '__memcpy_chk'
    result $? "it checks sizes of buffers"
fi
# the linker marks a program only if the C library's start files are marked too, and Debian's are not
if [ "$(uname -m)" = x86_64 ]; then
    readelf -n "$out"/base/*.o "$out"/*/*/*.o "$out"/*/*/*/*.o 2>/dev/null | awk '/^File: / { files++ } /x86 feature: IBT, SHSTK/ { marked++ }
        END { print "# " marked " of " files " objects"; exit !(files > 100 && marked == files) }'
    result $? "its objects are marked for indirect branch tracking and shadow stacks"
else
    skip "its objects are marked for control flow protection" "that is checked on x86-64"
fi

# --- a developer's turn

links() { # program, make's arguments...
    "${quiet[@]}" -C "${copies[0]}" -n "${@:2}" | grep -c "LINK.* $out/$1"
}
[ "$(links tests/test_ ONLY=test_prime only)" -eq 1 ] && [ "$(links trefoil ONLY=test_prime only)" -ge 1 ] &&
    [ "$(links bench/bench_ ONLY=smoke only)" -ge 10 ] && [ "$(links harness/ ONLY=demo only)" -eq 1 ] && [ "$(links tests/ ONLY=demo only)" -eq 0 ]
result $? "ONLY links what it names, and what that starts"
mkdir "$folder/bin"
printf '#!/bin/sh\necho asked >>"%s/asked"\nexec %s "$@"\n' "$folder" "$(command -v pkg-config)" >"$folder/bin/pkg-config"
chmod +x "$folder/bin/pkg-config"
PATH="$folder/bin:$PATH" "${quiet[@]}" -C "${copies[0]}" -n programs >/dev/null
[ -s "$folder/asked" ] && [ "$(wc -l <"$folder/asked")" -le 10 ]
result $? "pkg-config is asked ten times at most: $(wc -l <"$folder/asked")"

# A tree of ours with two suites: one starts the program, the other does not.
cd "${copies[1]}" || exit 1
mine=$folder/out
mkdir -p "$mine/tests"
cat >"$folder/suite.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) { return puts("ok 1 - " WORDS "\n1..1") < 0 || (STARTS && system("true") != 0); }
C
build() { # suite, defines...
    ${CC:-gcc} -O2 "${@:2}" "$folder/suite.c" -o "$mine/tests/$1"
}
runs() { # how many of the two, words
    TREFOIL="$mine/trefoil" ONLY=prime tests/run.sh "$mine" test-changed >"$folder/log" 2>&1
    [ "$(tail -n 1 "$folder/log")" = "$1 passed, 0 failed" ] || { sed 's/^/# /' "$folder/log"; false; }
    result $? "$2"
}
cp tests/mpc/kernel/test_prime.c tests/test_prime_alone.c
build test_prime '-DWORDS="a"' -DSTARTS=1
build test_prime_alone '-DWORDS="a"' -DSTARTS=0
cp /bin/true "$mine/trefoil"
runs 2 "suites run that have not passed yet"
runs 0 "none runs again"
cp /bin/false "$mine/trefoil"
runs 1 "a program has changed: suites run that start others"
build test_prime_alone '-DWORDS="b"' -DSTARTS=0
runs 1 "a suite has changed, and runs"
echo >>docs/tour.md
runs 1 "a document has changed: suites run that start a program"
echo x >>tests/corpus/key/extra
runs 2 "a file has changed: all suites run"
end_test
