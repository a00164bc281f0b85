#!/usr/bin/env bash
# Whole studies over real networks: servers, owners and the analyst each in a network namespace, with
# delays, a rate, losses, a partition and a flapping link between them (harness/network.sh). TAP. Needs
# root; without it, says so and skips.
#
#   tests/net.sh OUT              SCENES="wan partition" tests/net.sh OUT    some of them
#
# There are enough rows and budget (epsilon 8) for small noise: what comes out must be like the rows.
set -u
OUT=${1:?usage: tests/net.sh OUT, such as build/gcc}
# shellcheck source=harness/network.sh
. harness/network.sh
# shellcheck source=harness/network_study.sh
. harness/network_study.sh
owners=3
hosts=(s0 s1 s2 o0 o1 o2 a)
number=0 failed=0
scratch=$(mktemp -d)

reason=$(network_possible) || { printf '1..1\nok 1 # SKIP %s\n0 passed, 0 failed\n' "$reason"; exit 0; }
network_possible
echo "# delays and losses by $network_wire"

finish() {
    study_stop
    network_down
    rm -rf "$scratch"
}
trap finish EXIT

# --- a study of three owners -------------------------------------------------------------------------

domain='  - {name: age, kind: integer, min: 0, max: 15}
  - {name: sex, kind: categorical, values: [f, m]}
  - {name: ward, kind: categorical, values: [a, b, c, d]}
  - {name: stay, kind: integer, min: 0, max: 11}
  - {name: died, kind: categorical, values: ["no", "yes"]}'

table() { # seed rows
    awk -v seed="$1" -v n="$2" 'BEGIN {
        srand(seed); split("a b c d", ward, " ")
        print "age,sex,ward,stay,died"
        for (i = 0; i < n; i++) {
            age = int(16 * rand() * rand())
            print age "," (rand() < 0.4 ? "f" : "m") "," ward[1 + int((age / 16 + rand()) * 2)] "," \
                int(12 * rand() * age / 16) "," (rand() < age / 40 ? "yes" : "no")
        } }'
}

begin() { # delay rate round-deadline: network up, study written, servers up
    local k
    study=$(mktemp -d "$scratch/study-XXXXXX")
    network_up "$1" "$2" "${hosts[@]}" || return
    study_file "$domain" "workload: {all: 2}
budget: {epsilon: 8, delta: 1e-6}
rounds: 6
deadlines: {connect: 40, round: $3}" 12000 "$owners" || return
    head -n 1 <(table 1 1) >"$study/all.csv"
    for ((k = 0; k < owners; k++)); do
        table "$k" "$((6000 + 3000 * k))" >"$study/o$k.csv"
        tail -n +2 "$study/o$k.csv" >>"$study/all.csv"
    done
    study_serve 0 1 2
}

share_all() {
    local k pids=() status=0
    for ((k = 0; k < owners; k++)); do
        study_share "$k" &
        pids+=($!)
    done
    for k in "${pids[@]}"; do
        wait "$k" || status=1
    done
    [ "$status" -eq 0 ] || tail -n 3 "$study"/o*.log
    return "$status"
}

# The mean over all two-way marginals of sum |p - q|, synthetic rows against the owners'.
right() { # folder of results
    "$OUT/trefoil" eval "$study/study.yaml" "$study/all.csv" "$study/$1/synthetic.csv" \
        >"$study/eval.log" 2>&1 || { cat "$study/eval.log"; return 1; }
    grep '^mean L1 error' "$study/eval.log" | sed 's/^/# /'
    awk '/^mean L1 error/ { found = 1; if ($7 >= 0.03) bad = 1 }
        END { exit !found || bad }' "$study/eval.log"
}

end() {
    study_stop || { echo "# a server did not end well"; return 1; }
    study_ledgers || { echo "# the servers' audit logs differ"; return 1; }
    network_down
}

background() { # name options...: a run that goes on meanwhile; its pid in $run_pid
    study_run "$@" &
    run_pid=$!
}

# --- scenes ------------------------------------------------------------------------------------------

plain() { # delay rate
    begin "$1" "$2" 60 && share_all && study_run out && right out && end
}

scene_lan() { plain 1 1000; }
scene_wan() { plain 40 100; }

scene_lossy_wan() {
    begin 40 100 60 || return
    network_loss 5
    share_all && study_run out && right out && end
}

# Waits until the run is under way: something was opened.
under_way() { study_wait_for "$study/server0/audit.log" NOISY_MARGINAL 1 20; }

# One server is gone for 30 s in the middle of a run. TCP tries again in growing steps, so it may take
# longer to be heard; the deadline of 120 s is longer than that.
scene_partition() {
    begin 20 100 120 && share_all || return
    background out
    under_way || return
    network_cut s1
    sleep 30
    network_heal s1
    wait "$run_pid" && right out && end
}

# The same with a deadline of 8 s: the servers' session ends, the run waits and goes on by itself.
scene_partition_past_the_deadline() {
    begin 20 100 8 && share_all || return
    background out
    under_way || return
    network_cut s1
    sleep 30
    network_heal s1
    wait "$run_pid" && right out && study_stop && study_debits && network_down
}

# A run that may wait for 5 s only: it ends, says who was silent, and the same command goes on.
scene_run_that_gives_up() {
    begin 20 100 8 && share_all || return
    background out --wait 5
    under_way || return
    network_cut s1
    wait "$run_pid" && { echo "# a run without one server ended well"; return 1; }
    network_heal s1
    grep -E '^error: ' "$study/out.log" | tail -n 1 | sed 's/^/# /'
    grep -qE '^error: .*(server|s1)' "$study/out.log" || return
    study_run out && right out && study_stop && study_debits && network_down
}

# No server opened anything at a total that it had not debited: the totals only grow, and those of
# two servers differ at most by the last.
study_debits() {
    local k
    for k in 0 1 2; do
        sed -nE 's/.*reason (SELECTED_INDEX|NOISY_MARGINAL) .*spent ([0-9.e-]+)$/\2/p' \
            "$study/server$k/audit.log" | uniq >"$study/spent$k"
        sort -g -c "$study/spent$k" || return 1
    done
    for k in 1 2; do
        [ "$(diff "$study/spent0" "$study/spent$k" | grep -c '^[<>]')" -le 1 ] || return 1
    done
}

# Two seconds up, one down, for as long as the owners share and the study runs.
scene_flapping() {
    local flapper status=0
    begin 10 100 60 || return
    (
        while :; do
            sleep 2
            network_cut s2
            sleep 1
            network_heal s2
        done
    ) &
    flapper=$!
    { share_all && study_run out && right out; } || status=1
    kill "$flapper" && wait "$flapper" 2>/dev/null
    network_heal s2
    [ "$status" -eq 0 ] && end
}

# An owner whose link is cut while it uploads: it waits, or says what to do; sharing again counts once.
scene_owner_cut() {
    begin 40 1 60 || return
    study_share 0 &
    run_pid=$!
    sleep 0.3
    network_cut o0
    sleep 12
    network_heal o0
    wait "$run_pid" || study_share 0 || { cat "$study/o0.log"; return 1; }
    study_share 1 && study_share 2 && study_run out && right out && end
}

for scene in ${SCENES:-lan wan lossy_wan partition partition_past_the_deadline run_that_gives_up flapping owner_cut}; do
    begun=$(date +%s)
    number=$((number + 1))
    if "scene_$scene"; then
        echo "ok $number - $scene ($(($(date +%s) - begun)) s)"
    else
        echo "not ok $number - $scene"
        failed=$((failed + 1))
        for log in "$study"/s[0-2].log "$study"/out.log; do
            [ -e "$log" ] || continue
            echo "# the end of $log:"
            tail -n 5 "$log" | sed 's/^/# /'
        done
        study_stop
        network_down
    fi
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
