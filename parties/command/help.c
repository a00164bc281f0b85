#include "parties/command/help.h"

#include <ctype.h>
#include <string.h>

/* Copies what is before any of `ends` and returns what follows it. */
static const char *take(const char *at, const char *ends, char *to, size_t size)
{
    size_t n = strcspn(at, ends);
    snprintf(to, size, "%.*s", (int)n, at);
    return at + n;
}

/* What follows "--name " somewhere else in the help, if it is a list of choices. */
static void find_choices(const char *help, struct help_option *o)
{
    char text[40];
    const char *at = help;
    snprintf(text, sizeof text, "--%s ", o->name);
    while ((at = strstr(at, text)) != NULL) {
        at += strlen(text);
        take(at, " ]\n", o->choices, sizeof o->choices);
        if (strchr(o->choices, '|') != NULL)
            return;
    }
    o->choices[0] = '\0';
}

/* A sentence that may go on over lines that are indented further than options. */
static void take_words(const char *at, char *to, size_t size)
{
    size_t n = 0;
    for (at += strspn(at, " "); *at != '\0' && *at != ';' && n + 1 < size; at++) {
        if ((at[0] == '.' && at[-1] != '.' && isspace((unsigned char)at[1])) ||
            (at[0] == '\n' && strncmp(at, "\n     ", 6) != 0))
            break;
        to[n++] = *at == '\n' ? ' ' : *at;
        if (*at == '\n')
            at += strspn(at + 1, " ");
    }
    to[n] = '\0';
}

/* Finds the options in a line that begins at their dashes; returns how many. */
static size_t take_line(const char *help, const char *at, struct help_option *o, size_t room)
{
    size_t n = 0;
    while (n < room && strncmp(at, "--", 2) == 0) {
        o[n] = (struct help_option){{0}, {0}, {0}, {0}};
        at = take(at + 2, " ,\n", o[n].name, sizeof o[n].name);
        if (at[0] == ' ' && isupper((unsigned char)at[1]))
            at = take(at + 1, " ,\n", o[n].value, sizeof o[n].value);
        find_choices(help, &o[n]);
        n++;
        at += at[0] == ',' ? strspn(at, ", ") : 0;
    }
    for (size_t i = 0; i < n && strncmp(at, "  ", 2) == 0; i++)
        take_words(at, o[i].words, sizeof o[i].words);
    return n;
}

size_t help_options(const char *help, struct help_option option[HELP_OPTIONS_MAX])
{
    size_t n = 0;
    const char *at = help;
    while ((at = strstr(at, "\n  --")) != NULL) {
        n += take_line(help, at + 3, option + n, HELP_OPTIONS_MAX - n);
        at++;
    }
    return n;
}
