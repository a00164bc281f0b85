#!/usr/bin/env bash
# Usage: tests/soak.sh OUT      SOAK_SECONDS=600 SOAK_OWNERS=300 tests/soak.sh OUT
#
# A day of uploads in ten minutes: owners share, share again, share what they may not and ask for the
# status, three at a time, and analysts try to run too early, while servers are killed at random and
# started again. In the end every owner's upload is at all three, the study runs, the servers opened
# the same, and no server has taken more memory or descriptors over time. Prints what it saw, and
# leaves samples in build/soak/samples.tsv.
set -u
OUT=${1:?usage: tests/soak.sh OUT, such as build/gcc}
seconds=${SOAK_SECONDS:-600} owners=${SOAK_OWNERS:-300}
# shellcheck source=harness/patience.sh
. harness/patience.sh
client_s=$(patience 6)
work=build/soak
workers=3
trefoil=$OUT/trefoil
declare -A server # pid of each
pids=()

say() { echo "# $*"; }
fail() { echo "not ok - soak: $*"; exit 1; }

finish() {
    local k
    for k in "${pids[@]}" "${server[@]}"; do
        kill -9 "$k" 2>/dev/null
    done
    wait 2>/dev/null
}
trap finish EXIT

# --- the study ---------------------------------------------------------------------------------------

free_port() { # forty in a row that nobody listens on
    local base k
    while :; do
        base=$((20000 + RANDOM % 20000))
        for ((k = 0; k < 40; k++)); do
            (exec 3<>"/dev/tcp/127.0.0.1/$((base + k))") 2>/dev/null && continue 2
        done
        echo "$base"
        return
    done
}

key() {
    "$trefoil" keygen "$work/$1.key" --name "$1" >/dev/null 2>&1
    "$trefoil" keygen --show "$work/$1.key" | head -n 1
}

prepare() {
    local k port
    rm -rf "$work"
    mkdir -p "$work"
    port=$(free_port)
    {
        printf 'study: soak\ndomain:\n'
        printf '  - {name: age, kind: integer, min: 0, max: 9}\n'
        printf '  - {name: ward, kind: categorical, values: [a, b, c, d]}\n'
        printf '  - {name: died, kind: categorical, values: ["no", "yes"]}\n'
        printf 'workload: {all: 2}\nbudget: {epsilon: 1, delta: 1e-6}\nrounds: 2\nservers:\n'
        for k in 0 1 2; do
            echo "  - {name: s$k, endpoint: \"tcp://127.0.0.1:$((port + 10 * k))\", key: $(key "s$k")}"
        done
        echo owners:
        for ((k = 0; k < owners; k++)); do
            echo "  - {name: o$k, max_rows: 255, key: $(key "o$k")}"
        done
        printf 'analysts:\n  - {name: a, key: %s}\n' "$(key a)"
        printf 'deadlines: {connect: 5, round: 10}\n'
    } >"$work/study.yaml"
    for ((k = 0; k < owners; k++)); do
        awk -v seed="$k" 'BEGIN { srand(seed); split("a b c d", w, " "); print "age,ward,died"
            for (i = 0; i < 20 + seed % 200; i++)
                print int(10 * rand()) "," w[1 + int(4 * rand())] "," (rand() < 0.1 ? "yes" : "no") }' \
            >"$work/o$k.csv"
    done
    printf 'age,ward,died\n1,a,no\n' >"$work/other.csv"
}

start() { # server
    local begun
    : >>"$work/s$1.log"
    begun=$(grep -c 'is ready' "$work/s$1.log")
    "$trefoil" serve "$work/study.yaml" --key "$work/s$1.key" --folder "$work/server$1" \
        --listen 127.0.0.1 >>"$work/s$1.log" 2>&1 &
    server[$1]=$!
    while [ "$(grep -c 'is ready' "$work/s$1.log")" -le "$begun" ]; do
        kill -0 "${server[$1]}" 2>/dev/null || fail "server $1 does not start: $(tail -n 2 "$work/s$1.log")"
        sleep 0.05
    done
}

# --- what owners and analysts do ---------------------------------------------------------------------

act() { # worker: until the folder has `stop`; a line for each thing done
    local k what code
    RANDOM=$(($1 + 1))
    while [ ! -e "$work/stop" ]; do
        k=$((RANDOM * 32768 % owners + RANDOM % owners))
        k=$((k % owners))
        case $((RANDOM % 20)) in
        0) what=other; timeout "$client_s" "$trefoil" share "$work/study.yaml" "$work/other.csv" --key "$work/o$k.key" ;;
        1) what=run; timeout "$client_s" "$trefoil" run "$work/study.yaml" --key "$work/a.key" --out "$work/early" ;;
        *) what=share; timeout "$client_s" "$trefoil" share "$work/study.yaml" "$work/o$k.csv" --key "$work/o$k.key" ;;
        esac >"$work/act$1.log" 2>&1
        code=$?
        echo "$what $code"
        [ "$code" -gt 6 ] && { echo "bad $what $code"; cp "$work/act$1.log" "$work/bad.log"; }
        # an owner's first upload counts: other data before it would take its place
        if [ "$what" = other ] && [ "$code" -eq 0 ]; then echo "$k" >>"$work/swapped"; fi
    done >>"$work/acts$1"
}

sample() { # time, server, life, KiB resident, descriptors, runs so far
    local k runs
    runs=$(cat "$work"/acts? | grep -c '^run')
    for k in 0 1 2; do
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$SECONDS" "$k" "${server[$k]}" \
            "$(awk '/^VmRSS/ { print $2 }' "/proc/${server[$k]}/status" 2>/dev/null)" \
            "$(find "/proc/${server[$k]}/fd" -mindepth 1 2>/dev/null | wc -l)" "$runs"
    done >>"$work/samples.tsv"
}

# In each life of a server, from the end of its first run on (a session takes memory, once) and after its first 20 s, if
# 40 s are left: the later half against the earlier.
flat() {
    awk -F'\t' 'NF == 6 && $4 > 0 {
            if (!n[$3]++) runs[$3] = $6
            if ($6 > runs[$3] && !($3 in warm)) warm[$3] = $1
            t[$3, n[$3]] = $1; rss[$3, n[$3]] = $4; fd[$3, n[$3]] = $5; who[$3] = $2
        }
        END {
            for (p in n) {
                from = warm[p] > t[p, 1] + 20 ? warm[p] : t[p, 1] + 20
                span = t[p, n[p]] - from
                if (span < 40) continue
                a = b = na = nb = fa = fb = 0
                for (i = 1; i <= n[p]; i++) {
                    x = (t[p, i] - from) / span
                    if (x >= 0 && x < 0.5) { a += rss[p, i]; fa = fd[p, i] > fa ? fd[p, i] : fa; na++ }
                    if (x >= 0.5) { b += rss[p, i]; fb = fd[p, i] > fb ? fd[p, i] : fb; nb++ }
                }
                a /= na; b /= nb
                printf "# server %s, a life of %d s: %.1f MiB, then %.1f; at most %d descriptors, then %d\n",
                    who[p], t[p, n[p]] - t[p, 1], a / 1024, b / 1024, fa, fb
                lives++
                if (b > 1.1 * a + 1024 || fb > fa + 16) bad = 1
            }
            exit bad || (lives == 0)
        }' "$work/samples.tsv"
}

# --- the day -----------------------------------------------------------------------------------------

prepare
for k in 0 1 2; do start "$k"; done
say "$owners owners, $seconds s"
for ((k = 0; k < workers; k++)); do
    act "$k" &
    pids+=($!)
done
RANDOM=7
SECONDS=0 kills=0 next_kill=$((seconds / 10))
while [ "$SECONDS" -lt "$seconds" ]; do
    sleep 2
    sample
    for k in 0 1 2; do
        kill -0 "${server[$k]}" 2>/dev/null || fail "server $k ended by itself: $(tail -n 3 "$work/s$k.log")"
    done
    if [ "$SECONDS" -ge "$next_kill" ]; then
        k=$((RANDOM % 3))
        kill -9 "${server[$k]}"
        wait "${server[$k]}" 2>/dev/null
        sleep 0.$((RANDOM % 9 + 1))
        start "$k"
        kills=$((kills + 1))
        # sometimes soon again, mostly after a life that is long enough to be looked at
        next_kill=$((SECONDS + (RANDOM % 4 == 0 ? 3 : 70 + RANDOM % 40)))
    fi
done
touch "$work/stop"
wait "${pids[@]}"
pids=()
say "$(cat "$work"/acts? | grep -c '^share') uploads, $(cat "$work"/acts? | grep -c '^share 0') acknowledged by all," \
    "$(cat "$work"/acts? | grep -c '^other') of other data, $(cat "$work"/acts? | grep -c '^run') early runs, $kills kills"
cat "$work"/acts? | grep -q '^bad' && fail "an exit code that is not documented: $(tail -n 2 "$work/bad.log")"

# --- the evening -------------------------------------------------------------------------------------

for ((k = 0; k < owners; k++)); do
    grep -qx "$k" "$work/swapped" 2>/dev/null && data=other.csv || data=o$k.csv
    "$trefoil" share "$work/study.yaml" "$work/$data" --key "$work/o$k.key" >"$work/last.log" 2>&1 ||
        fail "owner $k cannot share in the end: $(tail -n 2 "$work/last.log")"
done
# once: the early runs may have been late enough
"$trefoil" run "$work/study.yaml" --key "$work/a.key" --out "$work/result" >"$work/run.log" 2>&1
code=$?
if cat "$work"/acts? | grep -q '^run 0'; then expected=5; else expected=0; fi
[ "$code" -eq "$expected" ] || fail "the study's run ends with $code: $(tail -n 2 "$work/run.log")"
"$trefoil" audit "$work"/server[012]/audit.log --study "$work/study.yaml" >"$work/audit.txt" 2>&1 ||
    fail "the servers' audit logs differ: $(tail -n 2 "$work/audit.txt")"
for k in 0 1 2; do
    kill "${server[$k]}"
    wait "${server[$k]}" || fail "server $k did not end well"
    unset "server[$k]"
done
say "stores: $(du -sk "$work"/server? | awk '{ printf "%s ", $1 }')KiB"
flat || fail "memory or descriptors grow; see $work/samples.tsv"
echo "ok - soak"
