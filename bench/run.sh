#!/usr/bin/env bash
# Runs every bench program under OUT/bench, one after the other: its table on the terminal, its JSON
# in build/bench/NAME.json (engine.json for bench_engine, and so on). Each has BENCH_LIMIT seconds
# (1800). Ends with status 1 if one failed.
#
#   bench/run.sh OUT        ONLY=engine bench/run.sh OUT   one of them
#
# bench_flaim and bench_scale run short forms, or, if ONLY names one, all of it; for bench_flaim,
# FLAIM gives the options (none: all).
set -u
out=${1:?usage: bench/run.sh OUT, such as build/gcc}
limit=${BENCH_LIMIT:-1800}
only=${ONLY:-}
failed=()

export OPENBLAS_NUM_THREADS=1 OUT=$out TREFOIL=${TREFOIL:-$out/trefoil}
names=$(cd bench && printf '%s ' bench_*.c | sed 's/bench_//g; s/\.c//g')
if [ -n "$only" ] && [[ " $names" != *" $only "* ]]; then
    echo "bench/run.sh: there is no bench/bench_$only.c; those there are: $names" >&2
    exit 2
fi
mkdir -p build/bench
for program in "$out"/bench/bench_*; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    [ -f "bench/$(basename "$program").c" ] || continue
    name=$(basename "$program")
    name=${name#bench_}
    [ -n "$only" ] && [ "$name" != "$only" ] && continue
    echo "==== $name"
    options=()
    if [ "$name" = flaim ] && [ -n "$only" ]; then
        read -ra options <<<"${FLAIM:-}"
    elif [ "$name" = flaim ]; then
        options=(--quick)
    elif [ "$name" = scale ] && [ -z "$only" ]; then
        options=(--owners 10000)
    fi
    timeout -k 10 "$limit" "$program" --json "build/bench/$name.json.new" "${options[@]}"
    status=$?
    if [ "$status" -eq 0 ]; then
        mv "build/bench/$name.json.new" "build/bench/$name.json"
        echo "(build/bench/$name.json)"
    else
        failed+=("$name")
        echo "bench/run.sh: $name ended with status $status" >&2
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
