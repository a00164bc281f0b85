#!/usr/bin/env bash
# The owner's page and its relay: the page follows from the study, its module makes the program's upload, and what it
# seals reaches three servers. With PICTURES=DIR Chromium plays an owner, too (tests/browser.sh). Writes TAP.
set -u
. tests/scripts/support.sh

relay=$((port + 20))
mkdir "$folder/a.key.files"
{
    echo age,sex,ward
    awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) printf "%d,%s,%s\n", 20 * rand(), rand() < 0.4 ? "f" : "m", rand() < 0.5 ? "Süd" : "Nord" }'
    echo "7,f,<img src=x onerror=document.body.dataset.broken=1>"
    echo "9,m,</pre></script><b onclick=x>"
} >"$folder/table.csv"
{ cat "$folder/table.csv"; printf '4,m,S\xff\n'; } >"$folder/byte.csv"
printf 'age;sex;ward\n3;f;Nord\n1,234;m;Nord\n' >"$folder/thousands.csv"
printf 'age,sex,ward\n3,f,Nord\n"1,234",m,Nord\n' >"$folder/points.csv"
{ iconv -f utf-8 -t windows-1252 "$folder/table.csv"; printf ',,\n,,\n'; } >"$folder/odd.csv"
printf 'age;ward\n3;Nord\n' >"$folder/wrong.csv"
for name in north east west a office registry; do
    "$trefoil" keygen "$folder/$name.key" --name $name >"$folder/$name.public" 2>/dev/null
done
key() { sed -n 's/.*key: *//p' "$folder/$1.public"; }
cat >"$folder/study.yaml" <<END
study: pages
domain:
  - {name: age, kind: integer, min: 0, max: 19}
  - {name: sex, kind: categorical, values: [m, f]}
  - {name: ward, kind: categorical, values: [Nord, Süd, '<img src=x onerror=document.body.dataset.broken=1>', '</pre></script><b onclick=x>']}
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
sed 's/connect-src/connect-src https: /' "$folder/page.html" >"$folder/altered.html"
"$trefoil" check "$folder/study.yaml" --page "$folder/altered.html" >"$folder/said" 2>&1
[ $? -eq 3 ] && grep -q 'is not the page that' "$folder/said"
result $? "and finds an altered one"
for bad in 'https://a b' 'https://x; script-src *' 'http://relay.example' "https://x'" 'https://x:' 'https://' 'https://x:99999999'; do
    sed "s|^relay:.*|relay: \"$bad\"|" "$folder/study.yaml" >"$folder/bad.yaml"
    "$trefoil" check "$folder/bad.yaml" >"$folder/said" 2>&1
    [ $? -eq 3 ] && grep -q 'relay is where the owner' "$folder/said" || { echo "# $bad"; break; }
done
[ "$bad" = 'https://x:99999999' ]
result $? "a relay that could leave the page's policy is refused"
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
if [ -n "${PICTURES:-}" ]; then
    cp "$folder/a.key" "$folder/owner.key"
    play 26 page "$PICTURES"
    result $? "an owner shares from Chromium"
    "$trefoil" share "$folder/study.yaml" --key "$folder/a.key" --status >"$folder/said" 2>&1
    ! grep -q 'nothing yet' "$folder/said"
    result $? "and the servers hold it"
    "$trefoil" admit "$folder/study.yaml" --invite 1 --until 2999-12-31 --links "$folder/link" --key "$folder/registry.key" \
        --tokens "$folder/tokens" --page https://share.example/ >"$folder/said" 2>&1
    play 13 invited "$PICTURES"
    result $? "a link lets one person share, and not a second"
    kill "${pids[3]}" && wait "${pids[3]}"
    play 8 lies "$relay"
    result $? "a relay that is closed, or lies, is told"
fi
end_test
