#!/usr/bin/env bash
# The report of a demo in headless Chromium: no width makes it scroll sideways, and on
# paper it says what it says on a screen. Likewise the status page of one of its servers, which must
# say what /metrics says. Then the pages of trefoil explore and page, in Chromium and in Firefox. Writes
# TAP; keeps its pictures in build/browser.
#
#   tests/browser.sh build/gcc/trefoil
set -u
TREFOIL=$1
. tests/scripts/support.sh
out=build/browser

if ! have chromium chromium || ! have pdftotext poppler-utils; then
    echo "1..0 # SKIP chromium or pdftotext is absent and cannot be installed"
    exit 0
fi

rm -rf "$out" && mkdir -p "$out"
"$trefoil" demo --folder "$out/demo" >"$out/demo.log" 2>&1
result $? "the demo runs"
page=$PWD/$out/demo/result/report.html
profile=$folder/profile
browser=(timeout "$(patience 12)" chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage
    --hide-scrollbars --allow-file-access-from-files --user-data-dir="$profile")

# No page scrolls sideways.
fits() { # page name width least-text
    cat >"$out/frame.html" <<X
<!DOCTYPE html><title>wait</title><iframe src="file://$1" style="border:0;width:${3}px;height:6000px"></iframe>
<script>addEventListener("load", () => { const d = document.querySelector("iframe").contentDocument;
document.title = "width " + d.documentElement.scrollWidth + " text " + d.body.innerText.length; })</script>
X
    "${browser[@]}" --virtual-time-budget=3000 --dump-dom "file://$PWD/$out/frame.html" 2>/dev/null |
        grep -o '<title>[^<]*' >"$out/$2-$3.txt"
    read -r _ seen _ text <"$out/$2-$3.txt"
    [ "${seen:-0}" -eq "$3" ] && [ "${text:-0}" -gt "$4" ]
    result $? "$2, $3 pixels: as wide as the screen ($(cat "$out/$2-$3.txt"))"
    "${browser[@]}" --window-size="$(($3 < 500 ? 500 : $3)),6000" \
        --screenshot="$out/$2-$3.png" "file://$PWD/$out/frame.html" >/dev/null 2>&1
}

for width in 320 375 800 1400; do
    fits "$page" report "$width" 2000
done

"${browser[@]}" --no-pdf-header-footer --print-to-pdf="$out/report.pdf" "file://$page" >/dev/null 2>&1
pdftotext -layout "$out/report.pdf" "$out/report.txt"
for words in 'Study six-hospitals' 'What is guaranteed' 'Demo only: compared with the truth' \
    'The model against what was measured' 'Attribute by attribute' 'Pairs of attributes' \
    'bmi × blood_pressure' 'Where the budget went' \
    'Time, bytes and rounds' 'blood_pressure' 'central AIM: a curator sees all rows' \
    'readmitted' 'LinearMeasurement'; do
    grep -qF "$words" "$out/report.txt"
    result $? "on paper: $words"
done
pages=$(pdfinfo "$out/report.pdf" | awk '/^Pages/ { print $2 }')
[ "${pages:-0}" -ge 2 ] && [ "$pages" -le 8 ]
result $? "on paper: $pages pages"

"$trefoil" serve "$out/demo/study.yaml" --key "$out/demo/alder.key" --folder "$out/demo/server-alder" \
    --listen 127.0.0.1 --status "$port" >"$out/serve.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$folder"' EXIT
within 6 grep -q 'is ready' "$out/serve.log"
"${browser[@]}" --dump-dom "http://127.0.0.1:$port/" >"$out/status.html" 2>/dev/null
metric() { # name
    (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3) |
        awk -v name="$1" '$1 == name { printf "%.6g", $2 }'
}
for words in 'Server 0, alder' 'healthy, but not connected to' 'heart-clinic' \
    "$(metric 'trefoil_uploads{state="complete"}') of 6 owners" \
    "rho $(metric trefoil_budget_rho_spent) of $(metric trefoil_budget_rho) spent"; do
    grep -qF "$words" "$out/status.html"
    result $? "status page: $words"
done
for width in 320 800; do
    fits "$PWD/$out/status.html" status "$width" 400
done

if ! command -v node >/dev/null; then
    skip "the explorer" "node is absent"
elif "$trefoil" explore "$out/demo/result" --out "$out/explore.html" --title 'Six <b>hospitals' >"$out/explore.log" 2>&1; then
    for BROWSER in chromium firefox; do
        [ $BROWSER = chromium ] || have firefox-esr firefox-esr ||
            { skip "the explorer in firefox" "firefox-esr is absent and cannot be installed"; continue; }
        mkdir "$out/$BROWSER"
        BROWSER=$BROWSER TREFOIL=$trefoil node tests/explore.mjs page "$out/explore.html" "$PWD/$out/$BROWSER" \
            "$out/demo/result" >"$out/explore.txt" 2>&1
        while read -r status words; do
            [ "$status" = ok ]
            result $? "${words#- }"
        done < <(sed 's/^not ok/bad/' "$out/explore.txt")
        [ "$(grep -c '^ok' "$out/explore.txt")" -eq 16 ]
        result $? "explorer in $BROWSER: all of it was played"
    done
else
    skip "the explorer" "tools/small.sh was not run before make"
fi
PICTURES=$PWD/$out TREFOIL=$trefoil bash tests/scripts/page.test.sh >"$out/page.txt" 2>&1
while read -r status words; do
    [[ $status = ok ]]
    result $? "${words#*- }"
done < <(sed -n 's/^# \(\(not \)\?ok\) - /\1 - /p' "$out/page.txt" | sed 's/^not ok/bad/')
grep -q '^# ok - ' "$out/page.txt" && ! grep -q '^not ok' "$out/page.txt"
result $? "the owner's page: all of it was played"

end_test
