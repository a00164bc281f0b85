#!/usr/bin/env bash
# Runs every test program under OUT/tests and every tests/*.test.sh script, each with a time limit,
# and counts their TAP lines. The last line is "N passed, N failed"; the line before it counts skips.
set -u
out=$1
limit=${TEST_LIMIT:-300}
only=${ONLY:-}
jobs=${JOBS:-2}
passed=0 failed=0 skipped=0
reasons=()
failures=() names=()

export CMOCKA_MESSAGE_OUTPUT=TAP
export TREFOIL_OUT=$out
export OPENBLAS_NUM_THREADS=1
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp ${TSAN_OPTIONS:-}"

# One program to its end; what is counted of it goes to its .count, a line of numbers and the reasons of skips.
run() { # name command...
    local name=$1 log="$out/tests/$1.log" status begin seconds skips ok not_ok
    shift
    begin=$(date +%s.%N)
    timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
    status=$?
    seconds=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')
    # cmocka writes "not ok N # SKIP test"; a test says why before, as "# SKIP reason"
    local skip_line='^(not )?ok [0-9]+ .*# SKIP'
    skips=$(grep -cE "$skip_line" "$log")
    ok=$(grep -E '^ok ' "$log" | grep -cvE "$skip_line")
    not_ok=$(grep -E '^not ok ' "$log" | grep -cvE "$skip_line")
    # a program that dies or times out has failed, whatever it printed before
    if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
    fi
    if [ "$ok" -eq 0 ] && [ "$skips" -eq 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        echo "# no test ran" >>"$log"
    fi
    {
        echo "$ok $not_ok $skips"
        [ "$skips" -gt 0 ] && { grep '^# SKIP ' "$log" || grep -E "$skip_line" "$log"; }
    } >"$log.count"
    printf '%-28s %4d passed %3d failed %3d skipped %7s s\n' "$name" "$ok" "$not_ok" "$skips" "$seconds"
    if [ "$not_ok" -ne 0 ]; then
        printf -- '---- %s: exit status %d; the end of %s:\n%s\n----\n' "$name" "$status" "$log" \
            "$(tail -n 40 "$log")"
    fi
}

# As many at a time as JOBS says, two: most wait for disks and for each other.
begin() { # name command...
    [ -n "$only" ] && [[ $1 != *$only* ]] && return
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    names+=("$1")
    rm -f "$out/tests/$1.log.count"
    run "$@" &
}

count() { # name
    local ok not_ok skips line
    [ -s "$out/tests/$1.log.count" ] || echo "0 1 0" >"$out/tests/$1.log.count"
    {
        read -r ok not_ok skips
        while read -r line; do
            reasons+=("$1: ${line#*# SKIP }")
        done
    } <"$out/tests/$1.log.count"
    passed=$((passed + ok)) failed=$((failed + not_ok)) skipped=$((skipped + skips))
    [ "$not_ok" -eq 0 ] || failures+=("$1")
}

# Scripts come first, since one of them takes as long as a third of the rest.
for t in tests/*.test.sh; do
    [ -f "$t" ] && begin "$(basename "$t" .test.sh)" bash "$t"
done
for t in "$out"/tests/test_*; do
    if [ -f "$t" ] && [ -x "$t" ] && [ -f "tests/$(basename "$t").c" ]; then
        begin "$(basename "$t")" "$t"
    fi
done
for t in "$out"/tests/fuzz_*; do
    if [ -f "$t" ] && [ -x "$t" ] && [ -f "tests/$(basename "$t").c" ]; then
        begin "$(basename "$t")" "$t" "tests/corpus/$(basename "${t#*fuzz_}")"
    fi
done

wait
for name in "${names[@]}"; do
    count "$name"
done
[ ${#failures[@]} -gt 0 ] && echo "failed: ${failures[*]}"
if [ "$skipped" -gt 0 ]; then
    printf '%d skipped:' "$skipped"
    printf ' [%s]' "${reasons[@]}"
    echo
else
    echo "0 skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
