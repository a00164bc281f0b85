#!/usr/bin/env bash
# The tests that take long: all tests under the address, undefined and thread sanitizers, the unit
# tests under valgrind memcheck, and the long statistics (TREFOIL_LONG=1). Everything runs, whatever
# fails; the last lines say what failed, and the status is 1 if anything did. Stage "onecore" pins the
# protocols' tests to one core, where nothing may deadlock; stage "browser" looks at a report; "net" is
# tests/net.sh, which needs root; "soak" is tests/soak.sh; "first_hour" is a bare Debian; "containers" is the image of
# tools/oci.sh; "arm64" is a study with a server and an owner of another processor; "small" builds the modules and
# programs of tools/small.sh twice.
#
#   STAGES="address memcheck" tests/long.sh    only some of:
#       address undefined thread memcheck onecore long small browser net soak first_hour containers arm64
set -u
cd "$(dirname "$0")/.." || exit 1

stages=${STAGES:-address undefined thread memcheck onecore long small browser net soak first_hour containers arm64}
# Under valgrind one thread runs at a time and everything is some 30 times slower: programs that
# time out for that reason alone are named here.
memcheck_skip=${MEMCHECK_SKIP:-}
# Of these programs only memory errors count: valgrind computes long double in 64 bits, so comparisons
# with it fail (aim), and is too slow for processes that are killed by the clock (netio).
memory_only=" test_aim_score test_aim_sweep test_netio_stream test_processes test_processes_lost test_faults \
test_faults_servers "
mkdir -p build
summary=()
pinned=()
failed=0

record() { # stage status words
    local verdict=ok
    if [ "$2" -ne 0 ]; then
        verdict=FAILED
        failed=$((failed + 1))
    fi
    summary+=("$(printf '%-10s %-7s %s' "$1" "$verdict" "$3")")
}

run_suite() { # stage make-arguments...
    local stage=$1 log=build/long-$1.log status
    shift
    echo "==== $stage: make $* test"
    "${pinned[@]}" make --no-print-directory "$@" test 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    record "$stage" "$status" "$(tail -n 1 "$log")"
}

run_script() { # stage command...
    local stage=$1 log=build/long-$1.log
    shift
    echo "==== $stage: $*"
    make --no-print-directory programs >"$log" 2>&1 ||
        { record "$stage" 1 "does not build; see $log"; return; }
    "$@" 2>&1 | tee "$log"
    record "$stage" "${PIPESTATUS[0]}" "$(tail -n 1 "$log")"
}

run_memcheck() {
    local t name log status passed=0 bad=()
    echo "==== memcheck"
    if ! command -v valgrind >/dev/null; then
        record memcheck 1 "valgrind is absent; install it"
        return
    fi
    make --no-print-directory programs >build/long-memcheck.log 2>&1 ||
        { record memcheck 1 "does not build; see build/long-memcheck.log"; return; }
    for t in build/gcc/tests/test_*; do
        name=$(basename "$t")
        [ -x "$t" ] && [ -n "$(find tests bench -name "$name.c")" ] || continue
        [[ " $memcheck_skip " == *" $name "* ]] && continue
        log=build/long-memcheck-$name.log
        CMOCKA_MESSAGE_OUTPUT=TAP OPENBLAS_NUM_THREADS=1 TREFOIL=build/gcc/trefoil \
            timeout -k 10 "${TEST_LIMIT:-3600}" valgrind -q --error-exitcode=99 --leak-check=full \
            --errors-for-leak-kinds=definite,indirect --trace-children=no "$t" >"$log" 2>&1 </dev/null
        status=$?
        if [ "$status" -eq 0 ] || { [ "$status" -ne 99 ] && [[ $memory_only == *" $name "* ]]; }; then
            passed=$((passed + 1))
        else
            bad+=("$name")
            echo "---- $name: status $status; the end of $log:"
            tail -n 30 "$log"
        fi
    done
    record memcheck ${#bad[@]} "$passed programs clean, ${#bad[@]} not${bad[*]:+: ${bad[*]}}"
}

run_browser() {
    local log=build/long-browser.log status
    echo "==== browser"
    make --no-print-directory build/gcc/trefoil >/dev/null
    tests/browser.sh build/gcc/trefoil 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    record browser "$status" "$(grep -c '^ok' "$log") passed; pictures in build/browser"
}

for stage in $stages; do
    case $stage in
    address | undefined | thread) TEST_LIMIT=${TEST_LIMIT:-3600} run_suite "$stage" SANITIZE="$stage" ;;
    memcheck) run_memcheck ;;
    browser) run_browser ;;
    onecore)
        pinned=(taskset -c 0)
        TEST_LIMIT=${TEST_LIMIT:-3600} run_suite onecore
        pinned=()
        ;;
    long) TREFOIL_LONG=1 TEST_LIMIT=${TEST_LIMIT:-3600} run_suite long ;;
    net) run_script net tests/net.sh build/gcc ;;
    soak) run_script soak tests/soak.sh build/gcc ;;
    first_hour) run_script first_hour tests/first_hour.sh ;;
    containers) run_script containers tests/containers.sh build/gcc/trefoil ;;
    small) run_script small tests/small_twice.sh ;;
    arm64) run_script arm64 tests/arm64_study.sh build/gcc/trefoil ;;
    *)
        echo "there is no stage $stage" >&2
        exit 2
        ;;
    esac
done

echo "==== summary"
printf '%s\n' "${summary[@]}"
if [ "$failed" -ne 0 ]; then
    echo "$failed of ${#summary[@]} stages failed"
    exit 1
fi
echo "all ${#summary[@]} stages passed"
