#!/usr/bin/env bash
# The image of tools/oci.sh, without an engine: the same bytes twice, read by skopeo and umoci, and a server in its root
# under bubblewrap as docs/containers has it run: read only, as user 10001, without capabilities, with a probe. Then the
# files of docs/containers. Needs a mirror of Debian's packages.
#
#   tests/containers.sh build/gcc/trefoil
set -u
cd "$(dirname "$0")/.." || exit 1
TREFOIL=${1:-build/gcc/trefoil}
. tests/scripts/support.sh
version=$(sed -n 's/^VERSION := //p' Makefile)

for p in mmdebstrap skopeo umoci bwrap docker-compose python3; do
    package=${p/bwrap/bubblewrap}
    have "$p" "$package" || { skip "an image" "no $package"; end_test; }
done
tools/oci.sh "$trefoil" "$folder/oci" >"$folder/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
result $status "an image is made"
[ $status -eq 0 ] || end_test
tools/oci.sh "$trefoil" "$folder/again" >"$folder/log" 2>&1
diff -r "$folder/oci" "$folder/again" >/dev/null
result $? "a second image has the same bytes"
rm -rf "$folder/again"
skopeo inspect "oci:$folder/oci" | grep -q "\"org.opencontainers.image.version\": \"$version\""
result $? "skopeo reads it"
umoci unpack --rootless --image "$folder/oci:$version" "$folder/bundle" >/dev/null 2>&1
result $? "umoci unpacks it"
root=$folder/bundle/rootfs

# The study of the demonstration, and one of its servers, as user 10001 in its own root.
"$trefoil" demo --provider --folder "$folder/demo" >"$folder/log" 2>&1
result $? "a study to serve"
mkdir -m 755 "$folder/in" "$folder/store"
cp "$folder/demo/study.yaml" "$folder/in/"
sed -n '/^provider:/,/^keeper:/p' "$folder/in/study.yaml" >"$folder/part"
name=$(sed -n 's/.*name: *\([a-z-]*\).*/\1/p' "$folder/part" | head -n 1)
cp "$folder/demo/$name.key" "$folder/in/server.key"
inside() { # arguments of trefoil; runs it as an engine would
    bwrap --unshare-user --unshare-pid --as-pid-1 --unshare-ipc --unshare-uts --uid 10001 --gid 10001 --cap-drop ALL \
        --ro-bind "$root" / --proc /proc --dev /dev --ro-bind "$folder/in" /etc/trefoil --bind "$folder/store" /var/lib/trefoil \
        --clearenv --setenv OPENBLAS_NUM_THREADS 1 --die-with-parent /usr/bin/trefoil "$@"
}
inside --version | grep -qx "trefoil $version"
result $? "the program runs in the image's root"
inside serve /etc/trefoil/study.yaml --key /etc/trefoil/server.key --folder /var/lib/trefoil/study --listen "127.0.0.1:$port" \
    --status "$((port + 20))" --log json 2>"$folder/serve.log" &
bwrap=$!
for _ in $(seq "$(patience 100)"); do
    inside check --server "$((port + 20))" 2>"$folder/probe" && break
    sleep 0.1
done
inside check --server "$((port + 20))" && python3 - "$folder/serve.log" <<'END'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert any(l["level"] == "info" and l.get("server") == 0 and "is ready" in l["text"] for l in lines), lines
END
result $? "a server runs there, the probe says so, and each line of its log is JSON"
kill -TERM "$(pgrep -P "$(pgrep -P "$bwrap")")"
wait "$bwrap"
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/serve.log"
result $status "SIGTERM ends it with 0"
inside check --server "$((port + 20))" 2>/dev/null
[ $? -eq 4 ]
result $? "the probe then ends with 4"

mkdir "$folder/compose" && cp docs/containers/compose.yaml "$folder/compose/" && touch "$folder/compose/server.key"
docker-compose -f "$folder/compose/compose.yaml" config >"$folder/log" 2>&1
status=$?
[ $status -eq 0 ] || sed 's/^/# /' "$folder/log"
result $status "docker-compose understands compose.yaml"
"$trefoil" serve --help >"$folder/help"
for file in docs/containers/*.yaml; do
    grep -q "image: trefoil:$version" "$file"
    result $? "$file names this version"
    grep -oE -- '--(key|folder|lanes|status|log|server)\b' "$file" | sort -u | grep -v -- --server |
        while read -r option; do grep -q -- "$option " "$folder/help" || exit 1; done
    result $? "$file has options that there are"
done
end_test
