#!/usr/bin/env bash
# Small results for tests of what reads them: FOLDER/tree, which has intervals, FOLDER/copula, FOLDER/classifier, and
# FOLDER/dates, with a column of days and one of minutes, and FOLDER/wide, of numbers beyond 32 bits and days
# in a format.
#
#   tests/scripts/support_results.sh FOLDER
set -eu
folder=$1
trefoil=${TREFOIL:-build/gcc/trefoil}

awk 'BEGIN {
    srand(7)
    split("surgery cardiology lung", ward, " ")
    print "age,sex,ward,bmi,born,seen,number,day"
    for (i = 0; i < 1500; i++) {
        age = int(20 * rand()); sex = rand() < 0.4 ? "f" : "m"
        w = 1 + int(3 * rand() * (sex == "f" ? 1 : 0.7))
        bmi = rand() < 0.05 ? "" : sprintf("%.1f", 14 + age + 20 * rand())
        printf "%d,%s,%s,%s,%s,%s,%.0f,%s\n", age, sex, rand() < 0.1 ? "?" : ward[w], bmi, \
            i % 20 == 0 ? "" : sprintf("20%02d-%02d-%02d", age, 1 + i % 12, 1 + i % 28), \
            sprintf("2026-01-%02d %02d:%02d", 1 + i % 31, i % 24, i % 60), 5000000000 + i % 4, \
            sprintf("%02d.%02d.20%02d", 1 + i % 28, 1 + i % 12, i % 20)
    }
}' >"$folder/rows.csv"
for name in north east west owner office; do
    "$trefoil" keygen "$folder/$name.key" 2>/dev/null | head -n 1 >"$folder/$name.public"
done
columns='  - {name: age, kind: integer, min: 0, max: 19}
  - {name: sex, kind: categorical, values: [m, f]}
  - {name: ward, kind: categorical, values: [surgery, cardiology, lung], missing: "?"}
  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60], step: 0.1, missing: ""}'
study() { # more lines...
    cat <<X
study: results
domain:
$columns
budget: {epsilon: 20, delta: 1e-6}
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:7100", key: $(cat "$folder/north.public")}
  - {name: east, endpoint: "tcp://127.0.0.1:7110", key: $(cat "$folder/east.public")}
  - {name: west, endpoint: "tcp://127.0.0.1:7120", key: $(cat "$folder/west.public")}
owners:
  - {name: owner, key: $(cat "$folder/owner.public"), max_rows: 2000}
analysts:
  - {name: office, key: $(cat "$folder/office.public")}
X
    printf '%s\n' "$@"
}
study 'workload: {all: 2}' 'rounds: 5' >"$folder/tree.yaml"
study 'method: copula' >"$folder/copula.yaml"
study 'method: train' 'train: {target: sex, steps: 20}' >"$folder/classifier.yaml"
"$trefoil" train "$folder/classifier.yaml" "$folder/rows.csv" --out "$folder/classifier" >"$folder/classifier.log" 2>&1 ||
    { cat "$folder/classifier.log" >&2; exit 1; }
columns='  - {name: sex, kind: categorical, values: [m, f]}
  - {name: born, kind: date, from: 2000-01-01, to: 2019-12-31, bins: year, missing: ""}
  - {name: seen, kind: date, unit: minute, from: 2026-01-01, to: 2026-01-31, bins: week}'
printf 'sex,title\nm,Mr\n' >"$folder/titles.csv"
study 'workload: {all: 2}' 'rounds: 3' 'computed:' '  - {name: later, as: born + 30}' '  - {name: year, as: year(seen)}' \
    '  - {name: title, as: "lookup(sex, \"titles.csv\", title)"}' >"$folder/dates.yaml"
columns='  - {name: number, kind: integer, min: 5000000000, max: 5000000003}
  - {name: day, kind: date, format: "%d.%m.%Y", from: 2000-01-01, to: 2019-12-31, bins: year}'
study 'workload: {all: 2}' 'rounds: 1' >"$folder/wide.yaml"
for kind in tree copula dates wide; do
    "$trefoil" aim "$folder/$kind.yaml" "$folder/rows.csv" --out "$folder/$kind" --seed 7 \
        >"$folder/$kind.log" 2>&1 ||
        { cat "$folder/$kind.log" >&2; exit 1; }
done
