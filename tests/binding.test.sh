#!/usr/bin/env bash
# Model checking of how rounds are bound (tests/binding.pml) with spin, in TAP; skipped aloud where it is absent.
# TREFOIL_LONG=1 allows more crashes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
echo 1..2
if ! command -v spin >/dev/null; then
    echo "# SKIP spin is absent (Debian package spin)"
    echo "ok 1 - no range is opened for two requests # SKIP"
    echo "ok 2 - the model notices a server that binds before all have staged # SKIP"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
sessions=3 crashes=1
[ -n "${TREFOIL_LONG:-}" ] && sessions=3 crashes=2

# verify model-file: the verifier's words
verify() {
    spin -a -DSESSIONS="$sessions" -DCRASHES="$crashes" "$1" >spin.log 2>&1 &&
        "${CC:-cc}" -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -o pan pan.c >>spin.log 2>&1 &&
        ./pan -m2000000 -w26 >pan.log 2>&1
    cat spin.log pan.log 2>/dev/null
}

status=0
verify "$here/binding.pml" >words
if grep -q "errors: 0" words && ! grep -qE "max search depth too small|out of memory" words; then
    echo "# $(grep -E 'states, stored' words | tr -s ' '), $sessions sessions, $crashes crashes"
    echo "ok 1 - no range is opened for two requests, no round is lost, nobody waits for ever"
else
    tail -n 30 words | sed 's/^/# /'
    echo "not ok 1 - no range is opened for two requests, no round is lost, nobody waits for ever"
    status=1
fi
# a test that cannot fail is none: without staging before agreement a crash loses a round
sed '/staged_request\[i\] = request;/s/request;/0;/' "$here/binding.pml" >mutant.pml
verify "$PWD/mutant.pml" >words
if grep -q "assertion violated" words; then
    echo "ok 2 - the model notices a server that has not staged what it agrees to"
else
    tail -n 30 words | sed 's/^/# /'
    echo "not ok 2 - the model notices a server that has not staged what it agrees to"
    status=1
fi
exit "$status"
