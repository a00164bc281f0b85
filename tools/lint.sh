#!/usr/bin/env bash
# Everything that can be checked without running the program. Each check prints one line; problems
# are printed below it. Ends with status 1 if any check failed, and says which were skipped.
# Compilers and clang-format look at files one by one, on all cores, those that changed last first. A file that was fine
# is noted in build/lint, and not looked at again until something that it is made of changes.
set -u
cd "$(dirname "$0")/.." || exit 1

failures=() skips=()
kept=$PWD/build/lint
folders=(base netio mpc protocols aim parties library)

# What a folder may include besides itself: the dependency order of the design. harness, which runs the product, sees
# all of it; so do tests and bench, which do not see each other.
declare -A allowed=(
    [base]=""
    [netio]="base"
    [mpc]="netio base"
    [protocols]="mpc netio base"
    [aim]="base"
    [parties]="protocols mpc netio aim base"
    [library]="aim base"
    [harness]="${folders[*]}"
    [tests]="tools harness ${folders[*]}"
    [bench]="harness ${folders[*]}"
)
# And within mpc/, aim/ and parties/, where files of a subfolder may include those of their own and of these;
# a file in none, such as main.c, sees all.
declare -A below=(
    [kernel]=""
    [lattice]="kernel"
    [party]="kernel"
    [move]="party kernel"
    [check]="move party kernel"
    [circuits]="move party kernel"
    [pair]="party kernel"
    [table]=""
    [sql]="table"
    [question]="table"
    [workload]="table"
    [budget]="workload table"
    [train]="workload table"
    [model]="workload table"
    [copula]="model budget workload table"
    [answer]="copula model workload question table"
    [run]="train copula model budget workload table"
    [study]=""
    [setting]="study"
    [exchange]="setting study"
    [display]="study"
    [audit]="study"
    [store]="setting exchange study"
    [server]="setting store audit exchange display study"
    [owner]="setting exchange display study"
    [analyst]="exchange study"
    [settings]="server setting store audit exchange display study"
    [command]="settings server setting owner analyst store audit exchange display study"
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

# Finds a program, or installs its package where there is apt-get and the right to use it.
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
    for folder in "${!allowed[@]}"; do
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
    done < <(sources mpc aim parties | grep '/.*/' | xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
        sed -nE 's|^(([^/]+)/[^:]+:[0-9]+):[^"]*"\2/([^/"]*)/?[^"]*".*|\1:\3|p')
    scripts_across tests bench
    scripts_across bench tests
    scripts_across harness "(tests|bench)"
}
# What scripts of a folder source, too.
scripts_across() { # folder, what it may not source
    find "$1" -name '*.sh' -exec grep -nHE "^(\.|source) $2/" {} + | sed "s|$|: $1/ may not source this|"
}

# A server uses its setting through two tables (parties/setting/), whatever computes behind them.
server_knows_no_shares() {
    sources parties/server parties/setting |
        xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"(mpc|protocols|parties/settings)/'
}

# One table has the settings that there are. Of three servers, `serve` starts other processes before it reads a
# study.
settings_are_in_one_table() {
    sources "${folders[@]}" | grep -vE '^parties/(settings/|command/settings\.c$)' |
        xargs -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"parties/settings/' |
        grep -v '^parties/command/cmd_serve\.c:.*three/ranks\.h"'
}

# What files must not reach, even through ten headers: the study knows no network, owners' code no shares.
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

# A header that includes the moves must be found through another, or the check above checks nothing.
reach_is_found() {
    local planted
    planted=$(mktemp --suffix=.c)
    echo '#include "protocols/counts_sum.h"' >"$planted"
    reached "netio mpc" "$planted" | grep -q "$planted: reaches mpc/kernel/share\.h" ||
        echo "$planted: reaches mpc/kernel/share.h, and is not found"
    rm -f "$planted"
}

# In mpc/ and protocols/ only the moves, and the check of what they move, touch the network (net_settle() sends what
# rides already, and nothing of its own). A file given as $1 is looked at too.
only_moves_send() { # [file]
    find mpc protocols ${1:+"$1"} -name '*.[ch]' -o -name '*.inc' | LC_ALL=C sort | grep -v '^mpc/move/move_exchange\.c$' |
        xargs -r grep -nHE '(^|[^_[:alnum:]])net_(exchange|stream|ride|settle)[[:space:]]*\('
    find mpc protocols -name '*.[ch]' | LC_ALL=C sort | grep -vE '^mpc/(move/move|check/check)[_a-z]*\.[ch]$' |
        xargs -r grep -nHE '^#include "mpc/(move/move|check/check)_private\.h"|(^|[^_[:alnum:]])move_exchange[[:space:]]*\('
}

# A file that sends by itself must be found, or the check above checks nothing.
senders_are_found() {
    local planted
    planted=$(mktemp --suffix=.c)
    echo 'TRY(net_exchange(p->net, &round));' >"$planted"
    only_moves_send "$planted" | grep -q "^$planted:1:" || echo "$planted: sends, and is not found"
    rm -f "$planted"
}

# No test compares a clock with a number or sleeps by itself, since a busy machine turns such a test red:
# harness/patience.h and harness/patience.sh have what tests wait with. A clock is also what is assigned from one.
# Files given are looked at too.
tests_by_the_clock() { # [file.c file.sh]
    sources tests harness bench/test_* bench/flaim/test_* ${1:+"$1"} | grep -v '^harness/patience\.' | xargs -r awk '
        function look(    n, i, part, term, name) {
            if (said ~ /(^|[^_[:alnum:]])(usleep|nanosleep|sleep|clock_pause) *\(|(^|[^_[:alnum:]])alarm *\( *[0-9]/)
                print file ":" line ": sleeps by itself"
            if (said ~ /assert_[a-z_]*\(.*(clock_now_m?s\(\)|clock_left_ms\()[^,]*,.*[^_[:alnum:]][0-9]/) {
                print file ":" line ": compares a clock with a number"
                return
            }
            n = split(said, part, /[,?:;]|&&|\|\|/)
            for (i = 1; i <= n; i++) {
                term = part[i]
                gsub(/\[[^]]*\]/, "", term)
                gsub(/([<>]|[=!<>]=) *0 *\)*$/, "", term)
                if (term ~ /[_[:alpha:]][_[:alnum:]]* *= *[^=]*clock_now_m?s\(\)/) {
                    name = term
                    sub(/ *=.*/, "", name)
                    sub(/.*[^_[:alnum:]]/, "", name)
                    clock[name] = 1
                }
                if (is_clock(term)) {
                    gsub(/[_[:alpha:]][_[:alnum:]]*/, "", term)
                    if (term ~ /[0-9]/ && term ~ /[-+*<>]|[=!]=/) {
                        print file ":" line ": compares a clock with a number"
                        return
                    }
                }
            }
        }
        function is_clock(term,    n, i, word) {
            if (term ~ /clock_now_m?s\(\)|clock_left_ms\(|date_now\(\).*[<>]|[<>].*date_now\(\)/) return 1
            if (term !~ /[<>]|[=!]=/) return 0
            n = split(term, word, /[^_[:alnum:]]+/)
            for (i = 1; i <= n; i++) if (word[i] in clock) return 1
            return 0
        }
        FNR == 1 { file = FILENAME; said = ""; split("", clock) }
        {
            gsub(/"([^"\\]|\\.)*"|\/\*.*\*\//, "")
            if (comment || /\/\*/) comment = !/\*\//
            if (comment || /^ *(\*|#)/) next
            if (said == "") line = FNR
            said = said " " $0
            if (/[;{}] *$/) { look(); said = "" }
        }'
    find tests harness ${2:+"$2"} -name '*.sh' | grep -v '^harness/patience\.sh$' | LC_ALL=C sort | xargs -r grep -nHE \
        '(^|[^_[:alnum:]])timeout (-k [0-9]+ )?[0-9]|SECONDS.* -[lg][te] [0-9]|(\{1\.\.[0-9]+\}|seq [0-9]|< *[0-9]+; *[a-z]+\+\+).*(^|[^_[:alnum:]])sleep ' |
        sed -E 's/^([^:]+:[0-9]+):.*/\1: waits for a number of seconds: see harness\/patience.sh/'
}

# Each of these ways to do it must be found, and none of those that are allowed.
clocks_are_found() {
    local planted lines
    planted=$(mktemp -d)
    cat >"$planted/a.c" <<'X'
assert_true(clock_now_ms() - begin < 5000);
assert_in_range(clock_now_ms() - begin, 400, 1500);
while (open &&
       clock_now_s() < begin + 30) {
usleep(1000);
for (int64_t end = clock_now_ms() + 5000; !open;) {
p->seconds = clock_now_s() - begin;
assert_true(p[1].seconds >= 0.9);
OK(dial_send(d, "x", 1, clock_now_ms() + 200));
assert_true(when > date_now() - 3600);
assert_true(p[1].seconds >= 0 && clock_now_ms() >= deadline);
assert_int_equal(transport_wait(t[0], 3, 1u << NET_NEXT, clock_now_ms()), ERR_TIMEOUT);
for (end = support_moment(200); clock_now_ms() < end || served < 10; served++) {
X
    cat >"$planted/a.sh" <<'X'
timeout 300 "$@"
timeout -k 10 300 "$@"
[ $SECONDS -lt 20 ]
for _ in {1..100}; do sleep 1; done
for ((k = 0; k < 1200; k++)); do grep -q ready log && break || sleep 0.05; done
timeout "$(patience 30)" "$@"
until grep -q ready log; do sleep 0.05; done
X
    lines=$(tests_by_the_clock "$planted/a.c" "$planted/a.sh" | sed -nE "s|^$planted/a\.([a-z]+:[0-9]+):.*|\1|p" | tr '\n' ' ')
    [ "$lines" = "c:1 c:2 c:3 c:5 c:6 c:8 c:9 c:10 sh:1 sh:2 sh:3 sh:4 sh:5 " ] || echo "$planted: found are $lines"
    rm -rf "$planted"
}

only_main_exits() {
    sources "${folders[@]}" | grep -v '^parties/main\.c$' |
        xargs -r grep -nHE '(^|[^_[:alnum:]])(exit|abort|quick_exit)[[:space:]]*\(' |
        grep -vE ':[[:space:]]*(\*|/\*|//)'
}

# Where a struct, an enum or a union is, its tag says: in a header it has a word of the header's path in it, singular or
# plural, and no tag is defined in two files. Three are words of everybody's. A folder given as $1 is looked at too.
tags_say_where() { # [folder]
    find "${folders[@]}" tests bench harness ${1:+"$1"} \( -name '*.[ch]' -o -name '*.inc' \) | LC_ALL=C sort |
        xargs awk '
            function singular(word) {
                sub(/[0-9]+$/, "", word)
                if (!sub(/ies$/, "y", word)) sub(/s$/, "", word)
                return word
            }
            function bears(tag, path,    n, m, word, part, i, j) {
                n = split(tag, word, "_")
                m = split(path, part, /[_\/.]/)
                for (i = 1; i <= n; i++)
                    for (j = 1; j < m; j++)
                        if (singular(word[i]) == singular(part[j]) || word[i] "es" == part[j]) return 1
                return path ~ /^netio\// && tag ~ /^net_/
            }
            /^[ \t]*((static|const|typedef) )*(struct|enum|union) [_[:alnum:]]+ *\{/ {
                tag = $0
                sub(/ *\{.*/, "", tag)
                sub(/.* /, "", tag)
                if (tag in where && where[tag] != FILENAME)
                    print FILENAME ":" FNR ": " tag " is the name of something in " where[tag] " too"
                else if (FILENAME ~ /\.h$/ && !(tag in where) && tag !~ /^(err|bits|planes|Arrow.*)$/ && !bears(tag, FILENAME))
                    print FILENAME ":" FNR ": " tag " has no word of this path in it"
                where[tag] = FILENAME
            }'
}

# A tag that says nothing, and one that is defined twice, must be found; one of the file's name must not.
tags_are_found() {
    local planted lines
    planted=$(mktemp -d)
    printf 'struct thing {\n};\nstruct tidings {\n};\n' >"$planted/tiding.h"
    printf 'enum tidings { ONE };\n' >"$planted/a.c"
    lines=$(tags_say_where "$planted" | sed -nE "s|^$planted/([a-z.]+:[0-9]+):.*|\1|p" | tr '\n' ' ')
    [ "$lines" = "tiding.h:1 tiding.h:3 " ] || echo "$planted: found are $lines"
    rm -rf "$planted"
}

# What an object of the product defines: "name NAME" for the linker, "global NAME" for state outside of any context, in
# .data or .bss; and "takes NAME" for what it uses and does not define. Constant tables are in .rodata or, where they
# hold pointers, in .data.rel.ro. What a signal handler sets has to be a global.
names_of() { # object
    objdump -t "$1" | awk -F'\t' 'NF == 2 {
        n = split($1, word, " ")
        split($2, rest, " ")
        name = rest[2] == ".hidden" ? rest[3] : rest[2]
        if (word[n] == "*UND*") print "takes " name
        else if (word[2] ~ /^[gw]/) print "name " name
        if (name != "stop_requested" && name !~ /^\./ && word[n] ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && word[n] !~ /^\.data\.rel\.ro/)
            print "global " name
    }'
}

product_names() { # name | global | takes: "FILE WORD NAME"
    awk -v kept="$kept" -v word="$1" -v product="^($(IFS='|'; echo "${folders[*]}"))/" '
        NR == FNR { compiled[$1] = 1; next }
        $2 ~ product && $2 in compiled {
            names = kept "/gcc-" $1
            while ((getline line <names) > 0) if (index(line, word " ") == 1) print $2, line
            close(names)
        }' "$kept/compiled" "$kept/digests"
}

no_mutable_globals() {
    product_names global | awk '{ print $1 ": " $3 " is mutable and outside of any context" }'
    product_names name | grep ' party_new$' >/dev/null || echo "no names of the product are known: $kept"
}

# No files call each other in a circle, whatever their headers include. The table of commands calls none of them.
calls_in_circles() { # ["FILE FILE": one more call]
    { product_names name; product_names takes; [ -z "$1" ] || echo "$1"; } | awk '
        $1 == "parties/command/commands.c" { next }
        NF == 2 { print; next }
        $2 == "name" { of[$3] = $1; next }
        $3 in of && of[$3] != $1 { print $1, of[$3] }' | tsort 2>&1 >/dev/null |
        sed -n 's/^tsort: \([^ ]*\.c\)$/\1: calls in a circle with those beside it/p'
}
circles_are_found() {
    calls_in_circles "mpc/move/move_exchange.c mpc/move/move_open.c" | grep -q '^mpc/move/move_open\.c:' ||
        echo "a circle of mpc/move/move_exchange.c and mpc/move/move_open.c is not found"
}

# A function of ours with the name of a library's replaces it inside that library too: open64()
# once broke SQLite. The same name twice in our own folders fails at the link.
no_name_of_a_library() {
    local library
    # shellcheck disable=SC2046
    echo 'int main(void) { return 0; }' | gcc -x c - -o "$kept/linked" -Wl,--no-as-needed \
        $(make_variable PKG_LIBS | sed 's/-Wl,--as-needed//') 2>&1
    for library in $(ldd "$kept/linked" | awk '/=>/ { print $3 }'); do
        nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }'
    done | LC_ALL=C sort -u >"$kept/names-of-libraries"
    grep -qx sqlite3_open "$kept/names-of-libraries" || echo "libraries are not found: $kept/linked"
    product_names name | awk '{ print $3 }' | LC_ALL=C sort -u | LC_ALL=C comm -12 - "$kept/names-of-libraries" |
        sed 's/$/: is the name of something in a library that we link/'
}

# Where the tour names a file beside a function, a table or a type, the file has it, or the .c of that header. A page
# given as $1 is read too.
tour_says_where() { # [page]
    local all name place files pattern
    all=$(sources "${folders[@]}" harness tests bench)
    cat docs/tour.md ${1:+"$1"} | tr '\n' ' ' | tr -s ' ' |
        grep -oP '`(\w+(\(\)|\[\])|(struct|enum) \w+)`(\*\*)?,? (\(|in )`\w[\w/]*\.[ch]`' |
        sed -E 's/`(struct |enum )?(\w+(\(\))?)[^`]*`[^`]*`([^`]*)`/\2 \4/' | LC_ALL=C sort -u | while read -r name place; do
        mapfile -t files < <(grep -E "(^|/)${place/%.h/.[ch]}\$" <<<"$all")
        case $name in
        *\(\)) pattern="^(#define |[[:alpha:]].*[ *])?${name%??}\\(" ;; # declared or defined there, not only called
        *) pattern="\\b$name\\b" ;;
        esac
        [ ${#files[@]} -gt 0 ] && grep -qE "$pattern" "${files[@]}" || echo "docs/tour.md: $place has no $name"
    done
}

# A function that is not where a page says must be found, or the check above checks nothing.
lost_are_found() {
    local planted
    planted=$(mktemp)
    # shellcheck disable=SC2016
    echo 'Then `argmax_open()` in `base/log.h` speaks, and `play()` in `parties/server/play.c`.' >"$planted"
    [ "$(tour_says_where "$planted" | grep -cE 'base/log.h has no argmax_open|play.c has no play\(')" -eq 2 ] ||
        echo "a lost function is not found"
    rm -f "$planted"
}

# docs/formats.md has each message to a gate, by its number and name.
messages_are_described() {
    sed -nE 's/^ +MESSAGE_([A-Z]+) = ([0-9]+),.*/\2 \1/p' parties/exchange/message.h | while read -r kind; do
        grep -qE "^    $kind  " docs/formats.md || echo "docs/formats.md: has no message $kind"
    done
}

# library/trefoil.h is for any compiler, and has a guard.
included_once() {
    sources "${folders[@]}" harness tests bench | grep '\.h$' | grep -vx 'library/trefoil\.h' |
        xargs grep -LFx '#pragma once' | sed 's/$/: has no #pragma once/'
    grep -q '^#ifndef TREFOIL_LIBRARY_TREFOIL_H$' library/trefoil.h || echo "library/trefoil.h: no include guard"
}

# For each file, a digest of all that it is made of: itself, what it includes through any number of headers, flags and
# tools.
make_digests() {
    local tool all=$kept/made
    rm -rf "$all" && mkdir -p "$all"
    {
        cat Makefile .clang-format tools/lint.sh
        echo "$flags $package_flags"
        for tool in gcc clang clang-format; do $tool --version; done
        # shellcheck disable=SC2046
        pkg-config --modversion $(make_variable PACKAGES)
        dpkg-query -W libc6-dev
    } >"$kept/tools" 2>/dev/null
    find "${folders[@]}" harness tests bench \( -name '*.[ch]' -o -name '*.inc' \) -exec sha256sum {} + >"$kept/sums"
    awk '{ print $2 }' "$kept/sums" | xargs grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' |
        sed -E 's|^([^:]+):.*"(.*)"|\1 \2|' |
        awk -v all="$all" -v tools="$(sha256sum <"$kept/tools")" '
            function visit(file, out,    i) {
                if ((file, out) in seen) return
                seen[file, out] = 1
                print sum[file], file >out
                for (i = 1; i <= n[file]; i++) visit(includes[file, i], out)
            }
            FNR == NR { sum[$2] = $1; name[++files] = $2; next }
            {
                beside = $1
                sub(/[^\/]*$/, "", beside)
                includes[$1, ++n[$1]] = $2 in sum ? $2 : beside $2
            }
            END {
                for (k = 1; k <= files; k++) {
                    out = name[k]
                    gsub("/", ":", out)
                    out = all "/" out
                    print tools >out
                    visit(name[k], out)
                    close(out)
                }
            }' "$kept/sums" -
    (cd "$all" && find . -type f -printf '%P\0' | xargs -0 sha256sum) | tr : / >"$kept/digests"
}

# One file by one tool: prints problems, if any, and what is worth keeping to descriptor 3.
commands_of() { # file: some are compiled twice, with ranks and without
    awk -F'\t' -v f="$1" '$1 == f { print $2 }' "$kept/commands"
}
look_gcc() { # file
    local command seen=1 object=$kept/object-$$.o
    while read -r command; do
        eval "$command -g0 -o $object" 2>&1 || return 1 # debug symbols take a tenth of the time
        case $1 in harness/* | tests/* | bench/*) ;; *) names_of "$object" >&3 ;; esac
        seen=0
    done < <(commands_of "$1")
    return $seen
}
look_clang() { # file
    local command seen=1
    while read -r command; do
        eval "clang ${command#* } -fsyntax-only" 2>&1 || return 1
        seen=0
    done < <(commands_of "$1")
    return $seen
}
look_header() { # file
    # shellcheck disable=SC2086
    echo "#include \"$1\"" | gcc $flags $package_flags -fsyntax-only -x c - 2>&1
}
look() { # tool digest file [tool digest file ..]
    while [ $# -gt 0 ]; do
        look_"$1" "$3" 3>"$kept/part-$$" >"$kept/said-$$" || echo "$3: error: $1 does not take it" >>"$kept/said-$$"
        if grep -E 'error|warning' "$kept/said-$$" >>"$kept/problems-$1-$$"; then
            rm -f "$kept/part-$$"
        else
            mv "$kept/part-$$" "$kept/$1-$2"
        fi
        shift 3
    done
    rm -f "$kept/said-$$" "$kept/object-$$.o"
}

# Looks at all that has to be looked at, file by file.
look_at_files() {
    local tool digest file
    mkdir -p "$kept"
    rm -f "$kept"/problems-* "$kept"/part-* "$kept"/said-*
    make_digests
    find "$kept" -mtime +30 -type f -delete
    # what make would compile, and how; a library for LD_PRELOAD is compiled and linked at once
    make -nB --no-print-directory WERROR=1 CC=gcc programs | awk '
        !/^[ \t]*gcc / { next }
        {
            n = split($0, word, " ")
            command = files = ""
            for (k = 1; k <= n; k++) {
                if (word[k] ~ /^[a-z].*\.c$/) files = files " " word[k]
                else if (word[k] == "-o") k++
                else if (word[k] !~ /^-(MMD|MP|c|shared|l.*)$/) command = command word[k] " "
            }
            n = split(files, file, " ")
            for (k = 1; k <= n; k++) print file[k] "\t" command "-c " file[k]
        }' >"$kept/commands"
    awk -F'\t' '{ print $1 }' "$kept/commands" | LC_ALL=C sort -u >"$kept/compiled"
    {
        while read -r file; do
            for tool in "${compilers[@]}"; do echo "$tool $file"; done
        done <"$kept/compiled"
        sources "${folders[@]}" | grep '\.h$' | sed 's/^/header /'
        [ -z "$formats" ] || sources "${folders[@]}" harness tests bench | sed 's/^/format /'
    } >"$kept/wanted"
    awk 'NR == FNR { digest[$2] = $1; next } { print $1, digest[$2], $2 }' "$kept/digests" "$kept/wanted" |
        while read -r tool digest file; do
            [ -e "$kept/$tool-$digest" ] || printf '%d %s %s %s\n' "$(stat -c %Y "$file")" "$tool" "$digest" "$file"
        done | sort -srn -k 1,1 | cut -d ' ' -f 2- >"$kept/list"
    export -f look commands_of look_gcc look_clang look_header names_of
    export kept flags package_flags
    grep -v '^format ' "$kept/list" | xargs -r -P "$(nproc)" -n 24 bash -c 'look "$@"' -
}

# clang-format starts slowly and reads quickly, so it gets many files at once.
formatted() {
    local said
    said=$(sed -n 's/^format [^ ]* //p' "$kept/list" | xargs -r -P "$(nproc)" -n 60 clang-format --dry-run -Werror 2>&1) &&
        [ -z "$said" ] && sed -n "s|^format \([^ ]*\) .*|$kept/format-\1|p" "$kept/list" | xargs -r touch && return
    grep -E 'error|warning' <<<"$said" || echo "clang-format: error: $said"
}

found_by() { # tool
    cat "$kept/problems-$1"-* 2>/dev/null | LC_ALL=C sort -u | head -n 40
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
    find tools harness tests bench .ci -type f \( -name '*.sh' -o -path '.ci/run' \) 2>/dev/null | sort
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
    sources "${folders[@]}" harness tests bench | xargs awk 'length($0) > 100 { print FILENAME ":" FNR ": " length($0) }'
}

white_space() {
    # shellcheck disable=SC2046
    grep -nHE '[[:space:]]+$' $(sources "${folders[@]}" harness tests bench) $(scripts) Makefile 2>/dev/null
}

flags=$(make_variable FLAGS)
package_flags=$(make_variable PKG_CFLAGS)

check "include order" include_order
check "what servers know of their setting" server_knows_no_shares
check "one table has the settings" settings_are_in_one_table
check "out of reach" out_of_reach
check "what is in reach is found" reach_is_found
check "only parties/main.c exits" only_main_exits
check "only mpc/move/move_exchange.c sends" only_moves_send
check "who else sends is found" senders_are_found
check "no test goes by the clock" tests_by_the_clock
check "a test by the clock is found" clocks_are_found
check "tags say where they are" tags_say_where
check "a tag that does not is found" tags_are_found
check "headers are read once" included_once
check "the tour says where things are" tour_says_where
check "what is not there is found" lost_are_found
check "messages are described" messages_are_described
check "no space at line ends" white_space
check "lines fit 100 columns" line_width
check "shell scripts parse" script_syntax

formats=yes compilers=(gcc)
have clang-format clang-format || formats=
have clang clang && compilers+=(clang)
look_at_files
if [ -n "$formats" ]; then
    check "format (clang-format)" formatted
else
    skip "format (clang-format)" "clang-format is absent and cannot be installed"
fi
check "each header compiles alone" found_by header
[ ${#compilers[@]} -gt 1 ] || skip "everything under clang" "clang is absent and cannot be installed"
for compiler in "${compilers[@]}"; do
    check "what must not compile ($compiler)" no_compile "$compiler"
    check "no warnings ($compiler)" found_by "$compiler"
done
check "no mutable globals" no_mutable_globals
check "no circles of calls" calls_in_circles ""
check "a circle of calls is found" circles_are_found
check "no names of libraries" no_name_of_a_library

[ ${#skips[@]} -eq 0 ] || echo "skipped: ${skips[*]}"
if [ ${#failures[@]} -gt 0 ]; then
    printf 'lint: %d failed:' "${#failures[@]}"
    printf ' [%s]' "${failures[@]}"
    echo
    exit 1
fi
echo "lint: clean"
