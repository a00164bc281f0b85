#!/usr/bin/env bash
# Runs every test program under OUT/tests and every tests/scripts/*.test.sh script, each with a time limit,
# and counts their TAP lines. The last line is "N passed, N failed"; the line before it counts skips.
# Above these it says again what failed, so that the end of a long log is enough.
#
#   tests/run.sh OUT                          ONLY=NAME: only suites that have NAME in their names
#   tests/run.sh OUT test-changed             leaves out suites that passed as they are now
set -u
export LC_ALL=C.UTF-8 # programs of the system write a decimal point
out=$1 changed=${2:-}
limit=${TEST_LIMIT:-1800} # only what hangs gets there, on a busy machine too
only=${ONLY:-}
jobs=${JOBS:-$((3 * $(nproc)))}
passed=0 failed=0 skipped=0 unchanged=0
reasons=()
mkdir -p "$out/tests" # a script alone needs no program there
failures=() names=() timed=()

export CMOCKA_MESSAGE_OUTPUT=TAP
export TREFOIL_OUT=$out
export OPENBLAS_NUM_THREADS=1
# Studies of tests are in memory if there is room for them: servers sync, and a busy disk takes seconds for that.
if [ -z "${TREFOIL_FOLDERS:-}" ] && [ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 2000000 ] &&
    awk '/^MemAvailable/ { exit !($2 > 6000000) }' /proc/meminfo; then
    export TREFOIL_FOLDERS=/dev/shm
fi
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp ${TSAN_OPTIONS:-}"

# What a suite runs, as a digest: by this `make test-changed` knows that it passed already. A program that starts no
# other, as its symbols say, has its own bytes and what is in the tree besides C and documents; others have what they
# may start and the documents too; a script has all of the tree. So do all the variables of ours, and the
# packages installed. Programs have the same bytes whenever they are made of the same.
sums=$(mktemp)
trap 'rm -f "$sums"' EXIT
tree() {
    git ls-files -z --cached --others --exclude-standard 2>/dev/null || find . -path ./build -prune -o -type f -print0
}
programs() { # conditions of find...
    find "$out" -maxdepth 2 -type f -perm -u+x "$@"
}
sum_up() { # "KIND DIGEST FILE" each; "alone NAME" of programs that start no other
    tree | xargs -0 sha256sum 2>/dev/null | sed -E 's/.*\.[ch]$/c &/; s/.*\.md$/document &/; /^[a-z]+ /!s/^/file /'
    { env | grep -a '^TREFOIL' | LC_ALL=C sort; stat -c %Y /var/lib/dpkg/status; } 2>/dev/null | sha256sum | sed 's/^/file /'
    programs \( -name "*$only*" -o ! -name 'test_*' ! -name 'fuzz_*' \) -exec sha256sum {} + | LC_ALL=C sort -k 2 |
        sed -E 's#.*/((test|fuzz)_[^/]*)$#\1 &#; t; s#.*/(bench|scale)_[^/]*$#bench &#; t; s#^#started #'
    programs -path '*/tests/*_*' -name "*$only*" -exec nm -D -u -A {} + 2>/dev/null | awk '
        { file = $0; sub(/: +[^ ] [^ ]*$/, "", file); sub(/.*\//, "", file); name[file] }
        $NF ~ /^(f?exec|posix_spawn|system|popen)/ { starts[file] }
        END { for (n in name) if (!(n in starts)) print "alone " n }'
}
digest_of() { # name
    local kinds="$1|file"
    [ ! -f "tests/scripts/$1.test.sh" ] || kinds+="|c"
    grep -qx "alone $1" "$sums" || kinds+="|document|started"
    [[ $1 != *bench* ]] || kinds+="|bench"
    grep -E "^($kinds) " "$sums" | sha256sum
}
sum_up >"$sums"
sources=" $(find tests bench -name '*_*.c' -printf '%f ')" # what a tree had once may have left programs

# Runs one program to its end. Its counts go to its .count: a line of numbers, and the reasons for skips.
run() { # name command...
    local name=$1 log="$out/tests/$1.log" status seconds cpu skips ok not_ok digest
    digest=$(digest_of "$name")
    local TIMEFORMAT='%1R %1U %1S'
    shift
    { time timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null; } 2>"$log.time"
    status=$?
    read -r seconds cpu < <(awk 'END { printf "%s %.1f", $1, $2 + $3 }' "$log.time")
    # cmocka writes "not ok N # SKIP test"; a test says why before, as "# SKIP reason"
    local skip_line='^(not )?ok [0-9]+ .*# SKIP'
    skips=$(grep -acE "$skip_line" "$log")
    ok=$(grep -aE '^ok ' "$log" | grep -acvE "$skip_line")
    not_ok=$(grep -aE '^not ok ' "$log" | grep -acvE "$skip_line")
    # a program that dies or times out has failed, whatever it printed before
    if [ "$status" -ne 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        echo "# ended with exit status $status after $seconds s (124, 137: the limit of $limit s)" >>"$log"
    fi
    if [ "$ok" -eq 0 ] && [ "$skips" -eq 0 ] && [ "$not_ok" -eq 0 ]; then
        not_ok=1
        echo "# no test ran" >>"$log"
    fi
    [ "$not_ok" -ne 0 ] || echo "$digest" >"$out/tests/$name.passed"
    {
        echo "$ok $not_ok $skips"
        [ "$skips" -gt 0 ] && { grep -a '^# SKIP ' "$log" || grep -aE "$skip_line" "$log"; }
    } >"$log.count"
    printf '%-28s %4d passed %3d failed %3d skipped %7s s %7s s of CPU\n' \
        "$name" "$ok" "$not_ok" "$skips" "$seconds" "$cpu"
    if [ "$not_ok" -ne 0 ]; then
        printf -- '---- %s: exit status %d; the end of %s:\n%s\n----\n' "$name" "$status" "$log" \
            "$(tail -n 40 "$log" | tr -d '\000')"
    fi
}

# As many at a time as JOBS says, by default three times the cores: most wait for disks and each other.
begin() { # name command...
    [[ $1 == *"$only"* ]] || return
    if [ -n "$changed" ] && [ "$(cat "$out/tests/$1.passed" 2>/dev/null)" = "$(digest_of "$1")" ]; then
        unchanged=$((unchanged + 1))
        return
    fi
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    names+=("$1")
    rm -f "$out/tests/$1.log.count" "$out/tests/$1.passed"
    run "$@" &
}

# A script, a test program, or a fuzzer that goes through its corpus; not the object or log of one.
suite() { # name
    local program="$out/tests/$1"
    if [ -f "tests/scripts/$1.test.sh" ]; then
        begin "$1" bash "tests/scripts/$1.test.sh"
    elif [[ "$sources" == *" $1.c "* ]] && [ -f "$program" ] && [ -x "$program" ]; then
        case $1 in
        fuzz_*) begin "$1" "$program" "tests/corpus/${1#fuzz_}" ;;
        *) begin "$1" "$program" ;;
        esac
    fi
}

# Each test that failed, without those that passed, and the end of the suite's output.
explain() { # name
    local log="$out/tests/$1.log"
    echo "---- $1 failed:"
    grep -aE '^not ok ' "$log" | grep -avE '# SKIP' | head -n 5
    grep -avE '^ok |^1\.\.' "$log" | tail -n 12 | tr -d '\000' | cut -c 1-300
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

# The longest begin first, so that none of them is left alone at the end.
longest=(test_bench_smoke test_crashes test_processes_lost test_ranks test_faults_servers binding test_uploads test_share
    test_turns test_faults test_processes_ahead test_cheat test_audit test_processes examples test_doors
    test_check_records test_plan_memory test_statistics test_check_counts test_processes_copula test_play)
for name in "${longest[@]}"; do
    suite "$name"
done
for t in tests/scripts/*.test.sh "$out"/tests/test_* "$out"/tests/fuzz_*; do
    name=$(basename "$t" .test.sh)
    [[ " ${longest[*]} " == *" $name "* ]] || suite "$name"
done

wait
for name in "${names[@]}"; do
    count "$name"
    timed+=("$out/tests/$name.log.time")
done
if [ ${#failures[@]} -gt 0 ]; then
    for name in "${failures[@]}"; do
        explain "$name"
    done
    echo "failed: ${failures[*]}"
fi
[ ${#names[@]} -lt 2 ] || awk -v n=${#names[@]} -v s=$SECONDS '{ cpu += $2 + $3 }
    END { printf "%d suites in %d s, %.0f s of CPU\n", n, s, cpu }' "${timed[@]}"
[ "$unchanged" -eq 0 ] || echo "$unchanged suites are as they were when they passed"
if [ "$skipped" -gt 0 ]; then
    printf '%d skipped:' "$skipped"
    printf ' [%s]' "${reasons[@]}"
    echo
else
    echo "0 skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
