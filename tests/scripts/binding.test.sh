#!/usr/bin/env bash
# Model checking of how rounds are bound (tests/models/binding.pml), opened (tests/models/attempts.pml) and opened under a check
# (tests/models/liar.pml) with spin, in TAP; skipped with a message where it is absent. TREFOIL_LONG=1 allows more crashes,
# more requests to one server that the others do not get, and more attempts.
set -u
here=$(cd "$(dirname "$0")/../models" && pwd)
names=("no range is opened for two requests, no round is lost, nobody waits for ever"
    "nor where a round gives back what it did not use"
    "nor where noise was made before, also by a server that is restored from a backup"
    "the model notices a server that has not staged what it agrees to"
    "the model notices a round that gives back what it used"
    "the model notices noise made before that is not deleted before it is used"
    "nor is it enough to delete it when the round is over"
    "a server that lies and asks again gets one index from two that have it, and a few attempts else"
    "the model notices two that have the index and select again"
    "the model notices two that have the values and open them again"
    "the model notices an attempt that is not counted"
    "the model notices a server that takes another index"
    "under a check a server that lies opens nothing wrong, nothing twice, and has a few tries"
    "the model notices a check that has not begun on disk before its coin leaves"
    "the model notices a server that computes when it has stopped"
    "the model notices a server that takes an index from one alone"
    "the model notices a server that adopts a debit which it has not staged"
    "the model notices a server that does not compare what the third told both"
    "the model notices a server that adopts a debit without the other's voucher"
    "the model notices a server that signs what it has not staged"
    "nor do two debit different things where an operator drops a debit that the other lacks"
    "the model notices a debit that is dropped after a part was sent"
    "the model notices a debit that is dropped though the other has it"
    "of a provider and a keeper no range is opened for two requests, and no round is lost"
    "nor where a round of theirs gives back what it did not use"
    "nor where they have an owner's noise"
    "the model notices a keeper that has not staged what it agrees to"
    "the model notices a provider that opens before the keeper has confirmed"
    "the model notices an owner's noise that is not deleted before it is used")
echo "1..${#names[@]}"
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
ahead=(-DROUNDS=2 -DPLAYS=1 -DLIES=0 -DCRASHES=1)
if [ -n "${TREFOIL_LONG:-}" ]; then
    binding+=(-DCRASHES=2 -DLIES=3)
    returning+=(-DLIES=1)
    ahead+=(-DSESSIONS=3 -DAHEAD=2)
    asking=(-DATTEMPTS=3)
    lying=(-DSESSIONS=4 -DTRIES=2 -DDROPS=0)
    dropping=(-DSESSIONS=3 -DTRIES=1 -DDROPS=1)
    depth=2000000
else
    binding+=(-DCRASHES=1 -DLIES=1)
    returning+=(-DLIES=0)
    ahead+=(-DSESSIONS=2 -DAHEAD=1)
    asking=(-DATTEMPTS=2)
    lying=(-DSESSIONS=3 -DTRIES=1 -DDROPS=0)
    dropping=(-DSESSIONS=2 -DTRIES=1 -DDROPS=1)
    depth=20000
fi

# verify table-bits model-file "how to compile" options: prints the verifier's output.
verify() {
    # shellcheck disable=SC2086
    spin -a "${@:4}" "$2" >spin.log 2>&1 &&
        "${CC:-cc}" $3 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -w -o pan pan.c >>spin.log 2>&1 &&
        ./pan "-m$depth" "-w$1" >pan.log 2>&1
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
    verify 25 "$here/$2.pml" -O1 "${@:3}" >words
    if grep -q "errors: 0" words && ! grep -qE "max search depth too small|out of memory" words; then
        fine=yes
        echo "# $(grep -E 'states, stored' words | tr -s ' '): ${*:3}"
    fi
    tell "$1" $fine
}

# A test that cannot fail is none. Most mutants take longer to compile than to run. The last alternative of each choice
# is tried first, and with it what a mutant does wrong.
notices() { # number sed-expression model options
    local fine=no
    sed "$2" "$here/$3.pml" >mutant.pml
    verify 20 "$PWD/mutant.pml" "-O0 -DT_REVERSE" "${@:4}" >words
    ! cmp -s mutant.pml "$here/$3.pml" && grep -qE "assertion violated|invalid end state" words && fine=yes
    tell "$1" $fine
}

holds 1 binding "${binding[@]}"
holds 2 binding "${returning[@]}"
holds 3 binding "${ahead[@]}"
notices 4 '/disk\[i\].staged = request;/s/request;/0;/' binding "${returning[@]}"
notices 5 's/:: new && !takes_both(request) -> left = second/:: new -> left = second/' binding "${returning[@]}"
keeps='s/disk\[i\].ahead = disk\[i\].ahead & ~(1 << piece);/skip;/'
notices 6 "$keeps" binding "${ahead[@]}"
notices 7 "$keeps; s/disk\[i\].opened\[round_of(request)\] = true;\$/&disk[i].ahead = ahead;/" binding "${ahead[@]}"
holds 8 attempts "${asking[@]}"
notices 9 's/known \(<\|>=\) 2/known \1 3/' attempts "${asking[@]}"
notices 10 's/opened == 2/opened == 4/; s/opened < 2/opened < 3/' attempts "${asking[@]}"
notices 11 's/disk\[i\].attempts++;/skip;/' attempts "${asking[@]}"
notices 12 's/disk\[i\].index != 0 && disk\[i\].index != came/false/' attempts "${asking[@]}"
holds 13 liar "${lying[@]}"
notices 14 's/:: else -> disk\[i\].tries++/:: else -> skip/; s/disk\[i\].tries--/skip/' liar "${lying[@]}"
notices 15 's/ || disk\[i\].tries >= TRIES//' liar "${lying[@]}"
notices 16 's/selects = (known < 2)/selects = (known < 1)/' liar "${lying[@]}"
notices 17 's/staged_here(third)/true/g; s/!true/false/' liar "${lying[@]}"
notices 18 's/heard\[0\].standing != heard\[1\].standing ||/false \&\& false ||/; s/heard\[0\].index != heard\[1\].index/false/; s/heard\[0\].values != heard\[1\].values/false/' liar "${lying[@]}"
shown='s/assert(vouched_for(disk\[i\]));/skip;/'
notices 19 "s/(staged_here(third) && vouched_for(third))/staged_here(third)/; $shown" liar "${lying[@]}"
notices 20 "s/| bit_of(request)\$/| 6/" liar "${lying[@]}"
holds 21 liar "${dropping[@]}"
notices 22 's/!parts\[i\] && disk\[other\]/disk[other]/' liar "${dropping[@]}"
notices 23 's/!parts\[i\] && disk\[other\].request == 0/true/' liar "${dropping[@]}"
two=(-DSERVERS=2 -DCRASHES=2 -DLIES=1)
holds 24 binding -DROUNDS=1 -DPLAYS=1 -DSESSIONS=3 "${two[@]}"
holds 25 binding -DROUNDS=2 -DPLAYS=2 -DSESSIONS=2 "${two[@]}"
once=(-DSERVERS=2 -DCRASHES=1 -DLIES=1) # two that were put back could use noise again
holds 26 binding -DROUNDS=2 -DPLAYS=1 -DSESSIONS=3 -DAHEAD=2 "${once[@]}"
notices 27 '/disk\[i\].staged = request;/s/request;/0;/' binding -DROUNDS=2 -DPLAYS=2 -DSESSIONS=2 "${two[@]}"
notices 28 's/exchange(CONFIRM);/skip;/' binding -DROUNDS=1 -DPLAYS=1 -DSESSIONS=3 "${two[@]}"
notices 29 "$keeps" binding -DROUNDS=2 -DPLAYS=1 -DSESSIONS=3 -DAHEAD=2 "${once[@]}"
exit "$status"
