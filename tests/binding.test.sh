#!/usr/bin/env bash
# Model checking of how rounds are bound (tests/binding.pml) and opened (tests/attempts.pml) with spin, in TAP; skipped
# aloud where it is absent. TREFOIL_LONG=1 allows more crashes, more that is asked of one server and not of the others,
# and more attempts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
names=("no range is opened for two requests, no round is lost, nobody waits for ever"
    "nor where a round gives back what it did not use"
    "the model notices a server that has not staged what it agrees to"
    "the model notices a round that gives back what it used"
    "a server that lies and asks again gets one index from two that have it, and a few attempts else"
    "the model notices two that have the index and select again"
    "the model notices two that have the values and open them again"
    "the model notices an attempt that is not counted"
    "the model notices a server that takes another index")
echo 1..9
if ! command -v spin >/dev/null; then
    echo "# SKIP spin is absent (Debian package spin)"
    for k in "${!names[@]}"; do
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
    asking=(-DATTEMPTS=3)
else
    binding+=(-DCRASHES=1 -DLIES=1)
    returning+=(-DLIES=0)
    asking=(-DATTEMPTS=2)
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

holds() { # number model options
    local fine=no
    verify "$here/$2.pml" "${@:3}" >words
    if grep -q "errors: 0" words && ! grep -qE "max search depth too small|out of memory" words; then
        fine=yes
        echo "# $(grep -E 'states, stored' words | tr -s ' '): ${*:3}"
    fi
    tell "$1" $fine
}

# a test that cannot fail is none
notices() { # number sed-expression model options
    local fine=no
    sed "$2" "$here/$3.pml" >mutant.pml
    verify "$PWD/mutant.pml" "${@:4}" >words
    ! cmp -s mutant.pml "$here/$3.pml" && grep -q "assertion violated" words && fine=yes
    tell "$1" $fine
}

holds 1 binding "${binding[@]}"
holds 2 binding "${returning[@]}"
notices 3 '/disk\[i\].staged = request;/s/request;/0;/' binding "${returning[@]}"
notices 4 's/:: new && !takes_both(request) -> left = second/:: new -> left = second/' binding "${returning[@]}"
holds 5 attempts "${asking[@]}"
notices 6 's/known \(<\|>=\) 2/known \1 3/' attempts "${asking[@]}"
notices 7 's/opened == 2/opened == 4/; s/opened < 2/opened < 3/' attempts "${asking[@]}"
notices 8 's/disk\[i\].attempts++;/skip;/' attempts "${asking[@]}"
notices 9 's/disk\[i\].index != 0 && disk\[i\].index != came/false/' attempts "${asking[@]}"
exit "$status"
