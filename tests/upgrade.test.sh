#!/usr/bin/env bash
# What the tree at 5998601 left behind (tests/data/5998601) under today's program: files that people keep are read,
# and what was written differently then is refused with words. Writes TAP.
set -u
tree=$PWD
. tests/support.sh
have xz xz-utils || { skip 'what an earlier trefoil made' 'xz is absent'; end_test; }
tar -xJf "$tree/tests/data/5998601/made.tar.xz" -C "$folder" || exit 1
cd "$folder/made" || exit 1

# says STATUS WORDS COMMAND...
says() {
    local expected=$1 words=$2 status
    shift 2
    "$trefoil" "$@" >said 2>&1
    status=$?
    [ "$status" -eq "$expected" ] && tr '\n' ' ' <said | grep -qF -- "$words" || { sed 's/^/# /' said; false; }
    result $? "$1: $words"
}

# a server that is refused leaves its folder as the program before can go on with it
sha256sum stopped/east/{store.sqlite,audit.log} >before
says 3 'write outside: error wherever outside is not given' serve study.yaml --key east.key --folder stopped/east \
    --listen "127.0.0.1:$port"
sha256sum --quiet -c before
result $? 'and nothing in its folder has changed'

# Where a study says nothing of outside, it was error then: said aloud, the terms are those of then.
mv study.yaml silent.yaml
sed -e 's/max: 7}/max: 7, outside: error}/; s/missing: "?"}/missing: "?", outside: error}/' \
    -e 's/30\]}/30], outside: error}/' silent.yaml >study.yaml
terms=$(sed -n 's/^upgraded //p' clinic.pins)
[ "$("$trefoil" check study.yaml --fingerprint)" = "$terms" ]
result $? 'the terms with outside: error are those that the owner saw'
says 0 'is on their disks, whole' check study.yaml --receipt clinic.upgraded.receipt

logs=(finished/{north,east,west}/audit.log)
says 0 'the three logs fit together' audit "${logs[@]}" --study study.yaml
sed 's/ spent 0/ spent 1/' "${logs[0]}" >altered.log
says 6 'altered.log' audit altered.log

# results: questions, rows, the model again
says 0 'COUNT(*)' query finished/result 'SELECT COUNT(*) FROM t WHERE age >= 4'
grep -qF 'refit' said
result $? 'a result without the file errors is answered without intervals, and says how to make one'
says 0 'wrote 10 rows' synth finished/result/model --rows 10 --out rows.csv
[ "$(wc -l <rows.csv)" -eq 11 ]
result $? 'it has as many rows'
says 0 'wrote' refit finished/result --study study.yaml --out again
says 0 'COUNT(*)' query again 'SELECT COUNT(*) FROM t'
says 0 '50 real rows' eval study.yaml clinic.csv finished/result

# a version from the future is refused with the file's name
sed '1s/trefoil-model-1/trefoil-model-9/' finished/result/model >model
says 6 'model' query model 'SELECT COUNT(*) FROM t'
sed 's/trefoil-measurements-1/trefoil-measurements-9/' finished/result/measurements.json >again/measurements.json
says 6 'again/measurements.json' refit again --out third
sed 's/trefoil-receipt-1/trefoil-receipt-9/' clinic.upgraded.receipt >receipt
says 6 'receipt' check study.yaml --receipt receipt
end_test
