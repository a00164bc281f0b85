# shellcheck shell=bash
# A study whose participants are hosts of harness/network.sh: servers s0 s1 s2, owners o0 .., analyst a.
# Sourced after it; $OUT/trefoil is the program, $study the folder of keys, tables and logs.
#
#   study_file "DOMAIN LINES" "OTHER LINES" MAX_ROWS OWNERS   keys and study.yaml; network is up;
#                        with study_two=1 the first two servers are a provider and a keeper
#   study_serve N...     starts these servers, each in its namespace, and waits until they are ready;
#                        $study_ahead: their --noise-ahead, off without it
#   study_share N        owner N sends $study/oN.csv
#   study_run NAME ...   the analyst's run into $study/NAME, log $study/NAME.log, with more options
#   study_kill N         SIGKILL; study_stop: SIGTERM to all
#   study_ledgers        fails unless the three servers' audit logs hold and say the same

# shellcheck source=harness/patience.sh
. harness/patience.sh
study_server_pid=()

study_key() { # name; prints the public half
    [ -e "$study/$1.key" ] || "$OUT/trefoil" keygen "$study/$1.key" --name "$1" >/dev/null 2>&1
    "$OUT/trefoil" keygen --show "$study/$1.key" | head -n 1
}

study_file() {
    local k
    mkdir -p "$study"
    {
        printf 'study: network\ndomain:\n%s\n%s\n' "$1" "$2"
        [ -n "${study_two:-}" ] || echo servers:
        for k in 0 1 2; do
            [ -z "${study_two:-}" ] || case $k in 0) printf 'provider:' ;; 1) printf 'keeper:' ;; 2) break ;; esac
            [ -n "${study_two:-}" ] || printf '  -'
            echo " {name: s$k, endpoint: \"tcp://$(network_ip "s$k"):7100\", key: $(study_key "s$k")}"
        done
        echo owners:
        for ((k = 0; k < $4; k++)); do
            echo "  - {name: o$k, key: $(study_key "o$k"), max_rows: $3}"
        done
        printf 'analysts:\n  - {name: a, key: %s}\n' "$(study_key a)"
    } >"$study/study.yaml"
    "$OUT/trefoil" check "$study/study.yaml" >"$study/check.log" 2>&1 || { cat "$study/check.log"; return 1; }
}

study_has() { # file words count
    [ -e "$1" ] && [ "$(grep -c "$2" "$1")" -ge "$3" ]
}

study_wait_for() { # file words count seconds
    within "$4" study_has "$1" "$2" "$3" && return
    echo "no \"$2\" in $1 after $(patience "$4") s" >&2
    return 1
}

study_serve() {
    local k ready
    for k in "$@"; do
        ready=$(grep -c 'is ready' "$study/s$k.log" 2>/dev/null)
        network_do "s$k" "$OUT/trefoil" serve "$study/study.yaml" --key "$study/s$k.key" \
            --folder "$study/server$k" --noise-ahead "${study_ahead:-off}" >>"$study/s$k.log" 2>&1 &
        study_server_pid[k]=$!
        study_wait_for "$study/s$k.log" 'is ready' "$((${ready:-0} + 1))" 20 || return
    done
}

study_share() {
    network_do "o$1" "$OUT/trefoil" share "$study/study.yaml" "$study/o$1.csv" --key "$study/o$1.key" \
        >>"$study/o$1.log" 2>&1
}

study_run() {
    network_do a "$OUT/trefoil" run "$study/study.yaml" --key "$study/a.key" --out "$study/$1" \
        "${@:2}" >>"$study/$1.log" 2>&1
}

study_kill() {
    kill -9 "${study_server_pid[$1]}"
    wait "${study_server_pid[$1]}" 2>/dev/null
    unset "study_server_pid[$1]"
}

study_stop() {
    local k status=0
    for k in "${!study_server_pid[@]}"; do
        kill "${study_server_pid[$k]}"
        wait "${study_server_pid[$k]}" || status=1
    done
    # shellcheck source=harness/patience.sh
. harness/patience.sh
study_server_pid=()
    return $status
}

study_ledgers() {
    "$OUT/trefoil" audit "$study"/server[012]/audit.log --study "$study/study.yaml" >"$study/audit.txt" 2>&1 ||
        { cat "$study/audit.txt"; return 1; }
}
