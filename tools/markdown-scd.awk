#!/usr/bin/awk -f
# The Markdown of docs/study.md as scdoc: headings, paragraphs, lists, tables, indented blocks, `code`, *emphasis*.
# The page's own title is left out.

function inline(s,    out, part, n, i, code, link) {
    while (match(s, /\[[^][]*\]\([^()]*\)/)) { # a link becomes its words
        link = substr(s, RSTART + 1, RLENGTH - 1)
        s = substr(s, 1, RSTART - 1) substr(link, 1, index(link, "](") - 1) substr(s, RSTART + RLENGTH)
    }
    gsub(/\\/, "\\\\", s)
    n = split(s, part, "`")
    out = ""
    for (i = 1; i <= n; i++) {
        code = i % 2 == 0
        gsub(/_/, "\\_", part[i])
        if (code)
            gsub(/[*]/, "\\*", part[i])
        else
            gsub(/[*]/, "_", part[i])
        gsub(/</, "\\<", part[i])
        gsub(/~/, "\\~", part[i])
        out = out (code ? "*" part[i] "*" : part[i])
    }
    return out
}

/^    / {
    if (!block)
        print "```"
    block = 1
    print substr($0, 5)
    next
}
block { print "```"; block = 0 }
/^# / { next }
/^## / { print "# " toupper(substr($0, 4)); next }
/^\|[-| ]+\|$/ { next }
/^\|/ { # a row of a table becomes a line of a list
    gsub(/^\| *| *\| *$/, "")
    gsub(/( *\|)+ *$/, "")
    gsub(/ *\| */, ": ")
    print "- " inline($0)
    next
}
/^  / { sub(/^ +/, ""); print "  " inline($0); next }
{ print inline($0) }
