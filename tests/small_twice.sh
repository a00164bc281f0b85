#!/usr/bin/env bash
# Each target of tools/small.sh, built here and from a copy of the tree in another folder, has the same bytes: the modules
# of pages and the static programs. Writes TAP.
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
end_test
