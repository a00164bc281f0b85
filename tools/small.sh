#!/usr/bin/env bash
# Builds the small sets: what a reader of results or an owner of data needs, without OpenSSL, ZeroMQ, SQLite, ODBC,
# and OpenBLAS, from sources of five libraries: Debian's source packages, whose digests are here. As modules of
# WebAssembly for the pages that `trefoil explore` and `trefoil page` write; they need clang, lld, wasi-libc and
# libclang-rt-14-dev-wasm32. Or as a static program for owners and readers, which any Linux runs as it is.
#
#   tools/small.sh reader|owner   build/small/reader.wasm, build/small/owner.wasm
#   tools/small.sh x86-64|arm64   build/small/trefoil-small-x86-64, build/small/trefoil-small-arm64
#   SOURCES=DIR                   where the tarballs are, or go; default build/small/sources
set -euo pipefail
export LC_ALL=C # the linker takes objects as they are sorted
cd "$(dirname "$0")/.."
target=${1:-reader}
[[ $target =~ ^(reader|owner|x86-64|arm64)$ ]] || { echo "usage: tools/small.sh reader|owner|x86-64|arm64" >&2; exit 2; }
out=build/small
sources=${SOURCES:-$out/sources}
jobs=$(nproc)

case $target in
x86-64) cc=gcc host=x86_64-linux-gnu needs=gcc packages="gcc libc6-dev" ;;
arm64) host=aarch64-linux-gnu cc=$host-gcc needs=$cc packages="gcc-$host libc6-dev-arm64-cross" ;;
*) cc=${CLANG:-clang-14} host= needs="$cc wasm-ld-14" packages="clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32" ;;
esac
for program in $needs apt-get xz; do
    command -v "$program" >/dev/null ||
        { echo "tools/small.sh: $program is missing: apt-get install $packages xz-utils (Debian 13 has no clang-14: docs/explore.md)" >&2; exit 1; }
done
[ -n "$host" ] || [ -d /usr/include/wasm32-wasi ] || { echo "tools/small.sh: apt-get install wasi-libc" >&2; exit 1; }

# --- sources: package, tarball, SHA-256
libraries="
libsodium libsodium_1.0.18.orig.tar.gz d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4
jansson jansson_2.14.orig.tar.gz c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b
gmp gmp_6.2.1+dfsg1.orig.tar.xz 471b9e463e04362a0124f215afc5f0a4b99caedeeb62634c61bbc12988efa64c
libyaml libyaml_0.2.5.orig.tar.gz fa240dbf262be053f3898006d502d514936c818e422afdcf33921c63bed9bf2e
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
exec 9>"$out/lock" # one run at a time in this folder
flock -n 9 || { echo "tools/small.sh: waits for another run in $PWD/$out" >&2 && flock 9; }
while read -r package tarball digest; do
    [ -n "$package" ] || continue
    [ -f "$sources/$tarball" ] || fetch "$package"
    echo "$digest  $sources/$tarball" | sha256sum --check --quiet - ||
        { echo "tools/small.sh: $sources/$tarball is not the one that is asked for" >&2; exit 1; }
    [ -d "$out/$package" ] || { mkdir -p "$out/$package.new" && tar -xf "$sources/$tarball" -C "$out/$package.new" \
        --strip-components 1 && mv "$out/$package.new" "$out/$package"; } || exit 1
done <<<"$libraries"

# --- what their configure scripts would write
made=$out/made
mkdir -p "$made/sodium"
sed 's/@json_inline@/inline/; s/@json_have_long_long@/1/; s/@json_have_[a-z_]*@/0/' \
    $out/jansson/src/jansson_config.h.in >"$made/jansson_config.h"
echo '#define HAVE_STDINT_H 1' >"$made/jansson_private_config.h"
: >"$made/config.h" # libyaml's; what it would say is in the flags below
sed 's/@VERSION@/1.0.18/; s/@SODIUM_LIBRARY_VERSION_MAJOR@/10/; s/@SODIUM_LIBRARY_VERSION_MINOR@/3/; s/@SODIUM_LIBRARY_MINIMAL_DEF@//' \
    $out/libsodium/src/libsodium/include/sodium/version.h.in >"$made/sodium/version.h"

# --- compile
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
sodium=$out/libsodium/src/libsodium
flags=(-O2 -std=gnu11 -D_GNU_SOURCE -ffile-prefix-map="$PWD=." -ffunction-sections -fdata-sections
    -include tools/small/small_missing.h -DHAVE_CONFIG_H -DHAVE_STDINT_H
    -Itools/small/libraries -I. "-I$made" "-I$out/jansson/src" "-I$sodium/include" "-I$sodium/include/sodium" "-I$made/sodium"
    "-I$out/gmp/mini-gmp" "-I$out/libcsv" "-I$out/libyaml/include" -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2
    -DYAML_VERSION_PATCH=5 '-DYAML_VERSION_STRING="0.2.5"' -DYAML_DECLARE_STATIC "-DTREFOIL_VERSION=\"$version\"")
own=(tools/small/small_missing.c parties/command/command.c parties/display/progress.c)
folders=(base aim/table aim/question aim/workload)
if [ -n "$host" ]; then
    own+=(base/secret.c tools/small/small_owner.c)
else
    flags+=(--target=wasm32-wasi -Itools/small/include -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_PROCESS_CLOCKS)
    own+=(tools/small/small_{secret,$target}.c)
fi
if [ $target != owner ]; then
    own+=(parties/command/cmd_{query,synth}.c parties/display/answers.c parties/display/answers_json.c)
    folders+=(aim/model aim/copula aim/answer)
fi
if [ $target != reader ]; then
    own+=(tools/small/small_aes.c parties/command/cmd_{check,keygen,share}.c parties/command/share_{parcel,servers}.c
        parties/settings/{two,three}/split.c parties/settings/two/owner_noise.c parties/setting/upload.c
        aim/train/{features,shrink}.c parties/display/card.c protocols/{counts_pack,records_pack,mask,tape,gauss,gumbel,discrete,exponential,measure,score}.c mpc/circuits/argmax.c mpc/pair/{own,joint}_noise.c mpc/lattice/*.c mpc/kernel/prime.c "$out"/libyaml/src/*.c)
    folders+=(aim/sql aim/budget aim/run parties/study parties/exchange parties/owner)
fi
[ $target != owner ] || own+=(aim/model/*.c aim/copula/copula.c aim/answer/{sorted,answer,answer_events}.c)
[ -z "$host" ] || own+=(parties/command/{cmd_admit,cmd_approve,admit_*}.c)
[ $target != x86-64 ] || own+=(base/processor.c base/prg_vaes.c)
for f in $(printf '%s/*.c ' "${folders[@]}"); do
    case $f in
    aim/sql/odbc.c | parties/owner/courier.c | parties/owner/carrier.c | parties/owner/courier_noise.c | parties/exchange/d*.c | parties/exchange/client.c) ;;
    base/secret.c | base/prg_* | base/hash_bytes.c | parties/study/study_example.c | parties/exchange/request.c | base/unicode_utf8proc.c | base/processor.c | base/thread_pool.c) ;;
    base/prg.c) [ $target = reader ] || own+=("$f") ;;
    *) own+=("$f") ;;
    esac
done
others=("$out"/jansson/src/*.c "$out"/gmp/mini-gmp/mini-gmp.c "$out"/gmp/mini-gmp/mini-mpq.c "$out"/libcsv/libcsv.c)
if [ -z "$host" ]; then
    others+=("$sodium"/crypto_generichash/crypto_generichash.c "$sodium"/crypto_generichash/blake2b/ref/*.c
        "$sodium"/crypto_hash/sha256/cp/*.c "$sodium"/crypto_hash/sha256/*.c "$sodium"/crypto_stream/chacha20/ref/*.c
        "$sodium"/crypto_stream/chacha20/stream_chacha20.c "$sodium"/sodium/codecs.c "$sodium"/crypto_verify/sodium/verify.c)
else # all of it, in the form for any processor
    flags+=(-DCONFIGURED=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_TI_MODE=1 -DHAVE_PTHREAD=1 -DHAVE_SYS_MMAN_H=1 -DHAVE_MMAP=1
        -DHAVE_MLOCK=1 -DHAVE_MADVISE=1 -DHAVE_MPROTECT=1 -DHAVE_RAISE=1 -DHAVE_SYSCONF=1 -DHAVE_POSIX_MEMALIGN=1
        -DHAVE_SYS_RANDOM_H=1 -DHAVE_GETRANDOM=1 -DHAVE_EXPLICIT_BZERO=1 -DHAVE_C11_MEMORY_FENCES=1 -DHAVE_WEAK_SYMBOLS=1)
    mapfile -t -O "${#others[@]}" others < <(find "$sodium" -name '*.c' | LC_ALL=C sort)
fi
if [ $target = owner ]; then
    for part in auth/hmacsha512 auth/hmacsha512256 box box/curve25519xsalsa20poly1305 core/ed25519 core/ed25519/ref10 \
        core/hsalsa20 core/hsalsa20/ref2 core/salsa/ref hash hash/sha512 hash/sha512/cp onetimeauth onetimeauth/poly1305 \
        onetimeauth/poly1305/donna scalarmult scalarmult/curve25519 scalarmult/curve25519/ref10 secretbox \
        secretbox/xsalsa20poly1305 sign sign/ed25519 sign/ed25519/ref10 stream stream/salsa20 stream/salsa20/ref stream/xsalsa20; do
        others+=("$sodium"/crypto_$part/*.c)
    done
fi
objects=$out/objects-$target
rm -rf "$objects"
mkdir -p "$objects"
compile() { # source
    local object warn=-w
    object=$objects/$(tr / _ <<<"$1").o
    [[ $1 == build/* ]] || warn=-Wall
    "$cc" "${flags[@]}" $warn ${2:-} -c "$1" -o "$object"
}
n=0
for f in "${own[@]}" "${others[@]}"; do
    [ -f "$f" ] || continue
    extra=
    [[ $f != *mini-mpq.c ]] || extra="-include mini-gmp.h -DGMP_LIMB_MAX=(~(mp_limb_t)0)"
    # shellcheck disable=SC2086
    { compile "$f" "$extra" || : >"$objects/failed"; } &
    n=$((n + 1))
    [ $((n % jobs)) -ne 0 ] || wait
done
wait
[ ! -e "$objects/failed" ] || { echo "tools/small.sh: not all files of $target compile" >&2; exit 1; }
file=$out/$target.wasm
if [ -n "$host" ]; then
    file=$out/trefoil-small-$target
    "$cc" -static -s -Wl,--gc-sections,--build-id=none -o "$file" "$objects"/*.o -lpthread -lm
else
    "$cc" --target=wasm32-wasi -Wl,--error-limit=0,--gc-sections,--strip-all,-z,stack-size=1048576 -o "$file" "$objects"/*.o \
        -lwasi-emulated-mman -lwasi-emulated-process-clocks
fi
printf '%s: %d bytes, %d packed\n' "$file" "$(stat -c %s "$file")" "$(gzip -9 <"$file" | wc -c)"
