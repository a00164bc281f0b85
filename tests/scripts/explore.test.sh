#!/usr/bin/env bash
# The page of `trefoil explore`: its policy names its script, and its module answers what the program answers, byte for
# byte. Browsers are tests/browser.sh's. Writes TAP.
set -u
. tests/scripts/support.sh

tests/scripts/support_results.sh "$folder" || { result 1 "results are made"; end_test; }
result=$folder/tree
page=$folder/explore.html
"$trefoil" explore "$result" --out "$page" >"$folder/said" 2>&1
made=$?
if grep -q "built without the page's module" "$folder/said"; then
    [ $made -ne 0 ] && [ ! -e "$page" ] && grep -q 'run make small, then make' "$folder/said"
    result $? "without the module explore says how to get it, and writes nothing"
    skip "the explorer's answers" "tools/small.sh was not run before make"
    end_test
fi
result $made "a page is written"
hash=$(sed -n '/^<script>/,/<\/script>/p' "$page" | sed '1s/^<script>//' | head -c -24 | openssl dgst -sha256 -binary | base64)
grep -qF "script-src 'sha256-$hash'" "$page"
result $? "its policy names its own script"
"$trefoil" explore "$folder/nothing" --out "$folder/none.html" >"$folder/said" 2>&1
[ $? -ne 0 ] && [ ! -e "$folder/none.html" ]
result $? "of no result there is no page"
"$trefoil" explore "$folder/copula" --out "$folder/copula.html" >"$folder/said" 2>&1 &&
    grep -q 'is a copula, whose errors are not known' "$folder/said" && ! grep -q refit "$folder/said"
result $? "a copula has no intervals, and nobody is sent to make some"
if ! command -v node >/dev/null; then
    skip "the explorer's answers" "node is absent"
    end_test
fi

same() { # words, command...
    local words=$1
    shift
    node tests/explore.mjs module "$page" "$@" >"$folder/theirs" 2>"$folder/theirs.log"
    local code=$?
    shift 2
    "$trefoil" query "$result" "$@" >"$folder/ours" 2>"$folder/ours.log"
    [ $? -eq $code ] && cmp -s "$folder/ours" "$folder/theirs" && [ -s "$folder/ours$extra" ]
    result $? "$words"
}
column=$("$trefoil" query "$result" --columns | sed 's/:.*//; q')
extra=
same "counts with intervals are the program's" query / --json "SELECT COUNT(*) FROM t GROUP BY \"$column\""
same "so are other aggregates" query / --json "SELECT COUNT(*), MODE(\"$column\"), MIN(\"$column\") FROM t"
same "text, too" query / --quick "SELECT COUNT(*) FROM t"
extra=.log
same "a wrong question ends alike" query / "SELECT AVG(nobody) FROM t"
node tests/explore.mjs module "$page" synth /model --rows 500 --seed 3 --out /rows.csv >"$folder/theirs"
"$trefoil" synth "$result/model" --rows 500 --seed 3 --out "$folder/ours" >"$folder/said" && cmp "$folder/ours" "$folder/theirs"
result $? "rows are the program's"
end_test
