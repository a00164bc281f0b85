#!/usr/bin/env bash
# docs/operating.md's commands as they stand there, in one shell in an empty folder: a study with three servers,
# its backup, restoring, a renewed key, its end. Only ports are changed to free ones. Writes TAP.
set -u
. tests/support.sh

tests/commands.sh docs/operating.md >"$folder/blocks"
sed -e "s|:7100\"|:$port\"|; s|:7105\"|:$((port + 5))\"|; s|:7110\"|:$((port + 10))\"|; s|\<9100\>|$((port + 15))|" \
    -e "s|^cd \"\$(mktemp -d)\"|mkdir $folder/study \&\& cd $folder/study|" \
    -e "s|^export PATH=.*|export PATH=$(dirname "$trefoil"):\$PATH|" "$folder/blocks" >"$folder/commands"
timeout 300 bash -e "$folder/commands" >"$folder/output" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/output"
result $status "the commands run, one after another"
while read -r words; do
    skip "${words#*SKIP }" "${words#*SKIP }"
done < <(grep '^# SKIP' "$folder/output" | sort -u)

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
X
[ "$(wc -l <study/result/synthetic.csv)" -gt 3000 ]
result $? "synthetic.csv has rows like those of two owners"
end_test
