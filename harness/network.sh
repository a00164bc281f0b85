# shellcheck shell=bash
# A network of hosts, each a namespace of its own behind a link of a given rate, with a delay between
# them: for tests and measurements (tests/net.sh, bench/studies.sh). Sourced. Needs root and the
# package iproute2; the caller's $OUT holds harness/relay.
#
#   network_possible          says why not, and fails
#   network_up DELAY_MS RATE_MBIT HOST...
#   network_ip HOST           its address
#   network_do HOST COMMAND   runs it there
#   network_cut HOST          drops all packets from and to it; network_heal HOST
#   network_loss PERMILLE
#   network_down              ends what still runs there; call it from a trap
#
# Delay and loss come from netem where the kernel has it, else from the relay: host -- tbf -- hub --
# netem or relay, tbf -- host. NETWORK_WIRE=relay takes the relay anyway.

network_hosts=()
network_name=tf$$

network_possible() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "network namespaces need root"
    elif ! command -v ip >/dev/null || ! command -v tc >/dev/null; then
        echo "ip and tc are absent; install iproute2"
    elif ! ip netns add "$network_name-try" 2>/dev/null; then
        echo "this kernel gives no network namespaces"
    else
        network_probe
        return 0
    fi
    return 1
}

network_probe() { # netem, or else the relay
    ip -n "$network_name-try" link set lo up
    network_wire=${NETWORK_WIRE:-relay}
    if [ -z "${NETWORK_WIRE:-}" ] &&
        tc -n "$network_name-try" qdisc add dev lo root netem delay 1ms 2>/dev/null; then
        network_wire=netem
    fi
    ip netns del "$network_name-try"
}

network_index() {
    local k
    for k in "${!network_hosts[@]}"; do
        [ "${network_hosts[$k]}" = "$1" ] && echo "$k" && return
    done
    echo "there is no host $1" >&2
    return 1
}

network_ip() { echo "10.77.$(network_index "$1").2"; }

network_do() { # replaces a subshell: network_do HOST COMMAND & leaves the command's pid in $!
    local host=$1
    shift
    [ "$BASH_SUBSHELL" -eq 0 ] && { ip netns exec "$network_name-$host" "$@"; return; }
    exec ip netns exec "$network_name-$host" "$@"
}

network_tbf() { # namespace device parent
    # the burst must hold what a tick lets through, and the queue 50 ms
    tc -n "$1" qdisc add dev "$2" "${@:3}" tbf rate "${network_rate}mbit" \
        burst "$((network_rate * 200 + 16000))" latency 50ms
}

network_host() { # index name
    local hub=$network_name-hub ns=$network_name-$2 mac
    mac=$(printf '02:00:00:00:%02x' "$1")
    ip netns add "$ns"
    ip -n "$hub" link add "h$1" address "$mac:01" type veth peer name eth0 address "$mac:02" netns "$ns"
    ip -n "$hub" addr add "10.77.$1.1/24" dev "h$1"
    ip -n "$hub" link set "h$1" up
    ip -n "$ns" link set lo up
    ip -n "$ns" addr add "10.77.$1.2/24" dev eth0
    ip -n "$ns" link set eth0 up
    ip -n "$ns" route add default via "10.77.$1.1"
    if [ "$network_wire" = netem ]; then
        tc -n "$ns" qdisc add dev eth0 root handle 1: netem limit 100000 loss 0%
        network_tbf "$ns" eth0 parent 1: handle 2:
        tc -n "$hub" qdisc add dev "h$1" root handle 1: netem limit 100000 delay "${network_delay}ms"
        network_tbf "$hub" "h$1" parent 1: handle 2:
    else
        network_tbf "$ns" eth0 root
        network_tbf "$hub" "h$1" root
    fi
}

network_up() {
    local hub=$network_name-hub k links=() ready
    network_delay=$1 network_rate=$2 network_hosts=("${@:3}") network_permille=0
    ip netns add "$hub"
    ip -n "$hub" link set lo up
    for k in "${!network_hosts[@]}"; do
        network_host "$k" "${network_hosts[$k]}"
        links+=("h$k")
    done
    if [ "$network_wire" = netem ]; then
        ip netns exec "$hub" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
        return
    fi
    coproc NETWORK_RELAY { exec ip netns exec "$hub" "$OUT/harness/relay" "${links[@]}"; }
    network_relay_pid=$NETWORK_RELAY_PID
    exec {network_relay}>&"${NETWORK_RELAY[1]}" # also for subshells, which lose the coprocess's own
    read -r ready <&"${NETWORK_RELAY[0]}" && [ "$ready" = ready ] || return 1
    network_tell "delay $network_delay"
}

network_tell() { echo "$1" >&"$network_relay"; }

network_netem() { # index loss-in-percent, in both directions of a host's link
    tc -n "$network_name-${network_hosts[$1]}" qdisc change dev eth0 root handle 1: \
        netem limit 100000 loss "$2%"
    tc -n "$network_name-hub" qdisc change dev "h$1" root handle 1: \
        netem limit 100000 delay "${network_delay}ms" loss "$2%"
}

network_cut() {
    local k
    k=$(network_index "$1") || return
    if [ "$network_wire" = netem ]; then network_netem "$k" 100; else network_tell "cut $k"; fi
}

network_heal() {
    local k
    k=$(network_index "$1") || return
    if [ "$network_wire" = netem ]; then network_netem "$k" 0; else network_tell "heal $k"; fi
}

network_loss() {
    local k
    [ "$network_wire" = relay ] && { network_tell "loss $1"; return; }
    for k in "${!network_hosts[@]}"; do
        network_netem "$k" "$(($1 / 20)).$(($1 % 20 * 5 / 10))"
    done
}

network_down() {
    local ns pid
    if [ -n "${network_relay_pid:-}" ]; then
        kill "$network_relay_pid" && wait "$network_relay_pid" 2>/dev/null
        network_relay_pid=
    fi
    for ns in "${network_hosts[@]}" hub try; do
        ns=$network_name-$ns
        [ -e "/run/netns/$ns" ] || continue
        for pid in $(ip netns pids "$ns" 2>/dev/null); do
            kill -9 "$pid" 2>/dev/null
        done
        ip netns del "$ns"
    done
    network_hosts=()
}
