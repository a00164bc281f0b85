#!/usr/bin/env bash
# An OCI image of a server, as a layout that any engine reads, made without one: the program, and the Debian packages of
# its libraries, unpacked. No shell, no user but 10001. The same tree and packages give the same bytes; times are those
# of the last commit, or SOURCE_DATE_EPOCH.
#
#   tools/oci.sh PROGRAM FOLDER      writes FOLDER; skopeo copy oci:FOLDER docker://... takes it from there
#   SUITE=bookworm MIRROR=URL        whose packages; default: this machine's release
set -euo pipefail
[ $# -eq 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
program=$1 out=$2
cd "$(dirname "$0")/.."
for tool in mmdebstrap gzip; do
    command -v $tool >/dev/null || { echo "tools/oci.sh: $tool is missing: apt-get install $tool" >&2; exit 1; }
done
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
fi
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^VERSION := //p' Makefile)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# the packages of what the program loads; apt adds what those need
mapfile -t files < <(ldd "$program" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }')
packages=$(for f in "${files[@]}"; do
    dpkg -S "$f" 2>/dev/null || dpkg -S "$(realpath "$f")" 2>/dev/null || dpkg -S "${f#/usr}"
done | sed 's/:.*//' | LC_ALL=C sort -u | paste -sd,)
mmdebstrap --quiet --mode="$([ "$(id -u)" -eq 0 ] && echo root || echo unshare)" --variant=extract --format=directory \
    --include="$packages" "${SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}" "$root" ${MIRROR:+"$MIRROR"} >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }

# only what a running program loads; libraries of alternatives (BLAS) have no link until a maintainer's script runs
cd "$root"
find usr/share -type f ! -path '*/doc/*/copyright' -delete
find usr/share \( -type l -o -type d -empty \) -delete
rm -rf dev proc run sys tmp etc/apt var/cache var/lib/apt var/lib/dpkg var/log
mkdir -p dev proc run sys tmp usr/share/doc/trefoil usr/bin etc/trefoil var/lib/trefoil
for blas in usr/lib/*/openblas-pthread; do
    for so in "$blas"/lib*.so.[0-9]; do
        [ -e "$so" ] && ln -sfn "openblas-pthread/$(basename "$so")" "$(dirname "$blas")/$(basename "$so")"
    done
done
cd "$OLDPWD"
install -m 755 "$program" "$root/usr/bin/trefoil"
strip --strip-debug "$root/usr/bin/trefoil"
install -m 644 LICENSE "$root/usr/share/doc/trefoil/copyright"
echo 'trefoil:x:10001:10001:trefoil:/var/lib/trefoil:/usr/sbin/nologin' >"$root/etc/passwd"
echo 'trefoil:x:10001:' >"$root/etc/group"

# --- the layout
rm -rf "$out.new"
mkdir -p "$out.new/blobs/sha256"
blob() { # file: moves it to its place; prints its digest
    local digest
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    mv "$1" "$out.new/blobs/sha256/$digest"
    echo "$digest"
}
LC_ALL=C tar --create --directory "$root" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode='u+rw,go-w' --format=gnu --exclude=./var/lib/trefoil . >"$work/layer.tar"
mkdir -p "$work/volume/var/lib/trefoil"
LC_ALL=C tar --append --file "$work/layer.tar" --directory "$work/volume" --mtime="@$SOURCE_DATE_EPOCH" --owner=10001 \
    --group=10001 --numeric-owner --mode=700 --format=gnu ./var/lib/trefoil
diff=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
gzip -n -9 "$work/layer.tar"
size=$(stat -c %s "$work/layer.tar.gz")
layer=$(blob "$work/layer.tar.gz")
case $(uname -m) in x86_64) machine=amd64 ;; aarch64) machine=arm64 ;; *) machine=$(uname -m) ;; esac
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
cat >"$work/config" <<END
{"created":"$created","architecture":"$machine","os":"linux",
 "config":{"User":"10001:10001","Entrypoint":["/usr/bin/trefoil"],"Cmd":["--help"],"WorkingDir":"/var/lib/trefoil",
  "Env":["PATH=/usr/bin","OPENBLAS_NUM_THREADS=1"],"Volumes":{"/var/lib/trefoil":{}},"StopSignal":"SIGTERM",
  "Labels":{"org.opencontainers.image.title":"trefoil","org.opencontainers.image.version":"$version"}},
 "rootfs":{"type":"layers","diff_ids":["sha256:$diff"]},
 "history":[{"created":"$created","created_by":"tools/oci.sh"}]}
END
config_size=$(stat -c %s "$work/config")
config=$(blob "$work/config")
image=application/vnd.oci.image
cat >"$work/manifest" <<END
{"schemaVersion":2,"mediaType":"$image.manifest.v1+json",
 "config":{"mediaType":"$image.config.v1+json","digest":"sha256:$config","size":$config_size},
 "layers":[{"mediaType":"$image.layer.v1.tar+gzip","digest":"sha256:$layer","size":$size}]}
END
manifest_size=$(stat -c %s "$work/manifest")
manifest=$(blob "$work/manifest")
cat >"$out.new/index.json" <<END
{"schemaVersion":2,"mediaType":"$image.index.v1+json","manifests":[
 {"mediaType":"$image.manifest.v1+json","digest":"sha256:$manifest","size":$manifest_size,
  "annotations":{"org.opencontainers.image.ref.name":"$version"}}]}
END
echo '{"imageLayoutVersion":"1.0.0"}' >"$out.new/oci-layout"
rm -rf "$out"
mv "$out.new" "$out"
echo "$out: version $version for $machine, $(du -sh "$out" | cut -f1), sha256:$manifest"
