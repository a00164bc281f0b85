#!/usr/bin/env bash
# The study of docs/first_study.md, command by command as written there, in one shell in an empty folder; then what
# it promises about the results. Only the three servers' ports are changed to free ones. Writes TAP.
set -u
tree=$PWD
. tests/scripts/support.sh

# a folder of our own instead of a new temporary one
tests/scripts/commands.sh docs/first_study.md |
    sed -e "s|127.0.0.1:7100|127.0.0.1:$port|; s|127.0.0.1:7110|127.0.0.1:$((port + 5))|" \
        -e "s|127.0.0.1:7120|127.0.0.1:$((port + 10))|" -e "s|^cd \"\$(mktemp -d)\"|cd \"$folder\"|" \
        -e "s|^export PATH=.*|export PATH=\"$(dirname "$trefoil"):\$PATH\"|" >"$folder/commands"
# in a country where decimals have a comma, if its locale can be made; glibc leaks a LOCPATH, which a sanitizer would tell
[[ ${TREFOIL_OUT:-build/gcc} != *-* ]] && localedef -i de_DE -f UTF-8 "$folder/de_DE.UTF-8" 2>/dev/null &&
    sed -i "1i export LOCPATH='$folder' LC_ALL=de_DE.UTF-8" "$folder/commands"
[ "$(grep -c '^trefoil' "$folder/commands")" -ge 8 ]
result $? "the page has a study's commands"
timeout "$(patience 30)" bash -e "$folder/commands" >"$folder/output" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/output"
result $status "they run, one after another"

cd "$folder" || exit 1
for words in 'You are the owner hospital-a' 'all three servers have stored the upload' \
    'wrote report.html, synthetic.csv, measurements.json, model, errors, stats.json' \
    ' of 10 pairs of columns were measured, and ' \
    'guarantee: (epsilon 1, delta 1e-06) differential privacy for one row'; do
    grep -qF "$words" output
    result $? "they say: $words"
done

# rows have the study's own labels, and numbers where it has bins
awk -F, 'NR == 1 { if ($0 != "age,sex,bmi,stay_days,diagnosis") bad = 1; next }
    $1 !~ /^[0-9]+$/ || $2 !~ /^(male|female|)$/ || $5 !~ /^(heart|lung|injury|infection|other|\?)$/ { bad = 1 }
    $3 != "" && ($3 < 10 || $3 > 60) { bad = 1 }
    $3 == "" { missing++ }
    $4 < 0 || $4 > 60 { bad = 1 }
    END { exit bad || missing < 20 || NR < 2000 || NR > 2800 }' result/synthetic.csv
result $? "synthetic.csv has the study's labels and numbers, some missing"
"$trefoil" synth result/model --rows 100 --out more.csv >/dev/null 2>&1 && [ "$(wc -l <more.csv)" -eq 101 ]
result $? "synth draws more rows from the model"

"$trefoil" check study.yaml --board | grep -qF -- '- unit: one row'
result $? "check --board prints a page"
# every row of synthetic.csv is as its metadata says
if command -v python3 >/dev/null; then
    python3 - <<'X'
import csv, json, re
about = json.load(open("result/synthetic.csv-metadata.json"))
columns = about["tableSchema"]["columns"]
rows = list(csv.reader(open("result/" + about["url"], encoding=about["dialect"]["encoding"])))
assert rows[0] == [c["titles"] for c in columns]
for row in rows[1:]:
    for text, c in zip(row, columns):
        kind = c["datatype"]
        if text == c.get("null"):
            assert not c["required"]
        elif kind["base"] == "string":
            assert re.fullmatch(kind["format"], text), text
        else:
            number = {"integer": int, "number": float}[kind["base"]](text)
            assert kind["minimum"] <= number <= kind["maximum"], text
X
    result $? "synthetic.csv is as its metadata says"
fi

# what was planted: three of four are heart patients from 60 on, and one of five before
heart() { # condition
    "$trefoil" query result --csv "SELECT COUNT(*) FROM t WHERE $1 GROUP BY diagnosis" |
        tr -d '\r' | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "COUNT(*)") at = i; next }
            $1 == "heart" { heart = $at } { all += $at } END { printf "%d\n", 100 * heart / all }'
}
old=$(heart 'age >= 60') young=$(heart 'age < 60')
echo "# heart patients: $old % from 60 on, $young % before"
grep -q ' age x diagnosis (' output && [ "$old" -ge 60 ] && [ "$young" -le 35 ]
result $? "a question shows the link between age and diagnosis that the tables have"

sed -n '/<pre>/,/<\/pre>/p' result/report.html | sed 's/<[^>]*>//g; s/&quot;/"/g' >report.py
awk '/^```/ { if (inside) exit; inside = /python/; next } inside' "$tree/docs/formats.md" >pgm.py
diff <(tr -d ' \n' <report.py) <(tr -d ' \n' <pgm.py)
result $? "report.html has the lines of Python of docs/formats.md"

# measurements.json as docs/formats.md describes it; with private-pgm itself if that is installed
if command -v python3 >/dev/null; then
    python3 - <<'X'
import json, math
doc = json.load(open("result/measurements.json"))
groups = doc.get("merged", {})
assert doc["format"] == "trefoil-measurements-" + ("2" if groups else "1")
assert list(doc["domain"]) == ["age", "sex", "bmi", "stay_days", "diagnosis"]
assert [a["name"] for a in doc["attributes"]] == list(doc["domain"])
for a in doc["attributes"]:
    codes = {"categorical": lambda: len(a["labels"]), "integer": lambda: a["max"] - a["min"] + 1,
             "numeric": lambda: len(a["edges"]) - 1}[a["kind"]]() + ("missing" in a)
    assert codes == a["size"] == doc["domain"][a["name"]]
assert len(doc["measurements"]) > 5 and ["age", "diagnosis"] in [m["attributes"] for m in doc["measurements"]]
assert [len(s["attributes"]) for s in doc["scores"]] == 5 * [15]
for m in doc["measurements"]:
    assert "merged" in m or len(m["attributes"]) == 1 or not set(m["attributes"]) & set(groups)
    cells = math.prod(max(groups[name]) + 1 if name in groups and "merged" in m else doc["domain"][name]
                      for name in m["attributes"])
    assert len(m["values"]) == cells and m["sigma"] > 0
    assert abs(sum(m["values"]) - doc["total"]) < 8 * m["sigma"] * math.sqrt(cells) + 100
assert doc["epsilon"] == 1 and doc["delta"] == 1e-6 and doc["rows_per_person"] == 1
X
    result $? "measurements.json is as documented"
    if python3 -c 'import mbi' 2>/dev/null; then
        (cd result && timeout "$(patience 20)" python3 ../pgm.py)
        result $? "private-pgm reads it by the lines in docs/formats.md"
    else
        skip 'private-pgm reads it' 'private-pgm is not installed'
    fi
else
    skip 'measurements.json is as documented' 'there is no python3'
fi

end_test
