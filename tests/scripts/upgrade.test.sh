#!/usr/bin/env bash
# What the tree at 5998601 left behind (tests/data/5998601) under today's program: files that people keep are read,
# and what was written differently then is refused with a message. Writes TAP.
set -u
tree=$PWD
. tests/scripts/support.sh
have xz xz-utils || { skip 'what an earlier trefoil made' 'xz is absent'; end_test; }
tar -xJf "$tree/tests/data/5998601/made.tar.xz" -C "$folder" || exit 1
cd "$folder/made" || exit 1

text=moved.yaml
. "$tree/tests/scripts/support_upgrade.sh"

# A server that is refused leaves its folder so that the earlier program can go on with it: for a run that is not over,
# or for another study.
refuses() { # FOLDER WORDS
    sha256sum "$1"/{store.sqlite,audit.log} >before
    says 3 "$2" serve study.yaml --key north.key --folder "$1" --listen "127.0.0.1:$port"
    sha256sum --quiet -c before
    result $? "nothing in $1 has changed"
}
refuses uploaded/north 'write outside: error wherever outside is not given'

# A study that says nothing about `outside` meant `error` then. With that written out, its terms are as they were.
mv study.yaml silent.yaml
sed -e 's/max: 7}/max: 7, outside: error}/; s/missing: "?"}/missing: "?", outside: error}/' \
    -e 's/30\]}/30], outside: error}/' silent.yaml >study.yaml
terms=$(sed -n 's/^upgraded //p' clinic.pins)
[ "$("$trefoil" check study.yaml --fingerprint)" = "$terms" ]
result $? 'the terms with outside: error are those that the owner saw'
says 0 'rho = 1.53927716 of zero-concentrated' check study.yaml
refuses stopped/north 'serve the study with trefoil 0.1 at all three servers until that run has spent its budget'
refuses killed/north 'has a run that trefoil 0.1 began and that is not over (store version 6'
says 0 'is on their disks, whole' check study.yaml --receipt clinic.upgraded.receipt

logs=(finished/{north,east,west}/audit.log)
says 0 'the three logs fit together' audit "${logs[@]}" --study study.yaml
sed 's/ spent 0/ spent 1/' "${logs[0]}" >altered.log
says 6 'altered.log' audit altered.log

# results: questions, rows, a refit
says 0 'COUNT(*)' query finished/result 'SELECT COUNT(*) FROM t WHERE age >= 4'
grep -qF 'refit' said
result $? 'a result without the file errors is answered without intervals, and says how to make one'
says 0 'wrote 10 rows' synth finished/result/model --rows 10 --out rows.csv
[ "$(wc -l <rows.csv)" -eq 11 ]
result $? 'it has as many rows'
says 0 'wrote' refit finished/result --study study.yaml --out again
says 0 'COUNT(*)' query again 'SELECT COUNT(*) FROM t'
says 0 '50 real rows' eval study.yaml clinic.csv finished/result

# a run that was begun then is recognised, and not mistaken for another one
says 6 'stopped/result/run.state is of an earlier trefoil: its format is trefoil-run-2' run study.yaml --key office.key --out stopped/result

# --- servers go on from the folders that earlier ones left

move study.yaml 17100

# over is over: what the run spent stays so
says 0 '4 debits' restore finished/north.backup over
start over north
stop "${pid[north]}"
grep -qF 'roster 2 replaces roster 1' north.log
result $? 'the store of a run that is over is carried over'

# one of two owners was cut, with two of three servers
start uploaded/north north
start uploaded/east east
says 5 'share --replace' share moved.yaml late.csv --key late.key
says 4 'server 2 (west)' share moved.yaml late.csv --key late.key --replace --retries 0
start uploaded/west west
says 0 'all three servers have stored the upload' share moved.yaml late.csv --key late.key
says 0 'wrote report.html' run moved.yaml --key office.key --out fresh --quick
says 0 'COUNT(*)' query fresh 'SELECT COUNT(*) FROM t'
for name in north east west; do
    stop "${pid[$name]}"
done
says 0 'the three logs fit together' audit uploaded/{north,east,west}/audit.log --study moved.yaml --heads fresh/heads

# --- what a later version wrote

version=$("$trefoil" --version | awk 'NR == 1 { print $2 }')
# FILE, of FORMAT or an earlier version, says that it is of version 99: it is refused with its name, both versions and
# what to do; nothing is altered
later() { # STATUS FILE FORMAT COMMAND...
    local expected=$1 file=$2 format=$3 name=${3%%[0-9]*} text status words found=
    shift 3
    [[ $format == *- ]] || found=${name}99 # else FILE is named with the line
    cp -p "$file" kept
    sed -i "s/$name[0-9]${format#"$name"[0-9]}/${name}99${format#"$name"[0-9]}/" "$file"
    sha256sum "$file" >before
    "$trefoil" "$@" >said 2>&1
    status=$?
    [ "$status" -eq "$expected" ] && sha256sum --quiet -c before || status=99
    text=$(tr -s '\n ' ' ' <said)
    for words in "$file" 'of a later trefoil' $found "this one, $version, reads" "${format%-}" 'use the trefoil that'; do
        [[ $text == *"$words"* ]] || { status=99; echo "# without \"$words\":"; }
    done
    [ "$status" -eq "$expected" ] || sed 's/^/# /' said
    [ "$status" -eq "$expected" ]
    result $? "$file of a later version, $1"
    mv kept "$file"
}
"$trefoil" serve moved.yaml --key north.key --folder over --purge 2>/dev/null
result $? 'the study is ended where its run is over'
printf 'trefoil-copula-2\n' >copula
query=(query again 'SELECT COUNT(*) FROM t')
later 6 again/model trefoil-model-3 "${query[@]}"
later 6 copula trefoil-copula-3 query copula "${query[2]}"
later 6 again/errors trefoil-errors-3 "${query[@]}"
later 6 again/measurements.json trefoil-measurements-2 refit again --out third
later 6 fresh/stats.json trefoil-stats-1 refit fresh --study moved.yaml --out third
later 6 fresh/run.state trefoil-run-4 run moved.yaml --key office.key --out fresh
later 6 fresh/loop.state trefoil-loop-2 run moved.yaml --key office.key --out fresh
later 6 fresh/heads trefoil-sig1- audit uploaded/north/audit.log --study moved.yaml --heads fresh/heads
later 6 uploaded/north/audit.log trefoil-audit-1 audit uploaded/north/audit.log
later 6 late.upgraded.receipt trefoil-receipt-1 check moved.yaml --receipt late.upgraded.receipt
later 6 over/purge.txt trefoil-purge-1 check moved.yaml --statement over/purge.txt
later 6 late.book trefoil-book-1 share --key late.key --book
later 6 late.upgraded.secret trefoil-secret-1 share moved.yaml late.csv --key late.key
later 3 late.key trefoil1- keygen --show late.key
later 3 moved.yaml trefoil1- check moved.yaml
later 3 moved.yaml trefoil-sig1- check moved.yaml
end_test
