#!/usr/bin/env bash
# A study whose server north and owner a are arm64 programs, under qemu-user, and all others this machine's: shares,
# proofs (security: abort), results and audit logs fit together. Writes TAP. tests/arm64.sh builds the program.
#
#   tests/arm64_study.sh [PROGRAM OF THIS MACHINE]
set -u
cd "$(dirname "$0")/.." || exit 1
TREFOIL=${1:-build/gcc/trefoil}
foreign=build/aarch64-linux-gnu-gcc/trefoil

[ "$(uname -m)" != aarch64 ] || { echo "1..0 # SKIP this is arm64"; exit 0; }
ONLY=-none- tests/arm64.sh >build/arm64-build.log 2>&1 || { tail -n 20 build/arm64-build.log; exit 1; }
grep -q '# SKIP' build/arm64-build.log && { grep -m 1 '# SKIP' build/arm64-build.log; exit 0; }
. tests/scripts/support.sh

root=$PWD/build/arm64/root
arm=(qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu/openblas-pthread -E OPENBLAS_NUM_THREADS=1 "$foreign")
"${arm[@]}" --version >"$folder/said" 2>&1 && grep -q neon "$folder/said"
result $? "the arm64 program runs, with its own kernel"

for name in north east west a b office; do
    "$trefoil" keygen "$folder/$name.key" --name $name >"$folder/$name.public" 2>/dev/null
    echo age,sex,ward >"$folder/$name.csv"
    awk -v name="$name" 'BEGIN { srand(length(name) + (name == "b")); for (i = 0; i < 300; i++)
        printf "%d,%s,%s\n", 20 * rand(), rand() < 0.4 ? "f" : "m", rand() < 0.5 ? "Süd" : "Nord" }' >>"$folder/$name.csv"
done
key() { sed -n 's/.*key: *//p' "$folder/$1.public"; }
cat >"$folder/study.yaml" <<END
study: processors
domain:
  - {name: age, kind: integer, min: 0, max: 19}
  - {name: sex, kind: categorical, values: [m, f]}
  - {name: ward, kind: categorical, values: [Nord, Süd]}
workload: {all: 2}
rounds: 2
security: abort
budget: {epsilon: 5, delta: 1e-6}
deadlines: {connect: 600, round: 1200}
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:$port", key: $(key north)}
  - {name: east, endpoint: "tcp://127.0.0.1:$((port + 5))", key: $(key east)}
  - {name: west, endpoint: "tcp://127.0.0.1:$((port + 10))", key: $(key west)}
owners:
  - {name: a, key: $(key a), max_rows: 1000}
  - {name: b, key: $(key b), max_rows: 1000, as: records}
analysts:
  - {name: office, key: $(key office)}
END
pids=()
serve() { # name program...
    "${@:2}" serve "$folder/study.yaml" --key "$folder/$1.key" --folder "$folder/s-$1" --listen 127.0.0.1 \
        --noise-ahead off --lanes 1 2>"$folder/$1.log" &
    pids+=($!)
}
serve north "${arm[@]}"
serve east "$trefoil"
serve west "$trefoil"
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT
for _ in $(seq "$(patience 600)"); do
    [ "$(cat "$folder"/{north,east,west}.log | grep -c 'is ready')" -eq 3 ] && break
    sleep 0.1
done
step() { # words command...
    "${@:2}" >"$folder/said" 2>&1
    local status=$?
    [ $status -eq 0 ] || sed 's/^/# /' "$folder/said"
    result $status "$1"
}
step "an arm64 owner shares" "${arm[@]}" share "$folder/study.yaml" "$folder/a.csv" --key "$folder/a.key"
step "so does one of this machine" "$trefoil" share "$folder/study.yaml" "$folder/b.csv" --key "$folder/b.key"
"$trefoil" share "$folder/study.yaml" "$folder/a.csv" --key "$folder/a.key" --dry-run 2>/dev/null | grep '^ *upload:' >"$folder/one"
"${arm[@]}" share "$folder/study.yaml" "$folder/a.csv" --key "$folder/a.key" --dry-run 2>/dev/null | grep '^ *upload:' >"$folder/two"
[ -s "$folder/one" ] && cmp "$folder/one" "$folder/two"
result $? "both make the same upload of it"
step "three servers on two kinds of processor run the study, with proofs" \
    "$trefoil" run "$folder/study.yaml" --key "$folder/office.key" --out "$folder/result"
step "their audit logs fit together" \
    "$trefoil" audit "$folder"/s-{north,east,west}/audit.log --study "$folder/study.yaml"
question='SELECT sex, COUNT(*) FROM t GROUP BY sex'
"$trefoil" query "$folder/result" "$question" >"$folder/one" 2>/dev/null
"${arm[@]}" query "$folder/result" "$question" >"$folder/two" 2>/dev/null
[ -s "$folder/one" ] && cmp "$folder/one" "$folder/two"
result $? "both answer alike from its model"
end_test
