#!/usr/bin/env bash
# Usage: bench/studies.sh OUT FOLDER [smoke]
#
# Adult over a LAN (1 ms each way, 1 Gbit/s) and a WAN (40 ms each way, 100 Mbit/s): three servers,
# three owners and the analyst in network namespaces; all two-way marginals, (1, 1e-5), annealed AIM,
# T = 10, and over the WAN sweeps. Leaves FOLDER/NETWORK-KIND/stats.json, and in `seconds` beside it how long the
# analyst's command took. Without root or data ($TREFOIL_DATA or ../shared/data) it says why and ends
# with exit code 77. NETWORKS and KINDS choose only some; a kind with -abort, such as annealed-abort,
# has `security: abort`, and one with -ahead, which comes last, finds all noise made ahead: over the
# WAN both are also played that way. One with -both or -joint, such as fixed10-joint, has a provider and a keeper that
# make noise so. TABLE is another table. `smoke`: T = 2, and 1 ms everywhere, if TREFOIL_LONG is set.
set -u
usage='usage: bench/studies.sh OUT FOLDER [smoke]'
OUT=${1:?$usage} folder=${2:?$usage}
data=${TREFOIL_DATA:-../shared/data}
# shellcheck source=harness/network.sh
. harness/network.sh
# shellcheck source=harness/network_study.sh
. harness/network_study.sh
owners=3 fixed_rounds=10 wan_delay=40
ahead_kinds='annealed-ahead fixed10-ahead annealed-abort-ahead fixed10-abort-ahead sweeps-ahead sweeps-abort-ahead'
[ "${3:-}" = smoke ] && fixed_rounds=2 wan_delay=1 ahead_kinds='fixed10-ahead sweeps-ahead'

skip() {
    echo "# SKIP studies over networks: $*"
    exit 77
}

[ -n "${TREFOIL_LONG:-}" ] || [ "${3:-}" != smoke ] || skip "in a smoke run where TREFOIL_LONG is 1"
table=${TABLE:-adult}
[ -r "$data/$table.csv" ] && [ -r "$data/$table.domain.json" ] ||
    skip "no $table.csv and $table.domain.json in $data (TREFOIL_DATA)"
reason=$(network_possible) || skip "$reason"
network_possible

domain() { # { "age": 32, ... } as lines of a study: every value is a code
    tr -d '{}\n' <"$data/$table.domain.json" | tr ',' '\n' | awk -F'"' '{
        gsub(/[: ]/, "", $3)
        printf "  - {name: \"%s\", kind: integer, min: 0, max: %d}\n", $2, $3 - 1 }'
}

play() { # network kind
    local rounds=$fixed_rounds security=semi-honest k rows kind=${2%-ahead} study_ahead=off study_two='' third=2 noise=''
    study=$folder/$1-$2
    rm -rf "$study"
    [ "${kind%-abort}" = fixed10 ] || rounds=${kind%-abort}
    [ "${kind%-abort}" != "$kind" ] && security=abort
    [ "$kind" != "$2" ] && study_ahead=1
    case $kind in
    *-both | *-joint)
        study_two=1 third="" noise="noise_by: ${kind##*-}" kind=${kind%-*}
        [ "$kind" = fixed10 ] && rounds=$fixed_rounds || rounds=$kind
        ;;
    esac
    rows=$(($(wc -l <"$data/$table.csv") / owners + 1))
    study_file "$(domain)" "workload: {all: 2}
budget: {epsilon: 1, delta: 1e-5, accounting: gaussian}
rounds: $rounds
security: $security
$noise" "$rows" "$owners" || return
    for ((k = 0; k < owners; k++)); do
        awk -v k="$k" -v n="$owners" 'NR == 1 || NR % n == k' "$data/$table.csv" >"$study/o$k.csv"
    done
    study_serve 0 1 ${third:+2} || return
    for ((k = 0; k < owners; k++)); do
        study_share "$k" || { cat "$study/o$k.log"; return 1; }
    done
    for k in 0 1 2; do
        [ "$study_ahead" = off ] || study_wait_for "$study/s$k.log" 'all that a run may take' 1 60 || return
    done
    k=$(date +%s.%N)
    study_run result || { cat "$study/result.log"; return 1; }
    awk -v a="$k" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f\n", b - a }' >"$study/seconds"
    mv "$study/result/stats.json" "$study/stats.json"
    study_stop && study_ledgers
}

trap network_down EXIT
for network in ${NETWORKS:-lan wan}; do
    case $network in
    lan) rate=1000 delay=1 ;;
    *) rate=100 delay=$wan_delay ;;
    esac
    echo "$network: $delay ms each way, $rate Mbit/s (delay by $network_wire, rate by tbf)"
    network_up "$delay" "$rate" s0 s1 s2 o0 o1 o2 a || exit 1
    kinds='annealed fixed10'
    [ "$network" = wan ] && kinds+=" $ahead_kinds"
    for kind in ${KINDS:-$kinds}; do
        play "$network" "$kind" || exit 1
    done
    network_down
done
