#!/usr/bin/env bash
# trefoil demo where something is in its way: it says what, leaves alone what is not its own, and leaves no process
# behind. Writes TAP.
set -u
. tests/scripts/support.sh
shim=./shim.so # LD_PRELOAD takes no name with a space
ln -s "$(readlink -f "${TREFOIL_OUT:-build/gcc}/harness/preload_fault.so")" "$folder/$shim"
cd "$folder" || exit 1

# fails CODE WORDS COMMAND...
fails() {
    local code=$1 words=$2 status
    shift 2
    timeout "$(patience 30)" "$@" >said 2>&1
    status=$?
    [ "$status" -eq "$code" ] && grep -qF -- "$words" said || { sed 's/^/# /' said; false; }
    result $? "$words"
}

# --- its folder

mkdir -p mine && touch mine/table.csv
fails 1 'mine holds something that is no earlier demo' "$trefoil" demo --folder mine
[ -e mine/table.csv ]
result $? "what is not a demo is left alone"
fails 1 'cannot make the folder nowhere/demo' "$trefoil" demo --folder nowhere/demo
mkdir old && touch old/.trefoil-demo
(cd old && for _ in {1..20}; do mkdir "$(printf '%0250d' 1)" && cd "$(printf '%0250d' 1)" || exit; done)
fails 1 'cannot remove the earlier demo in old: File name too long' "$trefoil" demo --folder old

# --- two servers

"$trefoil" demo --provider --folder two >said 2>&1
result $? "two hospitals are the servers of three"
grep -q 'three hospitals, nobody sees the rows' said && ! grep -q 'island' said && grep -q 'round 4' said
result $? "it shows what came of their rows"
"$trefoil" audit two/server-provider/audit.log two/server-keeper/audit.log --study two/study.yaml >said
grep -q 'the two logs fit together' said
result $? "both logged the same"

# --- a disk that is full, for some of what is written

full() { # name in the folder, words
    FAULT=write+1 FAULT_UNDER=$PWD/demo/$1 LD_PRELOAD=$shim ASAN_OPTIONS=verify_asan_link_order=0 \
        fails "${3:-1}" "$2" "$trefoil" demo --folder "$PWD/demo"
    ! grep -lF "$PWD/demo" /proc/[0-9]*/cmdline 2>/dev/null
    result $? "no process is left"
}
if "$trefoil" --version | grep -q 'thread sanitizer'; then
    skip 'a full disk' 'a sanitizer has allocation for itself'
else
    FAULT=link+1 LD_PRELOAD=$shim ASAN_OPTIONS=verify_asan_link_order=0 \
        fails 1 'no 15 free ports in a row on 127.0.0.1' "$trefoil" demo --folder ports
    mkdir demo # an empty folder is taken
    full island.csv "cannot write $PWD/demo/island.csv: No space left"
    full analyst.key "cannot write $PWD/demo/analyst.key: No space left"
    full study.yaml "cannot write $PWD/demo/study.yaml: No space left"
    full server-birch/ "server birch does not answer; see $PWD/demo/server-birch.log" 4
    full share-rural.json "a share process failed; see $PWD/demo/share-rural.log"
    full result/ "the run process failed; see $PWD/demo/run.log"
fi
end_test
