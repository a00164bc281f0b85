#!/usr/bin/env bash
# What one may do with a study without servers: plan it, try it on rows in the clear, draw and compare rows. Here
# stand the forms of it that no other suite takes. Writes TAP.
set -u
. tests/scripts/support.sh
export TREFOIL=$trefoil
tests/scripts/support_results.sh "$folder" || { echo "not ok 1 - no results to begin with"; exit 1; }
cd "$folder" || exit 1

# tells WORDS PATTERN ... COMMAND ...: the command after -- ends well, and a line of what it says matches each pattern.
tells() {
    local words=$1 patterns=() status=0 pattern
    shift
    while [ "$1" != -- ]; do patterns+=("$1") && shift; done
    shift
    timeout "$(patience 60)" "$trefoil" "$@" >said 2>&1 </dev/null || status=$?
    for pattern in "${patterns[@]}"; do
        grep -qE -- "$pattern" said || { status=1 && echo "# not said: $pattern"; }
    done
    [ $status -eq 0 ] || sed 's/^/# /' said
    result $status "$words"
}

# refuses CODE WORDS FILE COMMAND ...: it ends so, says the words, and makes no such file.
refuses() {
    local code=$1 words=$2 file=$3 status
    shift 3
    timeout "$(patience 60)" "$trefoil" "$@" >said 2>&1 </dev/null
    status=$?
    [ $status -eq "$code" ] && grep -qF -- "$words" said && [ ! -e "$file" ]
    result $? "$code and no $file: $words"
    [ $status -eq "$code" ] || sed "s/^/# $status: /" said
}

# --- rows of a copula that meet a condition

condition="age >= 15 AND sex = 'f' OR ward = 'lung'"
"$trefoil" query copula "SELECT COUNT(*) FROM t WHERE $condition" --csv --quick 2>/dev/null | tail -n 1 | cut -d , -f 1 >expected
tells "a copula draws rows that meet a condition, as many as it has" '^wrote [0-9]+ rows' \
    -- synth copula --where "$condition" --out where.csv
awk -F , -v expected="$(cat expected)" '
    NR > 1 && !($1 >= 15 && $2 == "f" || $3 == "lung") { wrong++ }
    NR > 1 { f += $2 == "f"; m += $2 == "m" }
    END {
        print "# " NR - 1 " rows, expected " expected ", wrong " wrong + 0 ", f " f ", m " m
        exit wrong > 0 || NR - 1 < expected - 4 || NR - 1 > expected + 4 || f < 100 || m < 5
    }' where.csv
result $? "and every one meets it"
tells "so many as are asked for" '^wrote 2500 rows' -- synth copula --where "$condition" --rows 2500 --out where.csv
refuses 2 'has 0 rows for which the condition holds' none.csv \
    synth copula --where "age >= 15 AND age < 15" --out none.csv

# --- owners whose rows are linked, in the clear

awk -v people=3000 'BEGIN {
    srand(3)
    print "patient,age,smoker" >"left.csv"
    print "patient,iron" >"right.csv"
    print "patient,age,smoker,iron" >"whole.csv"
    for (i = 0; i < people; i++) {
        age = int(60 * rand()) + 20; smoker = rand() < 0.3 ? "yes" : "no"
        iron = int(20 * rand() * (smoker == "yes" ? 0.3 : 1))
        if (i % 3 == 0) { print "w" i "," age "," smoker "," iron >"whole.csv"; continue }
        print "L " i "," age "," smoker >"left.csv"
        if (i % 3 == 1) print "l" i "," iron >"right.csv"
    }
    print "l1,7" >"right.csv" # of somebody who is there already
}'
for name in right whole; do "$trefoil" keygen $name.key 2>/dev/null | head -n 1 >$name.public; done
linked() { # min_linked
    cat <<X
study: linked
domain:
  - {name: age, kind: integer, min: 20, max: 79, bins: 6}
  - {name: smoker, kind: categorical, values: ["no", "yes"]}
  - {name: iron, kind: integer, min: 0, max: 19, bins: 5}
workload: {all: 2}
rounds: 2
budget: {epsilon: 4, delta: 1e-6, rows_per_person: 2}
person: {columns: [patient], normalise: [case, spaces]}
link: {min_linked: $1}
$(sed -n '/^servers:/,/^owners:/p' tree.yaml)
  - {name: left, key: $(head -n 1 owner.public), max_rows: 2500, batch: both, columns: [age, smoker]}
  - {name: right, key: $(cat right.public), max_rows: 2500, batch: both, columns: [iron]}
  - {name: whole, key: $(cat whole.public), max_rows: 2500}
$(sed -n '/^analysts:/,$p' tree.yaml | sed '/^rounds/d; /^workload/d')
X
}
linked 500 >linked.yaml
tells "central AIM links the files of owners" 'linked: about (9|10)[0-9]{2} rows' 'beyond the first of their person .*: 1$' 'wrote measurements.json' \
    -- aim linked.yaml left.csv right.csv whole.csv --out linked
awk -F , 'NR > 1 { n++; split($0, x, ","); if (x[2] == "yes") { yes++; low += x[3] < 8 } }
    END { print "# " n " rows, " yes " smokers, " low " with little iron"
          exit n < 1800 || n > 2200 || low < 0.8 * yes || yes < 300 }' linked/synthetic.csv
result $? "its rows are those that are at both owners and the third's, and their columns belong together"
linked 1500 >few.yaml
refuses 6 'at least 1500 linked rows' few/model aim few.yaml left.csv right.csv whole.csv --out few
refuses 2 'a CSV file for each of them, 3 in all' few/model aim linked.yaml left.csv whole.csv --out few

# --- persons and their events

awk 'BEGIN {
    srand(9)
    print "patient,sex" >"persons.csv"
    print "patient,day,place" >"visits.csv"
    split("near far", place, " ")
    for (i = 0; i < 2000; i++) {
        print i "," (i % 2 ? "f" : "m") >"persons.csv"
        for (k = 0; k < i % 4; k++)
            print i ",2024-0" 1 + 2 * k "-11," place[i % 2 + 1] >"visits.csv"
    }
}'
{
    cat <<'X'
study: visits
domain:
  - {name: sex, kind: categorical, values: [f, m]}
  - {name: visits, kind: integer, min: 0, max: 5}
  - {name: day, kind: date, from: 2024-01-01, to: 2024-12-31, bins: quarter}
  - {name: gap, kind: integer, edges: [0, 30, 90, 366]}
  - {name: place, kind: categorical, values: [near, far]}
events: {name: visits, by: patient, number: visits, when: day, gap: gap, columns: [place], previous: [place]}
workload: {all: 2}
rounds: 4
budget: {epsilon: 8, delta: 1e-6}
X
    sed -n '/^servers:/,$p' tree.yaml | sed '/^rounds/d; /^workload/d'
} >visits.yaml
tells "a study of persons with events, in the clear" 'persons.csv, visits.csv to visits' \
    -- aim visits.yaml persons.csv --events visits.csv --out visits
"$trefoil" eval visits.yaml persons.csv visits --events visits.csv --json 2>said >figures.json &&
    grep -q '"persons": 2000,' figures.json && grep -q '"order"' figures.json
result $? "eval compares both tables, as JSON"
if command -v python3 >/dev/null; then
    python3 - <<'P'
import json
x = json.load(open("figures.json"))
print("#", x)
assert abs(x["synthetic_persons"] - 2000) < 200
assert x["synthetic"]["inter"] < 0.3 < x["dealt"]["inter"]  # sex and place are one; dealt they are not
P
    result $? "whose figures say that columns of persons and events belong together"
else
    skip "whose figures say that columns of persons and events belong together" "there is no python3"
fi

# --- a classifier whose rows have a norm

{
    cat <<'X'
study: norm
domain:
  - {name: age, kind: integer, min: 0, max: 15}
  - {name: weeks, kind: integer, min: 0, max: 15}
  - {name: sex, kind: categorical, values: [m, f]}
method: train
train: {target: sex, numbers: all, norm: 12, steps: 20}
budget: {epsilon: 8, delta: 1e-6}
X
    sed -n '/^servers:/,/^method/p' classifier.yaml | sed '$d'
} >norm.yaml
awk 'BEGIN { srand(4); print "age,weeks,sex"; for (i = 0; i < 1600; i++) print i % 16 "," int(i / 16) % 16 "," (rand() < 0.5 ? "m" : "f") }' >norm.csv
long=$(awk -F , 'NR > 1 && $1 * $1 + $2 * $2 > 144 { n++ } END { print n }' norm.csv)
tells "rows that are longer than the norm are shrunk, and it is said" "longer than norm, and were shrunk: $long\$" \
    -- train norm.yaml norm.csv --out norm

# --- dates, and columns that are computed

tells "a group without a label is NULL, and an extreme approximate" '^NULL +2026 +~2026-01-0' '~ is approximate' \
    -- query dates "SELECT title, year, MIN(seen), COUNT(*) FROM t GROUP BY title, year"
{ cat dates.yaml && printf 'impossible:\n  - {born: {from: 2001-01-01, to: 2003-01-01}, sex: f}\n'; } >never.yaml
sed 's/from: 2001-01-01, to: 2003/from: soon, to: 2003/' never.yaml >soon.yaml
refuses 3 'is "soon"; write a date such as 2000-01-01' none check soon.yaml
tells "what is impossible of dates" 'sex x born: 2 of 42 combinations' -- check never.yaml

head -n 1 rows.csv >empty.csv
refuses 6 'has no row with a class, to check' none predict classifier empty.csv --check

# --- plan

tells "plan of a classifier at a budget of its own" '^      0.5 .*' 'the last line is the study.s own' \
    -- plan <(sed 's/epsilon: 20/epsilon: 0.5/' classifier.yaml)
tells "plan of a copula at a budget that is hardly any" 'the last line is the study.s own' \
    -- plan <(sed 's/epsilon: 20/epsilon: 3/' copula.yaml)
tells "plan says what is reserved for an assessment" 'assessment: 0.05 of the budget shows .* all 6' \
    -- plan <(cat tree.yaml && echo 'assess: 0.05')
{ sed 's/^workload: .*/workload: {all: 3}/' tree.yaml && printf 'security: abort\nmin_owners: 1\n' &&
    echo "open_owners: {issuer: $(cat right.public), max: 1000, revoked: [3, 4]}"; } >open.yaml
tells "plan counts the uploads of owners that are not listed" ' 12 bytes each, as records, of at most 1000' \
    'servers 1 and 2 keep 13.1 kB' -- plan open.yaml
tells "and so does check" 'upload at most 13.1 kB in all' 'up to 1000 others' '2 tokens are revoked' -- check open.yaml
tells "plan --simulate of a classifier compares no rows" 'makes no rows that could be compared' \
    -- plan classifier.yaml --simulate
cd "$OLDPWD" || exit 1
end_test
