#!/usr/bin/env bash
# Compares two builds of this tree: runs one bench program of each in turn, old new old new, and
# prints for every figure that both wrote the median of new / old over the pairs, with the least and
# the most. Machines drift; a ratio of two runs side by side drifts less. Judge by CPU time.
#
#   bench/pairs.sh OLD NEW NAME [OPTION ...]
#   PAIRS=9   FIGURES='cpu'                       how many pairs; which figures, a regular expression
#
# OLD and NEW are build folders, such as ../before/build/gcc and build/gcc; NAME is engine, dp, ..; an
# OPTION goes to the program. Arrays of one figure for each server are added up.
set -eu
if [ $# -lt 3 ]; then
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
old=$(realpath "$1") new=$(realpath "$2") name=$3
shift 3
pairs=${PAIRS:-9} figures=${FIGURES:-.}
for program in "$old/bench/bench_$name" "$new/bench/bench_$name"; do
    [ -x "$program" ] || { echo "bench/pairs.sh: there is no $program" >&2; exit 2; }
done
command -v jq >/dev/null || tools/deps.sh jq
export OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# a line for each figure: its path and its value
# shellcheck disable=SC2016
flatten='def sum: if type == "array" and length == 3 and all(type == "number")
        then .[0] + .[1] + .[2] else . end;
    walk(sum) | paths(numbers) as $p
    | [($p | map(tostring) | join(".")), getpath($p)] | @tsv'

for pair in $(seq "$pairs"); do
    for side in old new; do
        out=${!side}
        OUT=$out TREFOIL=$out/trefoil "$out/bench/bench_$name" --json "$work/$side.json" "$@" \
            >"$work/$side.log" 2>&1 || { tail -n 20 "$work/$side.log" >&2; exit 1; }
        jq -r "$flatten" "$work/$side.json" | sort >"$work/$side.tsv"
    done
    join -t $'\t' "$work/old.tsv" "$work/new.tsv" >>"$work/all.tsv"
    echo "pair $pair of $pairs" >&2
done

grep -E "^[^	]*($figures)" "$work/all.tsv" | awk -F '\t' '$2 != 0 { print $1 "\t" $3 / $2 }' |
    sort -t $'\t' -k1,1 -k2,2g | awk -F '\t' '
        function flush() {
            if (n)
                printf "%-44s %8.3f   %.3f to %.3f\n", name,
                    n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, v[1], v[n]
        }
        $1 != name { flush(); name = $1; n = 0 }
        { v[++n] = $2 }
        END { flush() }'
