#!/usr/bin/env bash
# The systemd unit, installed into a folder of its own: systemd reads it without a complaint, and finds little
# left to harden.
set -u
cd "$(dirname "$0")/.." || exit 1
if ! command -v systemd-analyze >/dev/null; then
    echo "# SKIP systemd-analyze is absent"
    echo "ok 1 - the unit # SKIP systemd-analyze is absent"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make --no-print-directory install PREFIX="$folder" >"$folder/install.log" 2>&1 ||
    { cat "$folder/install.log"; echo "not ok 1 - make install"; exit 1; }
for page in man1/trefoil.1 man1/trefoil-share.1 man5/trefoil-study.5; do
    [ -s "$folder/share/man/$page" ] || grep -q 'no manual pages were installed' "$folder/install.log" ||
        { cat "$folder/install.log"; echo "not ok 1 - make install leaves out $page"; exit 1; }
done
unit="$folder/lib/systemd/system/trefoil@.service"
cp "$unit" "$folder/trefoil@study.service"
words=$(systemd-analyze verify --man=no "$folder/trefoil@study.service" 2>&1 | grep -F trefoil)
if [ -n "$words" ]; then
    printf '%s\nnot ok 1 - systemd reads the unit\n' "$words"
    exit 1
fi
echo "ok 1 - systemd reads the unit"
exposure=$(systemd-analyze security --offline=true "$folder/trefoil@study.service" 2>/dev/null |
    sed -n 's/.*Overall exposure level.*: \([0-9.]*\).*/\1/p')
if [ -z "$exposure" ]; then
    echo "ok 2 - the unit is hardened # SKIP this systemd-analyze does not rate files"
elif awk -v e="$exposure" 'BEGIN { exit !(e < 2.5) }'; then
    echo "ok 2 - the unit is hardened (exposure $exposure of 10)"
else
    echo "not ok 2 - exposure $exposure of 10"
    exit 1
fi
