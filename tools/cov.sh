#!/usr/bin/env bash
# Usage: tools/cov.sh TREE [-v | -m]
#
# Line coverage of the tests that ran in a tree built with COVERAGE=1 (make cov does both), by
# folder; with -v by file, the least covered first; with -m only the lines that no test reached. Uses
# gcov alone. A file that no test touched counts with all its lines. Runs add up. To see which branches
# faults reach:
#
#   make cov; TREFOIL_LONG=1 TEST_LIMIT=36000 ONLY=test_faults make COVERAGE=1 test; tools/cov.sh build/gcc-cov -m
set -u
[ $# -ge 1 ] && [ -d "$1" ] || { echo "usage: $0 TREE [-v | -m]" >&2; exit 2; }
tree=$1
verbose=${2:-}
folders="base netio mpc protocols aim parties library"

notes=$(for f in $folders; do find "$tree/$f" -name '*.gcno' 2>/dev/null; done)
[ -n "$notes" ] || { echo "$0: no coverage data in $tree; run make cov" >&2; exit 1; }

if [ "$verbose" = -m ]; then
    # shellcheck disable=SC2086
    gcov -t $notes 2>/dev/null | awk '
        / 0:Source:/ { file = $0; sub(/.*Source:/, "", file) }
        /^ *#####:/ && file ~ /\.c$/ && file !~ /^\// {
            text = $0; sub(/^[^:]*:[^:]*:[ \t]*/, "", text)
            line = $0; sub(/^[^:]*: */, "", line); sub(/:.*/, "", line)
            print file ":" line ": " text
        }' | sort -t: -k1,1 -k2,2n -u
    exit
fi

# gcov names each source file with its share and its number of lines, on two lines.
# shellcheck disable=SC2086
gcov -n $notes 2>/dev/null | awk -v folders="$folders" -v verbose="$verbose" '
    BEGIN { n = split(folders, folder, " ") }
    /^File / { file = $2; gsub(/\047/, "", file) }
    /^Lines executed:/ && file ~ /\.c$/ && file !~ /^\// {
        split($0, part, /[:% ]+/)
        share = part[3]; lines = $NF
        split(file, path, "/")
        all[path[1]] += lines
        hit[path[1]] += share * lines / 100
        total += lines; total_hit += share * lines / 100
        if (verbose == "-v") printf "%6.1f %% of %5d  %s\n", share, lines, file | "sort -n"
        file = ""
    }
    END {
        close("sort -n")
        for (i = 1; i <= n; i++)
            if (all[folder[i]] > 0)
                printf "%-12s %6d lines %6.1f %%\n", folder[i], all[folder[i]],
                    100 * hit[folder[i]] / all[folder[i]]
        if (total > 0) printf "%-12s %6d lines %6.1f %%\n", "total", total, 100 * total_hit / total
    }'
