#!/usr/bin/env bash
# The pages of docs/examples, command by command as written there; then what they promise. Writes TAP.
set -u
. tests/scripts/support.sh

# a build with unixODBC, and SQLite's driver
ldd "$trefoil" | grep -q libodbc && odbcinst -q -d -n SQLite3 >/dev/null 2>&1 && export HAVE="sqlite-odbc"
# Python cannot load a sanitizer or gcov
[[ ${TREFOIL_OUT:-build/gcc} != *-* ]] || export LACK=python3

example() { # NAME: its commands run
    page "docs/examples/$1/README.md" "$1" "the commands of $1 run, one after another"
}

says() { # WORDS: the last example did
    grep -qF -- "$1" "$folder/output"
    result $? "they say: $1"
}

# For what a page computes with Python: whether it did; else the result is skipped.
by_python() { # WORDS
    [ -z "${LACK:-}" ] || { skip "$1" "Python cannot load a sanitizer"; return 1; }
    command -v python3 >/dev/null || { skip "$1" "there is no python3"; return 1; }
}

rows() { # FILE LEAST MOST
    local n
    n=$(($(wc -l <"$folder/$1") - 1))
    [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
    result $? "$1 has from $2 to $3 rows: $n"
}

example hospitals
says 'rows are at all owners of their batch'
says 'the three logs fit together'
rows hospitals/result/synthetic.csv 4000 4400 # 1200 that both have, and 3000
example banks
says 'security: abort'
says 'for tables of columns expected to be better: copula'
rows banks/more.csv 20000 20000
example loans
says 'security: abort'
says 'test: about '
accuracy=$(sed -n 's/^right about .* accuracy //p' "$folder/output")
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a > 0.72) }'
result $? "the classifier is right about most loans that were kept back: $accuracy"
[ "$(wc -l <"$folder/loans/predicted.csv")" -eq 2 ] && grep -q '^900,15000,2,none,yes,' "$folder/loans/predicted.csv"
result $? "a risky loan is predicted to be one"
example census
says '12 new tokens, 12 in admitted.txt'
says 'server 2: 12, and 0 in part'
rows census/result/synthetic.csv 7600 8400
example stays
says 'town x region: '
says 'admitted: from 1 January 2023 to 31 December 2023'
if by_python 'no contradictions, and a mean stay near the 4.54 days of the rows'; then
    says '0 contradictions in '
    stay=$(sed -n 's/.*; a mean stay of \(.*\) days$/\1/p' "$folder/output")
    awk -v a="${stay:-0}" 'BEGIN { exit !(a >= 4.3 && a <= 4.8) }'
    result $? "the mean stay is near the 4.54 days of the rows: $stay"
fi
rows stays/result/synthetic.csv 19000 21000

# A PostgreSQL of our own for the next page: it does not run as root.
unprivileged() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid nobody --regid nogroup --clear-groups -- "$@"; else "$@"; fi; }
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if ldd "$trefoil" | grep -q libodbc && odbcinst -q -d -n 'PostgreSQL Unicode' >/dev/null 2>&1 && [ -n "$postgres" ]; then
    export PGHOST PGDATABASE=postgres PGUSER=trefoil
    PGHOST=$(mktemp -d) && [ "$(id -u)" -ne 0 ] || chown nobody "$PGHOST"
    trap 'unprivileged "$postgres/pg_ctl" -D "$PGHOST/data" -m immediate stop >/dev/null 2>&1; rm -rf "$folder" "$PGHOST"' EXIT
    unprivileged "$postgres/initdb" -D "$PGHOST/data" -U "$PGUSER" -A trust -E UTF8 -N --locale=C >/dev/null 2>&1 &&
        unprivileged "$postgres/pg_ctl" -D "$PGHOST/data" -w -l "$PGHOST/log" \
            -o "-k $PGHOST -c listen_addresses= -c fsync=off" start >/dev/null 2>&1 && HAVE="${HAVE:-} postgresql"
fi
example visits
[[ " $HAVE " != *" postgresql "* ]] || says 'the query of visits: '
says 'adding or removing one person with all events'
says 'stage x previous.department: 14 of 25 combinations'
says 'the event before x events               8 '
rows visits/result/persons.csv 20800 21200
"$trefoil" aim "$folder/visits/study.yaml" "$folder/visits/hill-patients.csv" --events "$folder/visits/hill-visits.csv" \
    --out "$folder/visits/central" --quick >/dev/null 2>&1
rows visits/central/persons.csv 6800 7200
if by_python 'visits in order, which follow each other as in reality'; then
    says ' 0 out of order'
    rows visits/more/persons.csv 50000 50000
    order=$(sed -n 's/^department after department: L1 //p' "$folder/output")
    many=$(sed -n 's/^numbers of visits: L1 //p' "$folder/output")
    awk -v a="${order:-1}" -v b="${many:-1}" 'BEGIN { exit !(a < 0.15 && b < 0.05) }'
    result $? "visits follow each other as in reality: $order, and are as many: $many"
fi
near=$(sed -n 's/^0\/24 *all one-ways *- *\([0-9.]*\) .*/\1/p' "$folder/output")
awk -v a="${near:-1}" 'BEGIN { exit !(a < 0.02) }'
result $? "single columns are fitted as well as noise permits: $near"
example provider
says 'The two together can read each owner'
says 'the two logs fit together'
rows provider/result/synthetic.csv 4300 4700
if [ -x "$(dirname "$trefoil")/trefoil-mpi" ]; then
    example ranks
    says 'rank 1 is on'
    rows ranks/result/synthetic.csv 14800 15200
else
    skip "the commands of ranks run" "no trefoil-mpi: install libopenmpi-dev and openmpi-bin"
fi
end_test
