#!/usr/bin/env bash
# Makes made.tar.xz, what a trefoil of the tree at 509f4b38 (0.2.0) leaves behind: keys, two studies, three servers'
# folders at several moments, and results. Other keys and noise each time; everything else is the same.
#
#   git worktree add --detach OLD 509f4b38
#   make -C OLD build/gcc/trefoil build/gcc/tests/preload_fault.so
#   tests/data/509f4b38/make.sh OLD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
trefoil=$(readlink -f "$1/build/gcc/trefoil") shim=$(readlink -f "$1/build/gcc/tests/preload_fault.so")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
mkdir made
cd made

for name in north east west clinic ward late office; do
    "$trefoil" keygen $name.key --name $name >/dev/null
done
public() { "$trefoil" keygen --show $1.key | head -n 1; }
study() { # NAME, and on standard input what follows the domain
    cat <<END
study: $1
domain:
  - {name: age, kind: integer, min: 0, max: 9}
  - {name: sex, kind: categorical, values: [f, m], missing: "?"}
  - {name: stay, kind: numeric, edges: [0, 1, 3, 7, 30]}
END
    cat
    cat <<END
min_owners: 2
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:17200", key: $(public north)}
  - {name: east, endpoint: "tcp://127.0.0.1:17205", key: $(public east)}
  - {name: west, endpoint: "tcp://127.0.0.1:17210", key: $(public west)}
owners:
  - {name: clinic, key: $(public clinic), max_rows: 60, as: counts}
  - {name: ward, key: $(public ward), max_rows: 60, as: records}
  - {name: late, key: $(public late), max_rows: 60, as: counts}
analysts:
  - {name: office, key: $(public office)}
END
}
study upgraded >study.yaml <<END
workload: {all: 2}
budget: {epsilon: 10, delta: 1e-6}
rounds: 3
END
study smooth >copula.yaml <<END
method: copula
budget: {epsilon: 10, delta: 1e-6}
security: abort
END
sed -i 's/, as: counts}/}/; s/, as: records}/}/' copula.yaml
for name in clinic ward late; do
    awk -v n=$([ $name = ward ] && echo 30 || echo 50) 'BEGIN {
        print "age,sex,stay"
        for (i = 0; i < n; i++)
            print i % 8 "," (i % 3 == 0 ? "f" : i % 7 == 0 ? "?" : "m") "," i % 8 * 2 + i % 2
    }' >$name.csv
done

text=study.yaml
start() { # NAME, and perhaps a fault
    env "${@:2}" "$trefoil" serve $text --key $1.key --folder $1 --listen 127.0.0.1 --lanes 1 \
        --noise-ahead off >../$1.log 2>&1 &
    pid[$1]=$!
    until grep -q 'is ready' ../$1.log || ! kill -0 ${pid[$1]} 2>/dev/null; do sleep 0.05; done
}
stop() { for name in "$@"; do kill ${pid[$name]} && wait ${pid[$name]}; done; }
declare -A pid
moment() { # the servers' folders and the run's, as they are at rest
    mkdir "$1"
    cp -a north east west "$1"
    [ ! -d result ] || cp -a result "$1"
    rm -f "$1"/*/lock "$1"/*/*.lock "$1"/*/loop.state.* "$1"/*/report.html
}
share() { "$trefoil" share $text $1.csv --key $1.key "${@:2}"; }
run() { "$trefoil" run $text --key office.key --out result "$@"; }

for name in north east west; do start $name; done
share clinic
share ward
stop west
! share late --retries 0 # two of three servers have it
stop north east
moment uploaded

for name in north east west; do start $name; done
run --rounds 1
stop north east west
moment stopped # between two rounds, as the analyst said

# killed when it has the answer of round 2 and keeps it
for name in north east west; do start $name; done
! LD_PRELOAD=$shim FAULT=kill-write:1 FAULT_UNDER=$PWD/result/loop.state run
stop north east west
moment killed

# a server is killed once round 3 is paid for, before it notes what it opens
start north LD_PRELOAD=$shim FAULT=kill-write:1 FAULT_UNDER=$PWD/north/audit.log
for name in east west; do start $name; done
! run --wait 0
stop east west
moment bound

for name in north east west; do start $name; done
run
stop north east west
moment finished
"$trefoil" backup finished/north finished/north.backup
rm -rf north east west result

text=copula.yaml
for name in north east west; do start $name; done
share clinic
share ward
# killed when it has the second of its answers and keeps it
! LD_PRELOAD=$shim FAULT=kill-write:2 FAULT_UNDER=$PWD/result/loop.state run
stop north east west
moment begun
for name in north east west; do start $name; done
run
stop north east west
moment drawn

rm -rf north east west result */*/store.sqlite-* {finished,drawn}/*/store.sqlite
cd ..
tar --sort=name --owner=0 --group=0 --numeric-owner -cf - made | xz -9e >"$here/made.tar.xz"
ls -l "$here"/made.tar.xz
