# shellcheck shell=bash
# What the tests of upgrades share: to be sourced after support.sh, in the folder of a fixture. `text` is the study file
# that servers are started with.

# says STATUS WORDS COMMAND...
says() {
    local expected=$1 words=$2 status
    shift 2
    timeout "$(patience 30)" "$trefoil" "$@" >said 2>&1
    status=$?
    [ "$status" -eq "$expected" ] && tr '\n' ' ' <said | grep -qF -- "$words" || { sed 's/^/# /' said; false; }
    result $? "$1: $words"
}

# At other ports, which all three sign.
move() { # STUDY PORT
    sed -e "s/^study: .*/&\nroster: 2/; s/:$2/:$port/; s/:$(($2 + 5))/:$((port + 5))/; s/:$(($2 + 10))/:$((port + 10))/" "$1" >"$text"
    for name in north east west; do
        "$trefoil" roster sign "$text" --key $name.key >/dev/null || exit 1
    done
}

start() { # FOLDER NAME
    "$trefoil" serve "$text" --key "$2.key" --folder "$1" --listen 127.0.0.1 --noise-ahead off >"$2.log" 2>&1 &
    pid[$2]=$!
    until grep -q 'is ready' "$2.log" || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
}
stop() { # PID
    kill "$1" && wait "$1"
    result $? 'a server ends'
}
declare -A pid
trap 'kill "${pid[@]}" 2>/dev/null; rm -rf "$folder"' EXIT
