#!/usr/bin/env bash
# Each target of tools/small.sh, built here and from a copy of the tree in another folder, has the same bytes: the modules
# of pages and the static programs. No build goes on after a file that does not compile, nor beside another. Writes TAP.
#
#   tests/small_twice.sh [TARGET ..]
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/scripts/support.sh
export CCACHE_DISABLE=1 # the second build is one

mkdir "$folder/tree"
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$folder/tree"
[ $# -gt 0 ] || set -- reader owner x86-64 arm64
for target; do
    if ! tools/small.sh "$target" >"$folder/log" 2>&1; then
        grep -q apt-get "$folder/log" && skip "two builds of $target" "$(tail -n 1 "$folder/log")" && continue
        sed 's/^/# /' "$folder/log"
        result 1 "$target is built"
        continue
    fi
    made=$(sed -n '$s/: .*//p' "$folder/log")
    SOURCES=$PWD/build/small/sources "$folder/tree/tools/small.sh" "$target" >"$folder/log" 2>&1 && cmp "$made" "$folder/tree/$made"
    result $? "two builds of $target have the same bytes: $(sha256sum <"$made" | cut -c 1-16)"
done

# A compiler that knows all but one file, and makes empty ones. It stands for clang, which is asked for a module.
printf '#!/bin/sh\ncase "$*" in *" -c base/date.c "*) exit 1 ;; esac\nwhile [ "$1" != -o ]; do shift; done\n: >"$2"\n' >"$folder/clang"
chmod 700 "$folder/clang"
partly() {
    CLANG=../clang SOURCES=$PWD/build/small/sources "$folder/tree/tools/small.sh" reader >"$folder/log" 2>&1
}
if command -v wasm-ld-14 >/dev/null; then
    rm -f "$folder/tree/build/small/reader.wasm"
    ! partly && grep -q 'not all files of reader compile' "$folder/log" && [ ! -e "$folder/tree/build/small/reader.wasm" ]
    result $? "a file that does not compile ends the build"
    rm -r "$folder/tree/build/small/objects-reader"
    exec 8>"$folder/tree/build/small/lock"
    flock 8
    partly 8>&- &
    within 10 grep -q 'waits for another run' "$folder/log" && [ ! -e "$folder/tree/build/small/objects-reader" ]
    result $? "a second build in a folder waits for the first"
    exec 8>&-
    wait
else
    skip "a file that does not compile" "wasm-ld-14 is absent"
fi
end_test
