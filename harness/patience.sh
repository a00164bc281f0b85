# shellcheck shell=bash
# How long shell tests wait: like harness/patience.h, whose measure this is. To be sourced in the tree.
patience_times=$(awk -v slow="${TREFOIL_SLOW:-1}" '$2 == "PATIENCE" { print $3 * (slow > 1 ? slow : 1) }' \
    harness/patience.h)

# The whole seconds for which what takes less than so many on an idle machine is waited for.
patience() { # seconds
    awk -v s="$1" -v times="$patience_times" 'BEGIN { printf "%d\n", s * times }'
}

# Tries a command until it succeeds; fails if it has not after that time.
within() { # seconds command...
    local end=$((SECONDS + $(patience "$1")))
    shift
    until "$@"; do
        [ "$SECONDS" -le "$end" ] || return 1
        sleep 0.05
    done
}
