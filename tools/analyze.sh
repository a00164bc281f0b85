#!/usr/bin/env bash
# Static analysis: gcc -fanalyzer, clang-tidy, cppcheck over the product's folders. Prints what they
# find, and ends with status 1 if they find anything. Findings that are false are listed here with
# the reason, or marked beside the code.
#
#   FOLDERS="netio parties" TOOLS="gcc tidy cppcheck" tools/analyze.sh     some of it
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck disable=SC2206
folders=(${FOLDERS:-base netio mpc protocols aim parties library})
tools=${TOOLS:-cppcheck tidy gcc}
out=build/analyze
found=0
mkdir -p "$out"

# shellcheck disable=SC2016
make_variable() { make -s --no-print-directory -f Makefile -f <(printf 'print-it:\n\t@echo $(%s)\n' "$1") print-it; }
# shellcheck disable=SC2207
flags=($(make_variable FLAGS) $(make_variable PKG_CFLAGS))
mapfile -t files < <(find "${folders[@]}" -name '*.c' | LC_ALL=C sort)

# clang-tidy's checks, and why some are left out:
#   easily-swappable-parameters   vectors are passed as two size_t side by side
#   narrowing-conversions         -Wconversion, which is an error here, says it better
#   implicit-widening             index arithmetic on sizes that are bounded by the study
#   reserved-identifier           _GNU_SOURCE
#   DeprecatedOrUnsafeBuffer..    asks for memcpy_s, which no C library has
#   sizeof-expression             arrays of pointers are allocated as such
#   misplaced-widening-cast       for formats, not for range
#   CallAndMessage                does not see that a function which returns ERR_OK has filled its outputs,
#                                 if that goes through a variadic function; gcc and memcheck watch those
#   strcpy                        strcat to a buffer whose size was computed for it
#   integer-division              rounds down where it means to
#   assignment-in-if, branch-clone, macro-parentheses: matters of taste
checks='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters'
checks+=',-bugprone-narrowing-conversions,-bugprone-implicit-widening-of-multiplication-result'
checks+=',-bugprone-reserved-identifier,-bugprone-assignment-in-if-condition,-bugprone-branch-clone'
checks+=',-bugprone-macro-parentheses,-bugprone-sizeof-expression,-bugprone-misplaced-widening-cast'
checks+=',-bugprone-integer-division'
checks+=',-clang-analyzer-core.CallAndMessage,-clang-analyzer-security.insecureAPI.strcpy'
checks+=',-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'

# And single findings that were reviewed:
known=(
    'aim/model/model_fit.c.*uninitialized.ArraySubscript'     # place[] is set for every pair that is kept
    'mpc/circuits/below.c.*core.uninitialized'                   # g[], l[] are set for every position
    'mpc/circuits/convert.c.*core.UndefinedBinaryOperatorResult' # callers give whole words
    'parties/study/roster.c.*core.NullDereference'            # whoever asks for a key has a study
)

run_tidy() {
    for f in "${files[@]}"; do
        clang-tidy --quiet --checks="$checks" "$f" -- "${flags[@]}" -Wno-everything 2>/dev/null
    done | grep -E 'warning:|error:' | grep -vE "$(IFS='|'; echo "${known[*]}")" | sort -u
}

# shift-count-overflow: gcc mistakes the lanes of a vector for the width of a word. NULL in
# parties/owner/pin.c: text that was read ends with a NUL, and so is not NULL.
run_gcc() {
    for f in "${files[@]}"; do
        gcc "${flags[@]}" -O1 -fanalyzer -Wno-analyzer-shift-count-overflow -c "$f" -o /dev/null 2>&1
    done | grep -E 'warning:|error:' | grep -v 'parties/owner/pin.c.*analyzer-null' | sort -u
}

# internalAstError, unknownMacro: cppcheck 2.10 does not parse compound literals in macros' arguments
# (mpc/circuits/below.c, mpc/circuits/ring.c) nor jansson's loops.
# uninitvar in sweep_body.inc: a strip has at least one part, so the walk does run.
# arrayIndexThenCheck: names end with a NUL before any limit.
# ctunullpointer: paths come from options that were checked to be present.
run_cppcheck() {
    cppcheck --enable=warning,portability,performance --std=c11 -I. --inline-suppr --quiet \
        --library=posix -D'TREFOIL_VERSION="0"' --suppress=internalAstError --suppress=unknownMacro \
        --suppress=uninitvar:aim/model/sweep_body.inc --suppress=arrayIndexThenCheck --suppress=ctunullpointer \
        --suppress=missingIncludeSystem --template='{file}:{line}: {severity}: {message} [{id}]' \
        "${folders[@]}" 2>&1
}

for tool in $tools; do
    case $tool in
    gcc) program=gcc ;;
    tidy) program=clang-tidy ;;
    *) program=cppcheck ;;
    esac
    if ! command -v "$program" >/dev/null; then
        printf '%-10s skipped: %s is absent; install it\n' "$tool" "$program"
        continue
    fi
    "run_$tool" >"$out/$tool.log"
    n=$(grep -c . "$out/$tool.log")
    printf '%-10s %d found\n' "$tool" "$n"
    sed 's/^/    /' "$out/$tool.log"
    found=$((found + n))
done
[ "$found" -eq 0 ]
