#!/usr/bin/env bash
# Makes made.tar.xz, what a trefoil of the tree at 5998601 (0.1.0) leaves behind: keys, a study, three servers'
# folders at five moments, and results. Other keys and noise each time; everything else is the same.
#
#   git worktree add --detach OLD 5998601
#   make -C OLD build/gcc/trefoil build/gcc/tests/preload_fault.so
#   tests/data/5998601/make.sh OLD
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
cat >study.yaml <<END
study: upgraded
domain:
  - {name: age, kind: integer, min: 0, max: 7}
  - {name: sex, kind: categorical, values: [f, m], missing: "?"}
  - {name: stay, kind: numeric, edges: [0, 1, 3, 7, 30]}
workload: {all: 2}
budget: {epsilon: 10, delta: 1e-6}
rounds: 3
min_owners: 2
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:17100", key: $(public north)}
  - {name: east, endpoint: "tcp://127.0.0.1:17105", key: $(public east)}
  - {name: west, endpoint: "tcp://127.0.0.1:17110", key: $(public west)}
owners:
  - {name: clinic, key: $(public clinic), max_rows: 60, as: answers}
  - {name: ward, key: $(public ward), max_rows: 60, as: records}
  - {name: late, key: $(public late), max_rows: 60, as: answers}
analysts:
  - {name: office, key: $(public office)}
END
for name in clinic ward late; do
    awk -v n=$([ $name = ward ] && echo 30 || echo 50) 'BEGIN {
        print "age,sex,stay"
        for (i = 0; i < n; i++)
            print i % 8 "," (i % 3 == 0 ? "f" : i % 7 == 0 ? "?" : "m") "," i % 8 * 2 + i % 2
    }' >$name.csv
done

start() { "$trefoil" serve study.yaml --key $1.key --folder $1 --listen 127.0.0.1 2>>../log & pid[$1]=$!; }
stop() { kill ${pid[$1]}; wait ${pid[$1]}; }
declare -A pid
moment() { # the servers' folders and the run's, as they are at rest
    mkdir "$1"
    cp -a north east west "$1"
    [ ! -d result ] || cp -a result "$1"
    rm -f "$1"/*/lock "$1"/*/*.lock "$1"/*/loop.state.* "$1"/*/report.html
}
share() { "$trefoil" share study.yaml $1.csv --key $1.key "${@:2}"; }

for name in north east west; do start $name; done
share clinic
share ward
stop west
! share late --retries 0 # two of three servers have it
stop north
stop east
moment uploaded

for name in north east west; do start $name; done
"$trefoil" run study.yaml --key office.key --out result --rounds 1
for name in north east west; do stop $name; done
moment stopped # between two rounds, as the analyst said

for name in north east west; do start $name; done
# killed when it has the answer of round 2 and keeps it
! LD_PRELOAD=$shim FAULT=kill-write:1 FAULT_UNDER=$PWD/result/loop.state \
    "$trefoil" run study.yaml --key office.key --out result
for name in north east west; do stop $name; done
moment killed

for name in north east west; do start $name; done
"$trefoil" run study.yaml --key office.key --out result
for name in north east west; do stop $name; done
moment finished
"$trefoil" backup finished/north finished/north.backup

rm -rf north east west result log */*/store.sqlite-* finished/*/store.sqlite
cd ..
tar --sort=name --owner=0 --group=0 --numeric-owner -cf - made | xz -9e >"$here/made.tar.xz"
ls -l "$here"/made.tar.xz
