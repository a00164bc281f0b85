#!/usr/bin/env bash
# The static programs of tools/small.sh, for x86-64 and, under qemu, arm64: their parcels are the uploads that trefoil
# makes, servers take them, and their answers are trefoil's. Writes TAP.
set -u
. tests/scripts/support.sh

if [ ! -x build/small/trefoil-small-x86-64 ] && [ ! -x build/small/trefoil-small-arm64 ]; then
    skip "the static programs" "make static was not run"
    end_test
fi
for name in north east west x86-64 arm64 office; do
    "$trefoil" keygen "$folder/$name.key" --name $name >"$folder/$name.public" 2>/dev/null
done
key() { sed -n 's/.*key: *//p' "$folder/$1.public"; }
{
    echo age,sex,ward
    awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) printf "%d,%s,%s\n", 20 * rand(), rand() < 0.4 ? "f" : "m", rand() < 0.5 ? "Süd" : "Nord" }'
} >"$folder/table.csv"
study() { # lines of sealing keys, of three servers
    cat <<END
study: small
domain:
  - {name: age, kind: integer, min: 0, max: 19}
  - {name: sex, kind: categorical, values: [m, f]}
  - {name: ward, kind: categorical, values: [Nord, Süd]}
workload: {all: 2}
rounds: 2
budget: {epsilon: 5, delta: 1e-6}
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:$port", key: $(key north)${1:+, $1}}
  - {name: east, endpoint: "tcp://127.0.0.1:$((port + 5))", key: $(key east)${2:+, $2}}
  - {name: west, endpoint: "tcp://127.0.0.1:$((port + 10))", key: $(key west)${3:+, $3}}
owners:
  - {name: x86-64, key: $(key x86-64), max_rows: 1000}
  - {name: arm64, key: $(key arm64), max_rows: 1000, as: records}
analysts:
  - {name: office, key: $(key office)}
END
}
study "" "" "" >"$folder/study.yaml"
seal() { "$trefoil" keygen "$folder/$1.seal" --sealing "$folder/$1.key" "$folder/study.yaml" 2>/dev/null | sed 's/^ *//'; }
lines=("$(seal north)" "$(seal east)" "$(seal west)")
study "${lines[@]}" >"$folder/study.yaml"

upload_of() { # program...
    "$@" share "$folder/study.yaml" "$folder/table.csv" --key "$folder/$target.key" --dry-run 2>/dev/null | grep -E '^ *upload:'
}

"$trefoil" aim "$folder/study.yaml" "$folder/table.csv" --out "$folder/result" --seed 7 >"$folder/said" 2>&1 ||
    { sed 's/^/# /' "$folder/said"; result 1 "a result is made"; end_test; }
pids=()
for name in north east west; do
    "$trefoil" serve "$folder/study.yaml" --key "$folder/$name.key" --folder "$folder/s-$name" --listen 127.0.0.1 \
        --sealing "$folder/$name.seal" --noise-ahead off --lanes 1 2>"$folder/$name.log" &
    pids+=($!)
done
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT
for _ in $(seq "$(patience 100)"); do
    [ "$(cat "$folder"/{north,east,west}.log | grep -c 'is ready')" -eq 3 ] && break
    sleep 0.1
done

for target in x86-64 arm64; do
    small=("build/small/trefoil-small-$target")
    if [ ! -x "${small[0]}" ]; then
        skip "the static program for $target" "tools/small.sh $target was not run"
        continue
    fi
    if [ "$target" != "$(uname -m | tr _ - | sed s/aarch64/arm64/)" ]; then
        runs=qemu-aarch64
        [ $target = arm64 ] || runs=qemu-x86_64
        command -v $runs >/dev/null || { skip "the static program for $target" "no $runs: apt-get install qemu-user"; continue; }
        small=("$runs" "${small[0]}")
    fi
    ! head -c 4096 "${small[-1]}" | LC_ALL=C grep -aq 'ld-linux'
    result $? "$target: it needs no library"
    "${small[@]}" share "$folder/study.yaml" "$folder/table.csv" --key "$folder/$target.key" --to "$folder/$target.parcel" \
        >"$folder/said" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/# /' "$folder/said"
    result $status "$target: it seals a table"
    { upload_of "${small[@]}"; upload_of "$trefoil"; } >"$folder/uploads"
    [ "$(sort -u "$folder/uploads" | wc -l)" -eq 1 ] && [ "$(wc -l <"$folder/uploads")" -eq 2 ]
    result $? "$target: it is the upload that trefoil makes"
    "$trefoil" send "$folder/study.yaml" "$folder/$target.parcel" --retries 0 >"$folder/said" 2>&1 &&
        "${small[@]}" share "$folder/study.yaml" --key "$folder/$target.key" --keep "$folder/$target.parcel" \
            --receipt "$folder/$target.receipt" >"$folder/said" 2>&1 &&
        "$trefoil" check "$folder/study.yaml" --receipt "$folder/$target.receipt" >"$folder/said" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/# /' "$folder/said"
    result $status "$target: three servers take it, and it verifies their receipts"
    question='SELECT sex, COUNT(*) FROM t GROUP BY sex; SELECT AVG(age), MEDIAN(age) FROM t'
    "${small[@]}" query "$folder/result" "$question" >"$folder/theirs" 2>"$folder/said" &&
        "$trefoil" query "$folder/result" "$question" >"$folder/ours" && [ -s "$folder/ours" ] && cmp "$folder/theirs" "$folder/ours"
    result $? "$target: its answers are trefoil's"
done
end_test
