#!/usr/bin/env bash
# Manual pages, from the program's own help: one for each command, and trefoil.1 from docs/trefoil.1.scd with
# the list of commands put in; libtrefoil.3 from the library's header. Needs scdoc.
#
#   tools/man.sh build/gcc/trefoil FOLDER
set -eu
trefoil=$1 out=$2
version=$("$trefoil" --version | awk 'NR == 1 { print $2 }')
mkdir -p "$out"

# A page of `trefoil help NAME`: usage lines, paragraphs, options, examples.
page() { # name
    "$trefoil" help "$1" | awk -v name="$1" -v version="$version" '
        function plain(s) { gsub(/[\\_*<>`|~]|^-/, "\\\\&", s); return s }
        function close_block() { if (literal) print "```"; literal = 0 }
        NR == 1 {
            summary = substr($0, index($0, " - ") + 3)
            printf "trefoil-%s(1) \"\" \"Trefoil %s\"\n\n# NAME\n\ntrefoil-%s - %s\n", name, version, name, plain(summary)
            next
        }
        /^usage: / { print "\n# SYNOPSIS\n\n```"; literal = 1; print substr($0, 8); next }
        literal && /^ +[^ ]/ && part == "" { print substr($0, 8); next }
        /^example:/ { close_block(); print "\n# EXAMPLE\n\n```"; literal = 1; part = "example"; next }
        part == "example" { if ($0 != "") print substr($0, 3); next }
        /^$/ && !literal && part == "" { next }
        /^$/ { close_block(); if (part == "") { part = "text"; print "\n# DESCRIPTION\n" } else print ""; next }
        /^  --/ || /^  [^ ].*[^ ]  +[^ ]/ {
            if (part != "options") print "# OPTIONS\n"
            part = "options"
            match($0, /[^ ]   *[^ ]/)
            head = RSTART ? substr($0, 3, RSTART - 2) : substr($0, 3)
            tail = RSTART ? substr($0, RSTART + RLENGTH - 1) : ""
            printf "\n*%s*\n\t%s\n", plain(head), plain(tail)
            next
        }
        part == "options" { sub(/^ +/, ""); printf "\t%s\n", plain($0); next }
        { sub(/^ +/, ""); print plain($0) }
        END { close_block(); print "\n# SEE ALSO\n\n*trefoil*(1), which lists the commands and the exit codes; *trefoil-study*(5)" }
    '
}

commands=$("$trefoil" --help | awk '/^  [a-z]+ / && $1 != "trefoil" { print $1 }')
for name in $commands; do
    page "$name" >"$out/trefoil-$name.1.scd"
done
"$trefoil" --help | awk '/^  [a-z]+ / && $1 != "trefoil" {
        line = $0; sub(/^ +[a-z]+ +/, "", line)
        printf "*trefoil-%s*(1)\n\t%s\n\n", $1, line }' >"$out/commands"
sed -e "s/@VERSION@/$version/" -e "/@COMMANDS@/{r $out/commands
d}" docs/trefoil.1.scd >"$out/trefoil.1.scd"
rm "$out/commands"
# The study file is documented once, in Markdown; the syntax of scdoc is nearly the same.
{
    printf 'trefoil-study(5) "" "Trefoil %s"\n\n# NAME\n\ntrefoil-study - the file on which everybody of a study agrees\n\n# DESCRIPTION\n' "$version"
    tools/markdown-scd.awk docs/study.md
} >"$out/trefoil-study.5.scd"

awk -v version="$version" -f tools/header-scd.awk library/trefoil.h >"$out/libtrefoil.3.scd"

for f in "$out"/*.scd; do
    scdoc <"$f" >"${f%.scd}.tmp" || { echo "$f: scdoc refuses it" >&2; exit 1; }
    mv "${f%.scd}.tmp" "${f%.scd}"
done
