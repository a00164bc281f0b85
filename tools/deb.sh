#!/usr/bin/env bash
# Debian packages of the tree as it is here, without files that git does not track. They have the same bytes wherever
# and whenever they are made: times are those of the last commit, or SOURCE_DATE_EPOCH.
#
#   tools/deb.sh FOLDER             installs what that needs, and makes them in FOLDER
#   tools/deb.sh --stage FOLDER     makes only the source tree, with debian/, that dpkg-buildpackage takes
set -eu
cd "$(dirname "$0")/.."
only_stage=
[ "$1" != --stage ] || { only_stage=yes; shift; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(sed -n 's/^VERSION := //p' Makefile)
[ -n "$only_stage" ] || tools/deps.sh debhelper dh-python dpkg-dev fakeroot lintian scdoc >&2
in_git() { git -C "$PWD" rev-parse --is-inside-work-tree >/dev/null 2>&1; }

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH
if in_git && ! git describe --exact-match --tags HEAD 2>/dev/null | grep -qx "v$version"; then
    # before the release of this version, or after it
    if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then sign=+; else sign='~'; fi
    version=$version${sign}git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M)
fi

stage=$out/trefoil-$version
rm -rf "$stage" && mkdir "$stage"
if in_git; then
    git ls-files -z
else
    find . -path ./build -prune -o -type f -print0
fi | tar -c --null -T - | tar -x -C "$stage"
cp -a tools/debian "$stage/debian"
cat >"$stage/debian/changelog" <<END
trefoil ($version) unstable; urgency=medium

  * What is new stands in /usr/share/doc/trefoil/NEWS.md.gz.

 -- $(sed -n 's/^Maintainer: //p' tools/debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
# files that are packed unchanged keep their times, which differ between checkouts
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
[ -z "$only_stage" ] || { echo "$stage"; exit 0; }

umask 022
cd "$stage"
DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary -us -uc >"$out/build.log" 2>&1 ||
    { tail -n 30 "$out/build.log" >&2; echo "the packages are not made; all of it: $out/build.log" >&2; exit 1; }
cd "$out"
rm -rf "$stage"
ls -1 ./*_"$version"_*.deb | sed "s|^\./|$out/|"
