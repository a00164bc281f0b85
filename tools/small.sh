#!/usr/bin/env bash
# Builds the small set: what a reader of results needs, without OpenSSL, ZeroMQ, SQLite, ODBC, OpenBLAS and threads,
# as a module of WebAssembly for the page that `trefoil explore` writes. Needs clang, lld, wasi-libc and
# libclang-rt-14-dev-wasm32 (Debian), and sources of four libraries: Debian's source packages, whose digests are here.
#
#   tools/small.sh reader        build/small/reader.wasm
#   SOURCES=DIR                  where the tarballs are, or go; default build/small/sources
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-reader}
[ "$target" = reader ] || { echo "usage: tools/small.sh reader" >&2; exit 2; }
out=build/small
sources=${SOURCES:-$out/sources}
clang=${CLANG:-clang-14}
jobs=$(nproc)

for program in "$clang" wasm-ld-14 apt-get; do
    command -v "$program" >/dev/null || {
        echo "tools/small.sh: $program is missing: apt-get install clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32" >&2
        exit 1
    }
done
[ -d /usr/include/wasm32-wasi ] || { echo "tools/small.sh: apt-get install wasi-libc" >&2; exit 1; }

# --- sources: package, tarball, SHA-256
libraries="
libsodium libsodium_1.0.18.orig.tar.gz d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4
jansson jansson_2.14.orig.tar.gz c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b
gmp gmp_6.2.1+dfsg1.orig.tar.xz 471b9e463e04362a0124f215afc5f0a4b99caedeeb62634c61bbc12988efa64c
libcsv libcsv_3.0.3+dfsg.orig.tar.gz 06fddfaca720a4be7603bad63eb1833bca5b6c5a69b42b1c518a02cda2a73aef
"

# apt-get verifies them, too; it keeps lists of its own here, so that the machine's stay as they are.
fetch() { # package
    mkdir -p "$sources/lists/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
        >"$sources/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::SourceList=$PWD/$sources/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$PWD/$sources/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    [ -e "$sources/lists/fetched" ] || { "${apt[@]}" update && touch "$sources/lists/fetched"; }
    (cd "$sources" && "${apt[@]}" source --download-only "$1" 2>/dev/null)
}

mkdir -p "$sources" "$out"
while read -r package tarball digest; do
    [ -n "$package" ] || continue
    [ -f "$sources/$tarball" ] || fetch "$package"
    echo "$digest  $sources/$tarball" | sha256sum --check --quiet - ||
        { echo "tools/small.sh: $sources/$tarball is not the one that is asked for" >&2; exit 1; }
    [ -d "$out/$package" ] || { mkdir -p "$out/$package.new" && tar -xf "$sources/$tarball" -C "$out/$package.new" \
        --strip-components 1 && mv "$out/$package.new" "$out/$package"; }
done <<<"$libraries"

# --- what their configure scripts would write
made=$out/made
mkdir -p "$made/sodium"
sed 's/@json_inline@/inline/; s/@json_have_long_long@/1/; s/@json_have_[a-z_]*@/0/' \
    $out/jansson/src/jansson_config.h.in >"$made/jansson_config.h"
echo '#define HAVE_STDINT_H 1' >"$made/jansson_private_config.h"
sed 's/@VERSION@/1.0.18/; s/@SODIUM_LIBRARY_VERSION_MAJOR@/10/; s/@SODIUM_LIBRARY_VERSION_MINOR@/3/; s/@SODIUM_LIBRARY_MINIMAL_DEF@//' \
    $out/libsodium/src/libsodium/include/sodium/version.h.in >"$made/sodium/version.h"

# --- compile
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
sodium=$out/libsodium/src/libsodium
flags=(--target=wasm32-wasi -O2 -std=gnu11 -D_GNU_SOURCE -ffile-prefix-map="$PWD=." -ffunction-sections -fdata-sections
    -include tools/small/small_missing.h -DHAVE_CONFIG_H -DHAVE_STDINT_H
    -Itools/small/include -I. "-I$made" "-I$out/jansson/src" "-I$sodium/include" "-I$sodium/include/sodium" "-I$made/sodium"
    "-I$out/gmp/mini-gmp" "-I$out/libcsv" -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_PROCESS_CLOCKS
    "-DTREFOIL_VERSION=\"$version\"")
own=(tools/small/small_*.c parties/command/cmd_query.c parties/command/cmd_synth.c parties/command/command.c
    parties/display/answers.c parties/display/answers_json.c parties/display/progress.c)
for f in base/*.c aim/table/*.c aim/question/*.c aim/workload/*.c aim/model/*.c aim/copula/*.c aim/answer/*.c; do
    case $f in
    base/secret.c | base/prg*.c | base/unicode_utf8proc.c | base/processor.c | base/thread_pool.c | aim/sql/*) ;;
    *) own+=("$f") ;;
    esac
done
others=("$out"/jansson/src/*.c "$out"/gmp/mini-gmp/mini-gmp.c "$out"/gmp/mini-gmp/mini-mpq.c "$out"/libcsv/libcsv.c
    "$sodium"/crypto_generichash/crypto_generichash.c "$sodium"/crypto_generichash/blake2b/ref/*.c
    "$sodium"/crypto_hash/sha256/cp/*.c "$sodium"/crypto_hash/sha256/*.c "$sodium"/crypto_stream/chacha20/ref/*.c
    "$sodium"/crypto_stream/chacha20/stream_chacha20.c "$sodium"/sodium/codecs.c "$sodium"/crypto_verify/sodium/verify.c)
objects=$out/objects
rm -rf "$objects"
mkdir -p "$objects"
compile() { # source
    local object warn=-w
    object=$objects/$(tr / _ <<<"$1").o
    [[ $1 == build/* ]] || warn=-Wall
    "$clang" "${flags[@]}" $warn ${2:-} -c "$1" -o "$object"
}
n=0
for f in "${own[@]}" "${others[@]}"; do
    [ -f "$f" ] || continue
    extra=
    [[ $f != *mini-mpq.c ]] || extra="-include mini-gmp.h -DGMP_LIMB_MAX=(~(mp_limb_t)0)"
    # shellcheck disable=SC2086
    compile "$f" "$extra" &
    n=$((n + 1))
    [ $((n % jobs)) -ne 0 ] || wait
done
wait
"$clang" --target=wasm32-wasi -Wl,--gc-sections,--strip-all,-z,stack-size=1048576 -o "$out/$target.wasm" "$objects"/*.o \
    -lwasi-emulated-mman -lwasi-emulated-process-clocks
printf '%s: %d bytes, %d packed\n' "$out/$target.wasm" "$(stat -c %s "$out/$target.wasm")" "$(gzip -9 <"$out/$target.wasm" | wc -c)"
