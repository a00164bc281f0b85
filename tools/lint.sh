#!/usr/bin/env bash
# Everything that can be checked without running the program. Each check prints one line; problems
# are printed below it. Ends with status 1 if any check failed, and says which were skipped.
set -u
cd "$(dirname "$0")/.." || exit 1

failures=() skips=()
folders=(base netio mpc protocols aim parties library)

# What a folder may include, itself aside: the dependency order of the design. bench and tests see all.
declare -A allowed=(
    [base]=""
    [netio]="base"
    [mpc]="netio base"
    [protocols]="mpc netio base"
    [aim]="base"
    [parties]="protocols mpc netio aim base"
    [library]="aim base"
)
# And within aim/ and parties/, where files of a room may include those of its own and of these; what
# has no room, such as main.c, sees all.
declare -A below=(
    [table]=""
    [sql]="table"
    [question]="table"
    [study]=""
    [exchange]="study"
    [display]="study"
    [audit]="study"
    [store]="exchange study"
    [server]="store audit exchange display study"
    [owner]="exchange display study"
    [analyst]="exchange study"
    [command]="server owner analyst store audit exchange display study"
)

check() { # name command...: the command prints problems, or nothing
    local name=$1 problems
    shift
    problems=$("$@")
    if [ -z "$problems" ]; then
        printf '%-42s ok\n' "$name"
    else
        printf '%-42s FAILED\n%s\n' "$name" "$problems"
        failures+=("$name")
    fi
}

skip() { # name reason
    printf '%-42s skipped: %s\n' "$1" "$2"
    skips+=("$1")
}

# Finds a program, or installs its package where apt-get and the rights are there.
have() { # program package
    command -v "$1" >/dev/null && return 0
    command -v apt-get >/dev/null || return 1
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || return 1
        as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "$2" >/dev/null 2>&1
    command -v "$1" >/dev/null
}

sources() { # of folders...
    find "$@" -name '*.[ch]' 2>/dev/null | LC_ALL=C sort
}

make_variable() { # name
    # shellcheck disable=SC2016
    make -s --no-print-directory -f Makefile -f <(printf 'print-it:\n\t@echo $(%s)\n' "$1") print-it
}

include_order() {
    local folder file line included
    for folder in "${folders[@]}"; do
        while IFS=: read -r file line included; do
            [[ " $folder ${allowed[$folder]} " == *" $included "* ]] ||
                echo "$file:$line: $folder/ may not include $included/"
        done < <(sources "$folder" | xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
            sed -E 's|^([^:]+:[0-9]+):[^"]*"([^/"]*)/?[^"]*".*|\1:\2|')
    done
    while IFS=: read -r file line included; do
        folder=${file#*/}
        folder=${folder%%/*}
        [ -n "${below[$folder]+is there}" ] || echo "$file:$line: ${file%/*} has no place in the order"
        [[ " $folder ${below[$folder]-} " == *" $included "* ]] ||
            echo "$file:$line: ${file%/*}/ may not include ${file%%/*}/$included"
    done < <(sources aim parties | grep '/.*/' | xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
        sed -nE 's|^(([^/]+)/[^:]+:[0-9]+):[^"]*"\2/([^/"]*)/?[^"]*".*|\1:\3|p')
}

# What files must not reach, be it over ten headers: the study knows no network, owners' code no shares.
declare -A unreachable=(
    ['parties/study/*.c']="netio mpc"
    ['parties/owner/*.c']="mpc"
    ['protocols/*_pack.c']="netio mpc"
)

reached() { # folders, files...
    local folders=${1// /|} file
    shift
    for file in "$@"; do
        # shellcheck disable=SC2086
        gcc $flags $package_flags -MM "$file" | grep -oE "(^|[[:space:]])($folders)/[^[:space:]]*" |
            sed "s|^[[:space:]]*|$file: reaches |"
    done
}

out_of_reach() {
    local pattern
    for pattern in "${!unreachable[@]}"; do
        # shellcheck disable=SC2086
        reached "${unreachable[$pattern]}" $pattern
    done
}

# A header that includes the moves must be found behind another, or the check above checks nothing.
reach_is_found() {
    local planted
    planted=$(mktemp --suffix=.c)
    echo '#include "protocols/answers.h"' >"$planted"
    reached "netio mpc" "$planted" | grep -q "$planted: reaches mpc/share\.h" ||
        echo "$planted: reaches mpc/share.h, and is not found"
    rm -f "$planted"
}

# Of mpc/ and protocols/ only the moves, and the check of what they move, touch the network; whoever is given as $1 is looked at too.
only_moves_send() { # [file]
    find mpc protocols ${1:+"$1"} -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort | grep -v '^mpc/move\.c$' |
        xargs -r grep -nHE '(^|[^_[:alnum:]])net_(exchange|stream|ride|settle)[[:space:]]*\('
    find mpc protocols -name '*.[ch]' | LC_ALL=C sort | grep -vE '^mpc/(move|check)[_a-z]*\.[ch]$' |
        xargs -r grep -nHE '^#include "mpc/(move|check)_private\.h"|(^|[^_[:alnum:]])move_round[[:space:]]*\('
}

# A file that sends by itself must be found, or the check above checks nothing.
senders_are_found() {
    local planted
    planted=$(mktemp --suffix=.c)
    echo 'TRY(net_exchange(p->net, &round));' >"$planted"
    only_moves_send "$planted" | grep -q "^$planted:1:" || echo "$planted: sends, and is not found"
    rm -f "$planted"
}

only_main_exits() {
    sources "${folders[@]}" | grep -v '^parties/main\.c$' |
        xargs -r grep -nHE '(^|[^_[:alnum:]])(exit|abort|quick_exit)[[:space:]]*\(' |
        grep -vE ':[[:space:]]*(\*|/\*|//)'
}

# A name in .data or .bss of an object is state outside of any context. Constant tables are in
# .rodata or, where they hold pointers, in .data.rel.ro. What a signal handler sets has to be one.
no_mutable_globals() { # tree of objects
    local object
    for object in $(cd "$1" && find "${folders[@]}" -name '*.o' 2>/dev/null); do
        objdump -t "$1/$object" |
            awk -v o="$object" -F'\t' 'NF == 2 {
                n = split($1, word, " ")
                split($2, rest, " ")
                if (rest[2] != "stop_requested" && rest[2] !~ /^\./ && word[n] ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && word[n] !~ /^\.data\.rel\.ro/)
                    print o ": " rest[2] " is mutable and outside of any context"
            }'
    done
}

# A function of ours with the name of a library's takes its place inside that library too: open64()
# once broke SQLite. The same name twice among our own folders fails at the link.
no_name_of_a_library() { # tree of objects
    local library
    for library in $(ldd "$1/trefoil" | awk '/=>/ { print $3 }'); do
        nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }'
    done | LC_ALL=C sort -u >"$1/names-of-libraries"
    find "${folders[@]/#/$1/}" -name '*.o' -exec nm -g --defined-only {} + | awk 'NF == 3 { print $3 }' |
        LC_ALL=C sort -u | LC_ALL=C comm -12 - "$1/names-of-libraries" |
        sed 's/$/: is the name of something in a library that we link/'
}

guards() {
    local header guard
    for header in $(sources "${folders[@]}" tests bench | grep '\.h$'); do
        guard=TREFOIL_$(tr 'a-z/.' 'A-Z__' <<<"$header")
        grep -q "^#ifndef $guard\$" "$header" || echo "$header: no include guard $guard"
    done
}

headers_alone() {
    local header
    for header in $(sources "${folders[@]}" | grep '\.h$'); do
        # shellcheck disable=SC2086
        echo "#include \"$header\"" | gcc $flags $package_flags -fsyntax-only -x c - 2>&1 |
            grep -E 'error|warning' | sed "s|^|$header alone: |"
    done
}

full_build() { # compiler
    local log=build/lint-$1.log
    mkdir -p build
    make -k --no-print-directory CC="$1" WERROR=1 OUT="build/lint-$1" programs >"$log" 2>&1 ||
        { grep -E 'error|warning|\*\*\*' "$log" | head -n 40; echo "(all of it: $log)"; }
}

# Each file must fail to compile, for the reason that it names; with FINE defined it must compile.
no_compile() { # compiler
    local file reason output
    for file in tests/nocompile/*.c; do
        reason=$(sed -n 's/^ \* expect: //p' "$file" | head -n 1)
        # shellcheck disable=SC2086
        output=$("$1" $flags $package_flags -DFINE -c "$file" -o /dev/null 2>&1) ||
            printf '%s: does not compile with FINE defined:\n%s\n' "$file" "$output"
        # shellcheck disable=SC2086
        if output=$("$1" $flags $package_flags -c "$file" -o /dev/null 2>&1); then
            echo "$file: compiles under $1, and must not"
        elif [ -z "$reason" ] || ! grep -q -- "$reason" <<<"$output"; then
            printf '%s: fails for another reason than "%s":\n%s\n' "$file" "$reason" "$output"
        fi
    done
}

scripts() {
    find tools tests bench .ci -type f \( -name '*.sh' -o -path '.ci/run' \) 2>/dev/null | sort
}

script_syntax() {
    local script
    for script in $(scripts); do
        bash -n "$script" 2>&1
        [ -x "$script" ] || [[ $script == *.test.sh ]] || echo "$script: not executable"
    done
}

# clang-format leaves comments as they are.
line_width() {
    sources "${folders[@]}" tests bench | xargs awk 'length($0) > 100 { print FILENAME ":" FNR ": " length($0) }'
}

white_space() {
    # shellcheck disable=SC2046
    grep -nHE '[[:space:]]+$' $(sources "${folders[@]}" tests bench) $(scripts) Makefile 2>/dev/null
}

formatted() {
    sources "${folders[@]}" tests bench | xargs -r clang-format --dry-run -Werror 2>&1 |
        grep -E 'error|warning'
}

flags=$(make_variable FLAGS)
package_flags=$(make_variable PKG_CFLAGS)

check "include order" include_order
check "out of reach" out_of_reach
check "what is in reach is found" reach_is_found
check "only parties/main.c exits" only_main_exits
check "only mpc/move.c sends shares" only_moves_send
check "who else sends is found" senders_are_found
check "include guards" guards
check "no space at line ends" white_space
check "lines fit 100 columns" line_width
check "shell scripts parse" script_syntax

if have clang-format clang-format; then
    check "format (clang-format)" formatted
else
    skip "format (clang-format)" "clang-format is absent and cannot be installed"
fi

check "each header compiles alone" headers_alone
compilers=(gcc)
if have clang clang; then
    compilers+=(clang)
else
    skip "everything under clang" "clang is absent and cannot be installed"
fi
for compiler in "${compilers[@]}"; do
    check "what must not compile ($compiler)" no_compile "$compiler"
    check "no warnings ($compiler)" full_build "$compiler"
done
check "no mutable globals" no_mutable_globals build/lint-gcc
check "no names of libraries" no_name_of_a_library build/lint-gcc

[ ${#skips[@]} -eq 0 ] || echo "skipped: ${skips[*]}"
if [ ${#failures[@]} -gt 0 ]; then
    printf 'lint: %d failed:' "${#failures[@]}"
    printf ' [%s]' "${failures[@]}"
    echo
    exit 1
fi
echo "lint: clean"
