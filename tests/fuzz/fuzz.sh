#!/usr/bin/env bash
# Usage: tests/fuzz/fuzz.sh NAME SECONDS OUT      such as fuzz_study 60 build/gcc
#
# Fuzzes with build/fuzz/NAME for so long, starting from the seeds that OUT/tests/NAME writes and from
# tests/corpus. What it finds on the way is kept in build/fuzz/corpus. A crash is a failure: it is kept
# beside the program, and its input printed.
set -u
[ $# -eq 3 ] || { echo "usage: $0 NAME SECONDS OUT" >&2; exit 2; }
target=build/fuzz/$1 replay=$3/tests/$1 seconds=$2
name=${1#fuzz_}
seeds=tests/corpus/$name
work=build/fuzz/corpus/$name
log=build/fuzz/$name.log
[ -x "$target" ] && [ -x "$replay" ] || { echo "$target is not there; try: make fuzz" >&2; exit 2; }
mkdir -p "$work"
[ -d "$seeds" ] || seeds=
"$replay" --seeds "$work"

# -timeout is by the clock, and other programs may have the processors: an input takes far less than a second of one
# shellcheck disable=SC2086
"$target" -max_total_time="$seconds" -timeout=120 -rss_limit_mb=2048 -max_len=16384 \
    -artifact_prefix="build/fuzz/crash-$name-" -print_final_stats=1 \
    "$work" $seeds >"$log" 2>&1
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
