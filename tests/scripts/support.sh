# shellcheck shell=bash disable=SC2034
# What the shell tests share: TAP, an empty folder that is removed at the end, free ports. To be sourced in
# the tree; `end_test` is the last command of a test.
. harness/patience.sh
number=0 failed=0
trefoil=$(readlink -f "${TREFOIL:-build/gcc/trefoil}")

# Sets `port`: nobody listens there or on the next 24. And `folder`, by whose name no other script takes them; it has a
# space in it, as people's folders do, or what the caller calls $space.
claim() {
    local tries k
    for tries in {1..1000}; do
        port=$((18000 + RANDOM % 80 * 25))
        folder="${TMPDIR:-/tmp}/trefoil${space- }test-$port"
        mkdir -m 700 "$folder" 2>/dev/null || continue
        for k in {0..24}; do
            (exec 3<>"/dev/tcp/127.0.0.1/$((port + k))") 2>/dev/null && rmdir "$folder" && continue 2
        done
        return
    done
    echo "not ok 1 - no folder $folder can be made, or its ports are not free"
    exit 1
}
claim
trap 'rm -rf "$folder"' EXIT

result() { # status description
    number=$((number + 1))
    [ "$1" -eq 0 ] && echo "ok $number - $2" || { echo "not ok $number - $2"; failed=1; }
}

# The commands of a document as written there (tests/scripts/commands.sh), in one shell, in an empty folder DIR of ours; only
# ports are changed to free ones. Their output goes to $folder/output.
page() { # FILE DIR WORDS
    local status words
    tests/scripts/commands.sh "$1" |
        sed -e "s|:7100\"|:$port\"|; s|:7105\"|:$((port + 5))\"|; s|:7110\"|:$((port + 10))\"|; s|\<9100\>|$((port + 15))|" \
            -e "s|:7115\"|:$((port + 15))\"|; s|:7117\"|:$((port + 17))\"|; s|:7119\"|:$((port + 19))\"|" \
            -e "s|^cd \"\$(mktemp -d)\"|mkdir \"$folder/$2\" \&\& cd \"$folder/$2\"|" \
            -e "s|^export PATH=.*|export PATH=\"$(dirname "$trefoil"):\$PATH\"|" \
            -e "s|\$tree/build/gcc|$(dirname "$trefoil")|" >"$folder/commands"
    echo wait >>"$folder/commands" # for servers that end: the next page takes their ports
    timeout "$(patience 30)" bash -e "$folder/commands" >"$folder/output" 2>&1
    status=$?
    [ $status -eq 0 ] || sed 's/^/# /' "$folder/output"
    result $status "$3"
    while read -r words; do
        skip "$3: ${words#*SKIP }" "${words#*SKIP }"
    done < <(grep '^# SKIP' "$folder/output" | sort -u)
}

skip() { # description reason
    number=$((number + 1))
    printf '# SKIP %s\nok %d - %s # SKIP %s\n' "$2" "$number" "$1" "$2"
}

# Finds a program, or installs its package where there is apt-get and the right to use it.
have() { # program package
    command -v "$1" >/dev/null && return 0
    command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2" >/dev/null 2>&1
    command -v "$1" >/dev/null
}

end_test() {
    echo "1..$number"
    exit "$failed"
}
