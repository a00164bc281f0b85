#!/usr/bin/awk -f
# The manual page of a header: its block comments are text, with chapters that begin with `# NAME`; what is between them
# is code. Lines for the compiler alone are left out.
#
#   awk -v version=1.2 -f tools/header-scd.awk library/trefoil.h

function plain(s) { gsub(/[\\_*<>`|~]/, "\\\\&", s); return s }

function begin_code() { if (!code) print "\n```"; code = 1 }
function end_code() { if (code) print "```\n"; code = 0; blank = 0 }

/^\/\*$/ { end_code(); text = 1; next }
text && /^ \*\/$/ { if (sample) print "```"; sample = 0; text = 0; print ""; next }
text {
    sub(/^ \* ?/, "")
    if (NR == 2) {
        name = $1
        printf "%s(3) \"\" \"Trefoil %s\"\n\n# NAME\n\n%s\n\n", name, version, plain($0)
        print "# SYNOPSIS\n\n```\n#include <trefoil.h>\n```\n\n# DESCRIPTION"
        next
    }
    if (/^    / != sample) { print "```"; sample = !sample }
    if (sample) print substr($0, 5)
    else if (/^# /) print
    else print plain($0)
    next
}
/^#(if|endif|include|pragma|define TREFOIL_LIBRARY)/ || /^(extern "C" \{|\})$/ { next }
/^$/ { blank = code; next }
{ begin_code(); if (blank) print ""; blank = 0; print }

END { end_code(); print "# SEE ALSO\n\n*trefoil*(1), *trefoil-query*(1), *trefoil-synth*(1)" }
