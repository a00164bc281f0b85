#!/usr/bin/env bash
# docs/operating.md's commands as written there: a study with three servers, its backup, restoring, a renewed key, its
# end. Writes TAP.
set -u
. tests/scripts/support.sh

page docs/operating.md study "the commands run, one after another"

cd "$folder" || exit 1
while IFS= read -r words; do
    [ -n "$words" ] || continue
    grep -qF -- "$words" output
    result $? "they say: $words"
done <<'X'
You are server 0, north.
is on their disks, whole:
the same command without --rounds goes on
north-2026-12-01 holds 2 uploads and 2 debits
server north: a renewed key of the same identity, good until 2031-12-31
the three logs fit together
guarantee: (epsilon 1, delta 1e-06) differential privacy for one row
it deleted for good from its
Parcels: each server has a sealing key
servers have taken the parcel; their answers are in a.parcel.answers
their signatures are in clinic.carried.receipt
X
[ "$(wc -l <study/result/synthetic.csv)" -gt 3000 ]
result $? "synthetic.csv has rows like those of two owners"
end_test
