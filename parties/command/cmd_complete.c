/*
 * trefoil complete: made from the table of commands and their help, so that it cannot differ from
 * them.
 */
#include "parties/command/command.h"
#include "parties/command/help.h"

#include <ctype.h>
#include <string.h>

static const char help[] =
    "usage: trefoil complete bash|zsh\n"
    "\n"
    "Prints a script that lets the shell complete trefoil's commands, options and\n"
    "file names. `make install` puts both scripts where shells look for them.\n"
    "\n"
    "example:\n"
    "  trefoil complete bash >~/.local/share/bash-completion/completions/trefoil\n";

static bool is_path(const struct help_option *o)
{
    static const char *const paths[] = {"FILE",  "DIR",        "FOLDER", "OLD", "STUDY",
                                        "MODEL", "CONNECTION", "PARCEL", "KEY"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(o->value, paths[i]) == 0)
            return true;
    return false;
}

/* --- bash ------------------------------------------------------------------------------------- */

/* All choices except those in capitals, which stand for a value. */
static void put_words(const char *choices)
{
    for (size_t n; *choices != '\0'; choices += n + (choices[n] == '|')) {
        n = strcspn(choices, "|");
        if (!isupper((unsigned char)*choices))
            printf("%.*s ", (int)n, choices);
    }
}

/* What can follow an option that has a value. */
static void bash_values(const struct command *c, const struct help_option *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (o[i].value[0] == '\0')
            continue;
        printf("    %s:--%s) ", c->name, o[i].name);
        if (o[i].choices[0] != '\0') {
            printf("COMPREPLY=($(compgen -W '");
            put_words(o[i].choices);
            printf("' -- \"$word\")); ");
        } else if (is_path(&o[i])) {
            printf("COMPREPLY=($(compgen -f -- \"$word\")); ");
        }
        printf("return ;;\n");
    }
}

static void bash(void)
{
    struct help_option o[HELP_OPTIONS_MAX];
    printf("# bash completion of trefoil, printed by `trefoil complete bash`\n"
           "_trefoil() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command=${COMP_WORDS[1]} options=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < command_count; i++)
        printf("%s ", commands[i]->name);
    printf("help --help --version' -- \"$word\"))\n"
           "        return\n"
           "    fi\n"
           "    case $command:$before in\n");
    for (size_t i = 0; i < command_count; i++)
        bash_values(commands[i], o, help_options(commands[i]->help, o));
    printf("    esac\n"
           "    case $command in\n"
           "    help) COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < command_count; i++)
        printf("%s ", commands[i]->name);
    printf("' -- \"$word\")); return ;;\n"
           "    complete) COMPREPLY=($(compgen -W 'bash zsh' -- \"$word\")); return ;;\n");
    for (size_t i = 0; i < command_count; i++) {
        size_t n = help_options(commands[i]->help, o);
        printf("    %s) options='", commands[i]->name);
        for (size_t k = 0; k < n; k++)
            printf("--%s ", o[k].name);
        printf("--help' ;;\n");
    }
    printf("    esac\n"
           "    case $word in\n"
           "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
           "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
           "    esac\n"
           "}\n"
           "complete -o filenames -F _trefoil trefoil\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* Inside '...' of a specification of _arguments or _describe. */
static void zsh_text(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'')
            printf("'\\''");
        else if (strchr("[]:\\", *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
}

static void zsh_option(const struct help_option *o)
{
    printf(" \\\n            '--%s[", o->name);
    zsh_text(o->words);
    putchar(']');
    if (o->value[0] != '\0') {
        putchar(':');
        zsh_text(o->value);
        putchar(':');
        if (o->choices[0] != '\0') {
            putchar('(');
            put_words(o->choices);
            putchar(')');
        } else if (strcmp(o->value, "DIR") == 0 || strcmp(o->value, "FOLDER") == 0) {
            printf("_files -/");
        } else if (is_path(o)) {
            printf("_files");
        }
    }
    putchar('\'');
}

static void zsh(void)
{
    struct help_option o[HELP_OPTIONS_MAX];
    printf("#compdef trefoil\n"
           "# zsh completion of trefoil, printed by `trefoil complete zsh`\n"
           "_trefoil() {\n"
           "    local -a names\n"
           "    names=(\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("        '%s:", commands[i]->name);
        zsh_text(commands[i]->summary);
        printf("'\n");
    }
    printf("        'help:how to use a command, with an example'\n"
           "    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command names\n"
           "        return\n"
           "    fi\n"
           "    local name=$words[2]\n"
           "    words=(\"${(@)words[2,-1]}\")\n"
           "    (( CURRENT-- ))\n"
           "    case $name in\n"
           "        (help) _describe command names ;;\n"
           "        (complete) _values shell bash zsh ;;\n");
    for (size_t i = 0; i < command_count; i++) {
        size_t n = help_options(commands[i]->help, o);
        if (commands[i] == &cmd_complete)
            continue;
        printf("        (%s) _arguments", commands[i]->name);
        for (size_t k = 0; k < n; k++)
            zsh_option(&o[k]);
        printf(" \\\n            '--help[say how to use it]' '*:file:_files' ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "_trefoil \"$@\"\n");
}

static enum err run_complete(int argc, char **argv, struct log *log)
{
    const char *shell = NULL;
    TRY(command_options(argc, argv, NULL, 0, &shell, 1, 1, NULL, log));
    if (strcmp(shell, "bash") == 0)
        bash();
    else if (strcmp(shell, "zsh") == 0)
        zsh();
    else
        return log_fail(log, ERR_USAGE, "there is completion for bash and zsh, not for \"%s\"",
                        shell);
    return ERR_OK;
}

DEFINE_COMMAND(complete, help, "print shell completion for bash and zsh");
