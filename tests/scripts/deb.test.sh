#!/usr/bin/env bash
# The Debian packages. TREFOIL_LONG=1 makes them twice, in two folders: with the same bytes, and no error from lintian;
# then installs them in a bare Debian 12, which runs the demonstration and queries its model from Python; then runs
# their own tests, by autopkgtest. Writes TAP.
set -u
space=- # Debian's tools take none
. tests/scripts/support.sh
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

if ! command -v dh >/dev/null || ! command -v dpkg-parsechangelog >/dev/null; then
    skip "Debian packages" "debhelper is absent"
    end_test
fi

# --- what they are made of

stage=$(tools/deb.sh --stage "$folder/stage")
result $? "their source is staged"
said=$(cd "$stage" && dpkg-parsechangelog -S Version)
[[ $said == "$(sed -n 's/^VERSION := //p' Makefile)"* ]]
result $? "their version is the program's: $said"
[ "$(cd "$stage" && dh_listpackages | LC_ALL=C sort | tr '\n' ' ')" = "libtrefoil-dev libtrefoil0 python3-trefoil trefoil trefoil-server " ]
result $? "they are five"
rm -rf "$folder/stage"

if [ -z "${TREFOIL_LONG:-}" ] || [[ ${TREFOIL_OUT:-build/gcc} == *-* ]]; then
    skip "they are made, the same twice, and installed" "TREFOIL_LONG=1 does that, without sanitizers"
    end_test
fi

# --- made twice, in two folders

export JOBS=${JOBS:-$(nproc)}
tools/deb.sh "$folder/one" >"$folder/made" 2>&1
result $? "they are made"
# from a checkout of another time, where there is one
tree=$PWD
if git clone -q . "$folder/tree" 2>/dev/null && git diff --binary HEAD | git -C "$folder/tree" apply --allow-empty; then
    tree=$folder/tree
    find "$tree" -path "$tree/.git" -prune -o -exec touch -h -d 2020-02-02 {} +
fi
(umask 077 && cd "$tree" && TZ=Asia/Tokyo LC_ALL=C.UTF-8 tools/deb.sh "$folder/longer/two") >"$folder/made" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/made"
for deb in "$folder"/one/*.deb; do
    cmp "$deb" "$folder/longer/two/${deb##*/}" || status=1
done
result $status "made again elsewhere they are the same bytes"
if have lintian lintian; then
    lintian --allow-root --fail-on error "$folder"/one/*.changes >"$folder/lintian" 2>&1
    status=$?
    sed 's/^/# /' "$folder/lintian"
    result $status "lintian finds no error"
else
    skip "lintian finds no error" "lintian is absent"
fi

# --- installed in a bare Debian

root=$folder/root
if [ "$(id -u)" -ne 0 ] || ! have debootstrap debootstrap ||
    ! debootstrap --variant=minbase bookworm "$root" "$mirror" >"$folder/debootstrap" 2>&1; then
    skip "they are installed in a bare Debian" "that needs root, debootstrap and $mirror"
    end_test
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir "$root/debs" && cp "$folder"/one/*.deb tools/debian/tests/demo tools/debian/tests/python "$root/debs"
within() { # words command: in the chroot, with mounts that go with it
    unshare -m sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"' "$root" "$2" >"$folder/said" 2>&1
    local status=$?
    [ $status -eq 0 ] || tail -n 30 "$folder/said" | sed 's/^/# /'
    result $status "$1"
}
within "apt installs them" "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /debs/*.deb"
within "the demonstration runs" "cd /tmp && sh /debs/demo"
within "Python imports the module" "python3 -c 'import trefoil'"
within "Python asks the demonstration's model" "cd /tmp && sh /debs/python"
within "the server has its user and folders" \
    "getent passwd trefoil && [ \"\$(stat -c %U /var/lib/trefoil)\" = trefoil ] && [ -d /etc/trefoil ]"
within "systemd reads the unit" "cp /lib/systemd/system/trefoil@.service /tmp/trefoil@study.service &&
    ! systemd-analyze verify --man=no /tmp/trefoil@study.service 2>&1 | grep trefoil"
within "the unit is hardened to 2.0 at most" "systemd-analyze security --offline=true --threshold=20 /tmp/trefoil@study.service"
within "they are removed" "DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq '*trefoil*' && ! command -v trefoil &&
    ! ls /usr/lib/python3/dist-packages/trefoil 2>/dev/null"

# --- the packages' own tests, as Debian runs them

if have autopkgtest autopkgtest; then
    stage=$(tools/deb.sh --stage "$folder/stage")
    unshare -m sh -c 'mount -t proc proc "$0/proc" && exec autopkgtest "$@" -- chroot "$0"' \
        "$root" "$folder"/one/*.deb "$stage/" >"$folder/said" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 30 "$folder/said" | sed 's/^/# /'
    grep -E '^[a-z]+ +(PASS|FAIL|SKIP)' "$folder/said" | sort -u | sed 's/^/# /'
    result $status "autopkgtest passes"
else
    skip "autopkgtest passes" "autopkgtest is absent"
fi
end_test
