#!/usr/bin/env bash
# A stranger's first three hours in a bare Debian (debootstrap) with make and the tree as it is committed. The first:
# the two commands of the README, docs/first_study.md, and all of docs/operating.md except what needs systemd. The
# second: each page of docs/examples, in the order of its README, and docs/python.md. The third: the pages in a browser
# (docs/explore.md, and an owner whose parcel goes through a relay) and docs/r.md. It does only what those pages say.
# Needs root, debootstrap and a mirror; says so where it skips.
# The folder is removed at the end; FIRST_HOUR=DIR uses an existing one and keeps it. DEBIAN_SUITE=trixie takes Debian 13.
#
#   tests/first_hour.sh [second | third]     that hour alone
set -u
hours=${1:-first second third}
[[ " first second third " == *" $hours "* ]] || { echo "first_hour.sh: there is no hour $hours" >&2; exit 2; }
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
root=${FIRST_HOUR:-}
made=

skip() { printf '1..1\nok 1 # SKIP %s\n0 passed, 0 failed\n' "$*"; exit 0; }
unset NODE_EXTRA_CA_CERTS # a path of this machine, of which node in the other one would complain
[ "$(id -u)" -eq 0 ] || skip "a chroot needs root"
command -v debootstrap >/dev/null || skip "debootstrap is absent; install it"

finish() {
    umount "$root/dev/pts" "$root/dev" "$root/proc" 2>/dev/null
    # never while something is mounted there
    [ -n "$made" ] && ! grep -q " $root/" /proc/mounts && rm -rf --one-file-system "$root"
}
if [ -z "$root" ]; then
    root=$(mktemp -d) && chmod 755 "$root" && made=yes
    trap finish EXIT
    debootstrap --variant=minbase "${DEBIAN_SUITE:-bookworm}" "$root" "$mirror" >"$root.log" 2>&1 ||
        { tail -n 5 "$root.log"; skip "no Debian from $mirror"; }
else
    trap finish EXIT
fi
rm -rf "$root/root/trefoil" && mkdir -p "$root/root/trefoil"
git archive HEAD | tar -x -C "$root/root/trefoil" || exit 1
mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" && mount --bind /dev/pts "$root/dev/pts" ||
    skip "nothing may be mounted here"
cp /etc/resolv.conf "$root/etc/resolv.conf"

number=0 failed=0
step() { # words command
    local began=$SECONDS
    number=$((number + 1))
    if chroot "$root" sh -c "cd /root/trefoil && $2" >"$root/root/step.log" 2>&1; then
        echo "ok $number - $1, $((SECONDS - began)) s: $(tail -n 1 "$root/root/step.log")"
        grep -E '^(# SKIP|[0-9]+ skipped:)' "$root/root/step.log" | sort -u | sed 's/^# //; s/^/# /'
    else
        echo "not ok $number - $1"
        { grep -qE '^(not ok|failed:)' "$root/root/step.log" && grep -E '^(not ok|failed:|# )' "$root/root/step.log" ||
            cat "$root/root/step.log"; } | tail -n 40
        failed=$((failed + 1))
    fi
}
# Its commands, in one shell, whose servers have ended when the next page needs their ports.
document() { # file chapter-from chapter-to
    step "the commands of $1" "HAVE='root sqlite-odbc' tests/scripts/commands.sh '$1' '${2:-}' '${3:-}' >/root/commands &&
        echo wait >>/root/commands && bash -e /root/commands"
}
# What there is before anybody has a key: twelve columns, three commands to the first plan, and what its advice is worth
# on invented rows.
codebook() {
    cat >"$root/root/codebook.csv" <<X
name,kind,values,missing,label
patient,id,,,number
age,integer,0-110,,years
sex,,1=male|2=female,9,
ward,categorical,surgery|cardiology|oncology,,
bmi,numeric,10-60,empty,
smoker,yesno,,,
admitted,date,2020-01-01..2024-12-31,,
stay_days,integer,0-90,,
creatinine,numeric,0..20,empty|NA,mg/dl
score,,"[0, 24]",,
died,yesno,,none,
remarks,text,,,
X
    step "a codebook to a plan in three commands" "cd /root && bin=/root/trefoil/build/gcc/trefoil &&
        \$bin init wards.yaml --force --columns codebook.csv && \$bin check wards.yaml >/dev/null &&
        \$bin plan wards.yaml | grep -A 4 'not yet: 6 keys' | grep '10 attributes'"
    step "the change that plan advises, tried on invented rows" "cd /root && bin=/root/trefoil/build/gcc/trefoil &&
        \$bin plan wards.yaml | grep '^helps most: method: copula' &&
        sed '/^rounds:/s/.*/method: copula/' wards.yaml >advised.yaml &&
        off() { \$bin plan \$1 --simulate | sed -n 's/^mean error of a correlation: \([0-9.]*\).*/\1/p'; } &&
        echo \"correlations off by \$(off wards.yaml), as advised by \$(off advised.yaml)\" | tee advised.log &&
        awk '{ exit !(\$8 > 0 && \$8 < \$4 / 2) }' advised.log"
}
first() {
    step "make demo" "make demo"
    step "make test" "make test"
    codebook
    document docs/first_study.md
    document docs/operating.md
}
second() {
    local page
    document docs/examples/README.md
    for page in $(sed -n 's|^- \[.*(\(.*/README.md\)).*|docs/examples/\1|p' docs/examples/README.md); do
        document "$page"
    done
    step "docs/python.md" "tests/scripts/python.test.sh"
}
install="DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"
third() {
    if chroot "$root" sh -c "apt-cache show clang-14 >/dev/null 2>&1"; then
        step "the module of the pages (docs/explore.md)" "make small && make"
        step "a browser" "$install chromium poppler-utils nodejs"
        step "a parcel through a relay from Chromium; a report; an explorer" \
            "tests/browser.sh build/gcc/trefoil >/root/browser.log 2>&1; grep -E '^not ok|# SKIP' /root/browser.log
             grep -q 'ok .* - the owner.s page: all of it was played' /root/browser.log &&
             ! grep -qE '^not ok|# SKIP' /root/browser.log"
    else
        echo "# SKIP pages in a browser: this Debian has no clang-14 (docs/explore.md)"
        step "make" "make deps && make"
    fi
    step "R (docs/r.md)" "$install r-base-core r-cran-tinytest r-cran-jsonlite && make install-library && ldconfig &&
        R CMD INSTALL tools/r/trefoil && ! tests/scripts/r.test.sh | grep -E '^not ok|# SKIP'"
}
step "make is installed" "apt-get update -qq && $install make"
for hour in $hours; do
    $hour
done
echo "1..$number"
echo "$((number - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
