#!/usr/bin/env bash
# What the tree at 509f4b38 (0.2.0) left behind (tests/data/509f4b38) under today's program: studies, receipts, logs and
# results are read; servers go on from their folders, and runs that were begun then go on to their end. Writes TAP.
set -u
tree=$PWD
. tests/scripts/support.sh
have xz xz-utils || { skip 'what trefoil 0.2 made' 'xz is absent'; end_test; }
tar -xJf "$tree/tests/data/509f4b38/made.tar.xz" -C "$folder" || exit 1
cd "$folder/made" || exit 1
text=moved.yaml
. "$tree/tests/scripts/support_upgrade.sh"

# --- files

for name in study copula; do
    terms=$(sed -n "s/^$([ $name = study ] && echo upgraded || echo smooth) //p" clinic.pins)
    [ "$("$trefoil" check $name.yaml --fingerprint)" = "$terms" ]
    result $? "the terms of $name.yaml are those that the owner saw"
done
says 0 'is on their disks, whole' check study.yaml --receipt clinic.upgraded.receipt
says 0 'which is epsilon 14.8413 with delta 2e-6' share --key clinic.key --book
says 0 'the three logs fit together' audit finished/{north,east,west}/audit.log --study study.yaml
sed 's/ spent 0/ spent 1/' finished/north/audit.log >altered.log
says 6 'altered.log' audit altered.log

says 0 '95 %' query finished/result 'SELECT COUNT(*) FROM t WHERE age >= 4'
says 0 'wrote 10 rows' synth finished/result/model --rows 10 --out rows.csv
says 0 'measurements; nothing is charged to the budget' refit finished/result --study study.yaml --out again
says 0 '95 %' query again 'SELECT COUNT(*) FROM t'
says 0 '50 real rows' eval study.yaml clinic.csv finished/result
says 0 'COUNT(*)' query drawn/result 'SELECT COUNT(*) FROM t WHERE age >= 4'
says 0 'wrote 10 rows' synth drawn/result/model --rows 10 --out rows.csv

# --- servers, and what they hold

all=(north east west)
start_all() { for name in "${all[@]}"; do start "$1/$name" "$name"; done; }
stop_all() { for name in "${all[@]}"; do stop "${pid[$name]}"; done; }
go_on() { says 0 "$2" run moved.yaml --key office.key --out "$1/result" --quick; } # MOMENT WORDS
# Its logs fit together and say so; and its model has about so many rows.
ended() { # MOMENT WORDS ROWS
    stop_all
    says 0 'the three logs fit together' audit "$1"/{north,east,west}/audit.log --study moved.yaml --heads "$1/result/heads"
    grep -qF "$2" said
    result $? "$1: $2"
    "$trefoil" query "$1/result" 'SELECT COUNT(*) FROM t' 2>/dev/null | awk -v n="$3" '
        $1 == $1 + 0 { near = $1 > n - 12 && $1 < n + 12 } END { exit !near }'
    result $? "$1: $3 rows are counted"
    rm -f ./*.heads
}

# What was signed about a later moment.
rm -f ./*.heads
move study.yaml 17200

# One of two owners was cut, with two of three servers. Ids of uploads have changed.
start_all uploaded
says 5 'share --replace' share moved.yaml late.csv --key late.key
says 0 'all three servers have stored the upload' share moved.yaml late.csv --key late.key --replace
says 0 'wrote report.html' run moved.yaml --key office.key --out uploaded/result --quick
ended uploaded 'opened for rho = 1.5392' 130

# Between two rounds. Without its folder the run cannot be asked again, and nothing changes by trying.
start_all stopped
run=$(sed -n 's/.*"run": *"\([0-9a-f]*\)".*/\1/p' stopped/result/stats.json)
says 5 'continue it with the version of trefoil' run moved.yaml --key office.key --out lost --continue "$run"
says 5 "an earlier run spent the rest" run moved.yaml --key office.key --out other
go_on stopped 'budget: rho 1.539 of 1.539 is spent'
ended stopped 'opened for rho = 1.5392' 80

# The analyst's program was killed while it kept what round 2 had opened: that is paid once.
start_all killed
go_on killed 'budget: rho 1.539 of 1.539 is spent'
ended killed 'opened for rho = 1.5392' 80

# A server was killed once the last round was paid for: the round is lost, and the run ends with what it has.
start_all bound
go_on bound 'round 3 is lost: what it took of the budget is spent'
ended bound 'opened for rho = 1.2570' 80

# A run of method: copula, under security: abort.
move copula.yaml 17200
start_all begun
go_on begun '3 single attributes'
ended begun 'opened for rho = 1.53' 80
end_test
