#!/usr/bin/env bash
# The owner's page and its relay: the page follows from the study, its module makes the program's upload, and what it
# seals reaches three servers. With PICTURES=DIR Chromium and Firefox play owners, too (tests/browser.sh). Writes TAP.
# What 100,000 rows take, from page to receipts, is printed then: PICTURES=DIR tests/scripts/page.test.sh | grep 'the tab'
set -u
. tests/scripts/support.sh

relay=$((port + 20))
mkdir "$folder/a.key.files"
more=$(printf ',c%d' {1..10}),'<img src=x>'
tail=,1,2,3,4,5,6,7,8,9,8,7
rows() { # how many, of 14 columns
    echo "age,sex,ward$more"
    awk -v n="$1" 'BEGIN { srand(5); for (i = 0; i < n; i++) {
        printf "%d,%s,%s", 20 * rand(), rand() < 0.4 ? "f" : "m", rand() < 0.5 ? "Süd" : "Nord"
        for (j = 0; j < 11; j++) printf ",%d", 10 * rand(); print "" } }'
}
{
    rows 300
    echo "7,f,<img src=x onerror=document.body.dataset.broken=1>$tail"
    echo "9,m,</pre></script><b onclick=x>$tail"
} >"$folder/table.csv"
printf '%s\n' no,ward 1,Nord 2,Süd '3,<img src=x onerror=document.body.dataset.broken=1>' '4,</pre></script><b onclick=x>' >"$folder/wards.csv"
{ cat "$folder/table.csv"; printf '4,m,S\xff%s\n' "$tail"; } >"$folder/byte.csv"
printf 'age;sex;ward\n3;f;Nord\n1,234;m;Nord\n' >"$folder/thousands.csv"
printf 'age,sex,ward\n3,f,Nord\n"1,234",m,Nord\n' >"$folder/points.csv"
{ iconv -f utf-8 -t windows-1252 "$folder/table.csv" | tr , ';'; printf '%s\n' ';;;;;;;;;;;;;' ';;;;;;;;;;;;;'; } >"$folder/odd.csv"
printf 'age;ward\n3;Nord\n' >"$folder/wrong.csv"
for name in north east west a b long office registry; do
    "$trefoil" keygen "$folder/$name.key" --name $name >"$folder/$name.public" 2>/dev/null
done
key() { sed -n 's/.*key: *//p' "$folder/$1.public"; }
cat >"$folder/study.yaml" <<END
study: pages
domain:
  - {name: age, kind: integer, min: 0, max: 19}
  - {name: sex, kind: categorical, values: [m, f]}
  - {name: ward, kind: categorical, values: {file: wards.csv, column: ward}}
$(printf '  - {name: c%d, kind: integer, min: 0, max: 9}\n' {1..10})
  - {name: '<img src=x>', kind: integer, min: 0, max: 9}
workload: {all: 2}
rounds: 2
security: semi-honest
budget: {epsilon: 5, delta: 1e-6}
servers:
  - {name: north, endpoint: "tcp://127.0.0.1:$port", key: $(key north)}
  - {name: east, endpoint: "tcp://127.0.0.1:$((port + 5))", key: $(key east)}
  - {name: west, endpoint: "tcp://127.0.0.1:$((port + 10))", key: $(key west)}
owners:
  - {name: a, key: $(key a), max_rows: 1000}
  - {name: b, key: $(key b), max_rows: 1000}
  - {name: long, key: $(key long), max_rows: 100000}
open_owners: {issuer: $(key registry), max: 5, max_rows: 1000}
min_owners: 1
analysts:
  - {name: office, key: $(key office)}
relay: "http://127.0.0.1:$relay"
END
"$trefoil" page "$folder/study.yaml" --out "$folder/page.html" 2>"$folder/said"
[ $? -eq 3 ] && grep -q 'no sealing keys' "$folder/said"
result $? "without sealing keys there is no page"
for name in north east west; do
    line=$("$trefoil" keygen "$folder/$name.seal" --sealing "$folder/$name.key" "$folder/study.yaml" 2>/dev/null)
    sed -i "/name: $name,/s|}|, ${line#"${line%%[! ]*}"}|" "$folder/study.yaml"
    sed -i "/name: $name,/s|}*\$|}|" "$folder/study.yaml"
done
"$trefoil" page "$folder/study.yaml" --out "$folder/page.html" >"$folder/said" 2>&1
made=$?
if grep -q "built without the page's module" "$folder/said"; then
    [ $made -ne 0 ] && [ ! -e "$folder/page.html" ]
    result $? "without the module page says how to get it, and writes nothing"
    skip "the owner's page" "tools/small.sh was not run before make"
    end_test
fi
[ $made -eq 0 ] || sed 's/^/# /' "$folder/said"
result $made "a page is written"
"$trefoil" check "$folder/study.yaml" --page "$folder/page.html" >"$folder/said" 2>&1
result $? "check compares it"
sed 's/^1,/5,/' "$folder/wards.csv" >"$folder/wards.old" && mv "$folder/wards.csv" "$folder/kept.csv" && mv "$folder/wards.old" "$folder/wards.csv"
! "$trefoil" check "$folder/study.yaml" --page "$folder/page.html" >"$folder/said" 2>&1 && grep -q 'is not the page that' "$folder/said"
result $? "also the files that the study names"
mv "$folder/kept.csv" "$folder/wards.csv"
sed 's/connect-src/connect-src https: /' "$folder/page.html" >"$folder/altered.html"
"$trefoil" check "$folder/study.yaml" --page "$folder/altered.html" >"$folder/said" 2>&1
[ $? -eq 3 ] && grep -q 'is not the page that' "$folder/said"
result $? "and finds an altered one"
for bad in 'https://a b' 'https://x; script-src *' 'http://relay.example' "https://x'" 'https://x:' 'https://' 'https://x:99999'; do
    sed "s|^relay:.*|relay: \"$bad\"|" "$folder/study.yaml" >"$folder/bad.yaml"
    "$trefoil" check "$folder/bad.yaml" >"$folder/said" 2>&1
    [ $? -eq 3 ] && grep -q 'relay is where the owner' "$folder/said" || { echo "# $bad"; break; }
done
[ "$bad" = 'https://x:99999' ]
result $? "a relay that could leave the page's policy is refused"
sed 's/wards.csv/owner.csv/' "$folder/study.yaml" >"$folder/bad.yaml"
cp "$folder/wards.csv" "$folder/owner.csv"
"$trefoil" page "$folder/bad.yaml" --out "$folder/bad.html" >"$folder/said" 2>&1
[ $? -eq 3 ] && grep -q 'which has another meaning in a page; rename it' "$folder/said" && [ ! -e "$folder/bad.html" ]
result $? "a file whose name the page needs itself is refused"
{
    sed -n '/^servers/,/^owners/p' "$folder/study.yaml" | sed '$d'
    cat <<END
study: events
domain:
  - {name: age, kind: integer, min: 0, max: 19}
  - {name: visits, kind: integer, min: 0, max: 9}
  - {name: admitted, kind: date, from: 2021-01-01, to: 2023-12-31, bins: quarter}
  - {name: gap, kind: integer, edges: [0, 7, 30, 90, 365, 1095]}
  - {name: outcome, kind: categorical, values: [home, died]}
events: {name: visits, by: patient, number: visits, when: admitted, gap: gap, columns: [outcome]}
workload: {all: 2}
rounds: 2
security: semi-honest
budget: {epsilon: 5, delta: 1e-6}
owners:
  - {name: a, key: $(key a), max_rows: 1000}
analysts:
  - {name: office, key: $(key office)}
END
} | sed 's/, sealing: [^},]*//' >"$folder/events.yaml"
"$trefoil" page "$folder/events.yaml" --out "$folder/bad.html" >"$folder/said" 2>&1
[ $? -eq 3 ] && grep -q 'owners of this study have two: use trefoil share --events' "$folder/said" && [ ! -e "$folder/bad.html" ]
result $? "nor has a study with events a page, which says what to use"
if ! command -v node >/dev/null; then
    skip "what the page makes" "node is absent"
    end_test
fi

# the module's upload is the program's: both have one key and one secret
node tests/owner_page.mjs module "$folder/page.html" "$folder/a.key" "$folder/table.csv" >"$folder/theirs" 2>"$folder/theirs.log"
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/theirs.log"
result $status "the module makes a parcel"
install -m 600 "$folder"/a.key.files/*.secret "$folder/a.pages.secret"
"$trefoil" share "$folder/study.yaml" "$folder/table.csv" --key "$folder/a.key" --secret "$folder/a.pages.secret" --dry-run >"$folder/ours" 2>&1
grep -E '^ *upload:' "$folder/ours" >"$folder/one" && grep -qxF "$(cat "$folder/one")" "$folder/theirs"
result $? "it is the upload that trefoil share makes"

# servers and relay
pids=()
for name in north east west; do
    "$trefoil" serve "$folder/study.yaml" --key "$folder/$name.key" --folder "$folder/s-$name" --listen 127.0.0.1 \
        --sealing "$folder/$name.seal" --noise-ahead off --lanes 1 2>"$folder/$name.log" &
    pids+=($!)
done
"$trefoil" relay "$folder/study.yaml" --listen "$relay" 2>"$folder/relay.log" &
pids+=($!)
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT
for _ in $(seq "$(patience 100)"); do
    "$trefoil" check --server "$relay" 2>/dev/null && grep -q 'is ready' "$folder"/{north,east,west}.log && break
    sleep 0.1
done
"$trefoil" check --server "$relay" 2>/dev/null
result $? "the relay says that it is there"
node -e 'fetch(process.argv[1]).then(async r => process.stdout.write(Buffer.from(await r.arrayBuffer())))' "http://127.0.0.1:$relay/" |
    cmp - "$folder/page.html"
result $? "it shows the page"
gone() { ! kill -0 "$1" 2>/dev/null; }
post() { # server file
    node -e 'fetch(process.argv[1], {method: "POST", body: require("fs").readFileSync(process.argv[2])}).then(async r => {
        process.stdout.write(Buffer.from(await r.arrayBuffer())); process.exitCode = r.ok ? 0 : 1; console.error(r.status); })' \
        "http://127.0.0.1:$relay/$1" "$2"
}
head -c 300 /dev/urandom >"$folder/junk"
post 0 "$folder/junk" >"$folder/said" 2>"$folder/status"
grep -qx 504 "$folder/status"
result $? "a block that nobody sealed gets no answer"
for _ in {1..40}; do post 0 "$folder/junk" >"$folder/said" 2>"$folder/status" & done
wait $(jobs -p | tail -n 40)
post 0 "$folder/junk" >"$folder/said" 2>"$folder/status"
grep -qx 504 "$folder/status"
result $? "and holds no place on the way to a server"
head -c 2000000 /dev/zero >"$folder/junk"
post 1 "$folder/junk" >"$folder/said" 2>"$folder/status"
grep -qx 413 "$folder/status" && ! post 7 "$folder/odd.csv" >"$folder/said" 2>"$folder/status" && grep -qx 405 "$folder/status"
result $? "nor does one that is too long, or for no server"

play() { # how many steps, what, arguments..
    local steps=$1
    node tests/owner_page.mjs "$2" "$folder/page.html" "$folder" "${@:3}" >"$folder/played" 2>&1
    sed 's/^/# /' "$folder/played"
    [ "$(grep -c '^ok' "$folder/played")" -eq "$steps" ]
}
from() { # browser, owner: the page, with that key and with a link
    export BROWSER=$1
    mkdir -p "$PICTURES/$1"
    rm -rf "$folder/profile" "$folder/downloads"
    cp "$folder/$2.key" "$folder/owner.key"
    play 27 page "$PICTURES/$1"
    result $? "an owner shares from $1"
    "$trefoil" share "$folder/study.yaml" --key "$folder/$2.key" --status >"$folder/said" 2>&1
    grep -E "^  $2 " "$folder/said" >"$folder/one" && ! grep -q 'nothing yet' "$folder/one"
    result $? "and the servers hold it"
    node -e 'const fs = require("fs"), o = JSON.parse(fs.readFileSync(process.argv[1])).files;
        fs.writeFileSync(process.argv[2], Buffer.from(o[Object.keys(o).find(name => name.endsWith(".secret"))], "base64"), {mode: 0o600})' \
        "$folder/downloads/owner.json" "$folder/$1.secret"
    "$trefoil" share "$folder/study.yaml" "$folder/table.csv" --key "$folder/$2.key" --secret "$folder/$1.secret" >"$folder/said" 2>&1
    result $? "it is the upload that trefoil share makes: another would be refused"
    "$trefoil" admit "$folder/study.yaml" --invite 1 --until 2999-12-31 --links "$folder/link.$1" --key "$folder/registry.key" \
        --tokens "$folder/tokens" --page https://share.example/ >"$folder/said" 2>&1
    cp "$folder/link.$1" "$folder/link"
    play 13 invited "$PICTURES/$1"
    result $? "a link lets one person share, and not a second"
}
if [ -n "${PICTURES:-}" ]; then
    from chromium a
    if have firefox-esr firefox-esr; then
        from firefox b
    else
        skip "an owner shares from firefox" "firefox-esr is absent and cannot be installed"
    fi
    export BROWSER=chromium
    cp "$folder/long.key" "$folder/owner.key"
    rows 100000 >"$folder/long.csv"
    play 4 long
    result $? "100,000 rows of 14 columns go from a browser to receipts, within 300 MB"
    kill "${pids[3]}" && wait "${pids[3]}"
    play 9 lies "$relay"
    result $? "a relay that is closed, or lies, is told"
fi
kill "${pids[0]}" && wait "${pids[0]}"
node -e 'require("net").createServer(() => {}).listen(process.argv[1], "127.0.0.1", () => console.log("listens"))' "$port" >"$folder/silent" &
pids[0]=$!
"$trefoil" relay "$folder/study.yaml" --listen "$((relay + 1))" 2>"$folder/relay2.log" &
second=$!
within 10 grep -q listens "$folder/silent"
within 10 "$trefoil" check --server "$((relay + 1))" 2>/dev/null
node -e 'const s = require("net").connect(process.argv[1], "127.0.0.1", () => { s.write("POST /0 HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
    setTimeout(() => process.exit(), 500); })' "$((relay + 1))"
kill "$second"
within 1 gone "$second"
result $? "a relay that waits for a silent server ends when it is told"
end_test
