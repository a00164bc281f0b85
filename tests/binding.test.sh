#!/usr/bin/env bash
# Model checking of how rounds are bound (tests/binding.pml) with spin, in TAP; skipped aloud where it is absent.
# TREFOIL_LONG=1 allows more crashes, and more that is asked of one server and not of the others.
set -u
here=$(cd "$(dirname "$0")" && pwd)
names=("no range is opened for two requests, no round is lost, nobody waits for ever"
    "nor where a round gives back what it did not use"
    "the model notices a server that has not staged what it agrees to"
    "the model notices a round that gives back what it used")
echo 1..4
if ! command -v spin >/dev/null; then
    echo "# SKIP spin is absent (Debian package spin)"
    for k in 0 1 2 3; do
        echo "ok $((k + 1)) - ${names[k]} # SKIP"
    done
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
binding=(-DROUNDS=1 -DPLAYS=1 -DSESSIONS=3)
returning=(-DROUNDS=2 -DPLAYS=2 -DSESSIONS=2 -DCRASHES=1)
if [ -n "${TREFOIL_LONG:-}" ]; then
    binding+=(-DCRASHES=2 -DLIES=3)
    returning+=(-DLIES=1)
else
    binding+=(-DCRASHES=1 -DLIES=1)
    returning+=(-DLIES=0)
fi

# verify model-file options: the verifier's words
verify() {
    spin -a "${@:2}" "$1" >spin.log 2>&1 &&
        "${CC:-cc}" -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -o pan pan.c >>spin.log 2>&1 &&
        ./pan -m2000000 -w26 >pan.log 2>&1
    cat spin.log pan.log 2>/dev/null
}

status=0
tell() { # number fine
    if [ "$2" = yes ]; then
        echo "ok $1 - ${names[$1 - 1]}"
    else
        tail -n 30 words | sed 's/^/# /'
        echo "not ok $1 - ${names[$1 - 1]}"
        status=1
    fi
}

holds() { # number options
    local fine=no
    verify "$here/binding.pml" "${@:2}" >words
    if grep -q "errors: 0" words && ! grep -qE "max search depth too small|out of memory" words; then
        fine=yes
        echo "# $(grep -E 'states, stored' words | tr -s ' '): ${*:2}"
    fi
    tell "$1" $fine
}

# a test that cannot fail is none
notices() { # number sed-expression
    local fine=no
    sed "$2" "$here/binding.pml" >mutant.pml
    verify "$PWD/mutant.pml" "${returning[@]}" >words
    ! cmp -s mutant.pml "$here/binding.pml" && grep -q "assertion violated" words && fine=yes
    tell "$1" $fine
}

holds 1 "${binding[@]}"
holds 2 "${returning[@]}"
notices 3 '/disk\[i\].staged = request;/s/request;/0;/'
notices 4 's/:: new && !takes_both(request) -> left = second/:: new -> left = second/'
exit "$status"
