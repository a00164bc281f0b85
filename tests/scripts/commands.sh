#!/usr/bin/env bash
# The commands of a document, as one script: its ```sh blocks in their order, or those of the chapters from heading
# FROM to before heading TO. A block whose first line is "# needs X and Y" is left out, and the script says "# SKIP"
# and why, unless each of those is a program that is here or named in HAVE ("root", "systemd"), and not in LACK.
#
#   tests/scripts/commands.sh docs/operating.md [FROM [TO]]
set -u
text=$1 from=${2:-} to=${3:-}
have=" ${HAVE:-} "
for name in $(sed -n 's/^# needs //p' "$text" | sed 's/ and / /g'); do
    [ "$name" != root ] && [ "$name" != systemd ] && [[ " ${LACK:-} " != *" $name "* ]] && command -v "$name" >/dev/null && have+="$name "
done
echo "trap 'kill \$(jobs -p) 2>/dev/null || true' EXIT" # servers do not outlive the script, wherever it ends
awk -v from="$from" -v to="$to" -v have="$have" '
    BEGIN { inside = from == "" }
    !block && /^## / { if ($0 == "## " from) inside = 1; else if (to != "" && $0 == "## " to) inside = 0 }
    /^```sh$/ && inside { block = 1; first = 1; next }
    /^```/ { block = 0; skipped = 0; next }
    !block { next }
    first && /^# needs / {
        n = split(substr($0, 9), need, " and ")
        for (i = 1; i <= n; i++)
            if (index(have, " " need[i] " ") == 0) {
                if (!skipped) print "echo \"# SKIP a block of commands needs " substr($0, 9) "\""
                skipped = 1
            }
    }
    { first = 0; if (!skipped) print }
' "$text"
