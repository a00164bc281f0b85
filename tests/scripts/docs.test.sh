#!/usr/bin/env bash
# What the documents say against what the program does: keys of the study file, manual pages, links. Writes TAP.
set -u
. tests/scripts/support.sh

# --- docs/study.md against the parser's tables of keys

grep -ohE '(\{"[a-z_]+", (true|false|!?two|!r->draft),|\[COLUMN_[A-Z]+\] = "[a-z_]+"|KEY\([a-z_]+,)' parties/study/*.c |
    grep -v '^KEY(name,' | grep -oE '[a-z_]+[",]' | grep -vE '^(true|false|two|draft),' | tr -d '",' |
    sort -u >"$folder/parsed"
# an item of a list begins with its keys; in the last chapter keys of keys follow in the text
{
    sed -n 's/^- \(`[a-z_]*`[^:]*\):.*/\1/p' docs/study.md | grep -oE '`[a-z_]+`'
    sed -n '/^## Everything else/,$p' docs/study.md | grep -oE '`[a-z_]+`:' | tr -d :
    sed -n 's/.*`{\(from\): a, \(to\): b}`.*/`\1`\n`\2`/p' docs/study.md
    sed -n 's/.*with `\([a-z]*\)` and `\([a-z]*\)`.*/`\1`\n`\2`/p' docs/study.md
} | tr -d '`' | sort -u >"$folder/documented"
diff "$folder/parsed" "$folder/documented" | sed 's/^</# not in docs\/study.md: /; s/^>/# no key: /; /^[0-9]/d'
cmp -s "$folder/parsed" "$folder/documented"
result $? "docs/study.md has every key of the study file and no other"

sed -n '/^## An example/,/^## What/{s/^    //p}' docs/study.md >"$folder/study.yaml"
for name in north east west hospital-a hospital-b office; do
    "$trefoil" keygen "$folder/$name.key" 2>/dev/null | head -n 1 >"$folder/public"
    sed -i "s|KEY-OF-$name}|$(cat "$folder/public")}|; s|KEY-OF-$name,|$(cat "$folder/public"),|" "$folder/study.yaml"
done
"$trefoil" check "$folder/study.yaml" >"$folder/check" 2>&1
code=$?
[ $code -eq 0 ] || sed 's/^/# /' "$folder/check"
result $code "its example is a study"

# --- manual pages

if command -v scdoc >/dev/null; then
    tools/man.sh "$trefoil" "$folder/man" >"$folder/errors" 2>&1
    status=$?
    sed 's/^/# /' "$folder/errors"
    result $status "the manual is made"
    for name in $("$trefoil" --help | awk '/^  [a-z]+ / && $1 != "trefoil" { print $1 }'); do
        for section in NAME SYNOPSIS DESCRIPTION EXAMPLE 'SEE ALSO'; do
            grep -qE "^\.SH \"?$section\"?$" "$folder/man/trefoil-$name.1" ||
                { echo "# trefoil-$name.1 has no $section"; status=1; }
        done
        grep -q "trefoil-$name" "$folder/man/trefoil.1" || { echo "# trefoil.1 lacks $name"; status=1; }
        "$trefoil" help "$name" | grep -oE '^  --[a-z-]+' | while read -r option; do
            grep -qF -- "${option#  }" "$folder/man/trefoil-$name.1" ||
                { echo "# trefoil-$name.1 lacks $option"; exit 1; }
        done || status=1
    done
    result $status "each command has a page with all of its options"
    if command -v groff >/dev/null; then
        for page in "$folder"/man/*.[135]; do
            groff -man -Tutf8 -ww -z "$page" 2>&1 | grep -v 'cannot adjust\|break' | head -n 3
        done >"$folder/warnings"
        sed 's/^/# /' "$folder/warnings"
        [ ! -s "$folder/warnings" ]
        result $? "groff has no complaint"
    else
        skip "groff has no complaint" "there is no groff"
    fi
else
    skip "the manual is made" "there is no scdoc"
fi

# --- links and files that texts name

status=0
for text in README.md CHANGELOG.md docs/*.md docs/examples/*.md docs/examples/*/*.md bench/README.md; do
    while read -r target; do
        [ -e "$(dirname "$text")/${target%%#*}" ] || { echo "# $text: there is no $target"; status=1; }
    done < <(grep -oE '\]\([^)#][^)]*\)' "$text" | sed 's/^](//; s/)$//' | grep -v '://')
    while read -r target; do
        [ -e "$target" ] || { echo "# $text: there is no $target"; status=1; }
    done < <(grep -oE '`(aim|base|bench|docs|harness|library|mpc|netio|parties|protocols|tests|tools)/[a-z0-9_/]+\.(c|h|sh|md|inc)`' "$text" | tr -d '`')
done
result $status "links and files that texts name are there"

# --- commands that texts name: those in blocks run (tests/scripts/commands.sh), options and targets of others exist

awk '/^```/ { fence = !fence }
    !fence && /^    (trefoil|sudo|systemctl|runuser) / { print FILENAME ":" FNR ":" $0 }' \
    README.md docs/first_study.md docs/operating.md >"$folder/unrun"
sed 's/^/# not in a block that runs: /' "$folder/unrun"
[ ! -s "$folder/unrun" ]
result $? "commands stand in blocks that run"

status=0
for name in $("$trefoil" --help | awk '/^  [a-z]+ / && $1 != "trefoil" { print $1 }'); do
    "$trefoil" help "$name" >"$folder/help-$name"
done
for text in README.md bench/README.md docs/*.md; do
    while read -r name options; do
        [ "$name" = help ] && name=${options%% *} options=
        [ -f "$folder/help-$name" ] || { echo "# $text: there is no trefoil $name"; status=1; continue; }
        for option in $(grep -oE -- '--[a-z]+' <<<"$options"); do
            grep -qE -- "$option\b" "$folder/help-$name" || { echo "# $text: trefoil $name has no $option"; status=1; }
        done
    done < <(tr '\n' ' ' <"$text" | grep -oE '`(trefoil )?(share|run|serve|keygen|admit|help|check|roster|recover|audit|eval|synth|refit|query|explore|plan|backup|restore|init|aim|demo|complete)( [^`]*)?`' |
        sed -E 's/`(trefoil )?([^`]*)`/\2/; s/COMMAND/run/' | sort -u)
    while read -r target; do
        grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile || [[ $target == bench-* && -f bench/bench_${target#bench-}.c ]] ||
            { echo "# $text: there is no make $target"; status=1; }
    done < <(tr '\n' ' ' <"$text" | grep -oE '(`|    )make( [A-Z_]+=[^ `]*)* [a-z][a-z0-9-]*' | sed 's/.* //' | sort -u)
done
result $status "commands, options and targets that texts name are there"

# --- functions and types that texts name, and the places they give for them

sources=(base/*.[ch] netio/*.[ch] mpc/*/*.[chi]* protocols/*.[ch] aim/*/*.[chi]* library/*.[ch] tools/python/*/*.py parties/*.[ch] parties/*/*.[ch] parties/settings/*/*.[ch] harness/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch] tests/parties/settings/*/*.[ch] bench/test_*.c)
status=0
for text in README.md docs/*.md; do
    while read -r name; do
        grep -qE "\b${name%()}\(" "${sources[@]}" || { echo "# $text: there is no $name"; status=1; }
    done < <(grep -oE '`[a-z_0-9]+\(\)`' "$text" | tr -d '`' | sort -u)
    while read -r name; do
        grep -qE "\b$name\b" "${sources[@]}" || { echo "# $text: there is no $name"; status=1; }
    done < <(grep -oE '`(struct|enum) [a-z_]+`' "$text" | tr -d '`' | sort -u)
    while read -r name file; do
        grep -qE "\b$name\(" "$file" || { echo "# $text: $name() is not in $file"; status=1; }
    done < <(tr '\n' ' ' <"$text" | tr -s ' ' |
        grep -oE '`[a-z_0-9]+\(\)` (in |\()`[a-z]+/[a-z_0-9]+\.[ch]`' |
        sed -E 's/`([a-z_0-9]+)\(\)` (in |\()`([^`]*)`/\1 \3/')
done
result $status "functions and types that texts name are there, and where they say"

end_test
