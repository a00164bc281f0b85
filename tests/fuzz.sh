#!/usr/bin/env bash
# Usage: tests/fuzz.sh TARGET SECONDS
#
# Fuzzes one libFuzzer program (build/fuzz/fuzz_study, say) for so long, starting from the seeds in
# tests/corpus/<name>. What it finds on the way is kept in build/fuzz/corpus/<name>; a crash is kept
# beside the program, its input printed, and is a failure.
set -u
[ $# -eq 2 ] || { echo "usage: $0 TARGET SECONDS" >&2; exit 2; }
target=$1 seconds=$2
name=$(basename "$target")
name=${name#fuzz_}
seeds=tests/corpus/$name
work=$(dirname "$target")/corpus/$name
log=$(dirname "$target")/$name.log
[ -x "$target" ] || { echo "$target is not there; build it with: make fuzzers" >&2; exit 2; }
mkdir -p "$work" "$seeds"

"$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -artifact_prefix="$(dirname "$target")/crash-$name-" -print_final_stats=1 \
    "$work" "$seeds" >"$log" 2>&1
status=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
# undefined behaviour is only reported by default
if grep -q 'runtime error:' "$log"; then
    grep 'runtime error:' "$log" | sort | uniq -c
    [ "$status" -ne 0 ] || status=1
fi
if [ "$status" -ne 0 ]; then
    tail -n 40 "$log"
    echo "fuzz $name: FAILED (status $status) after ${runs:-?} runs; log $log"
    exit 1
fi
echo "fuzz $name: ${runs:-?} runs in $seconds s, $(find "$work" -type f | wc -l) inputs kept, no crash"
