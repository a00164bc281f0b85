/*
 * parties/command/command.h - the command line: a table of commands, their options, exit codes.
 *
 * A command is a function of its arguments (argv[0] is its name); it writes results to standard
 * output and everything else to its log. `--help` never reaches it. Its return value determines the
 * exit code and the last line of the log, which says what to do about a failure.
 * To add one: write parties/command/cmd_<name>.c, declare it below, and list it in
 * parties/command/commands.c.
 */
#pragma once

#include "base/array.h"
#include "base/log.h"

#include <stdint.h>

/* The process's exit codes; documented for scripts. */
enum command_exit {
    EXIT_OK = 0,
    EXIT_RUNTIME = 1,  /* system, memory, cryptography */
    EXIT_USAGE = 2,    /* the command line */
    EXIT_CONFIG = 3,   /* a study or key that is wrong, or differs from the others' */
    EXIT_PEER = 4,     /* a server is lost or silent */
    EXIT_BUDGET = 5,   /* privacy budget, or a request that the study does not permit */
    EXIT_BAD_DATA = 6, /* rows, uploads or messages that do not fit */
    EXIT_CHEAT = 7,    /* the servers' check failed: one departs from the protocol */
};

struct command {
    const char *name;
    const char *summary; /* one line, for the list */
    const char *help;    /* usage, options, an example; for --help */
    enum err (*run)(int argc, char **argv, struct log *log);
};

/* Makes cmd_NAME, which run_NAME() runs; ends each command's file. */
#define DEFINE_COMMAND(which, helps, sums_up)                                                      \
    const struct command cmd_##which = {                                                           \
        .name = #which, .summary = sums_up, .help = helps, .run = run_##which}

/* The table, in the order of a study's life (parties/command/commands.c). */
extern const struct command *const commands[];
extern const size_t command_count;

/* Runs `trefoil argv[1] ...` from a table; returns the exit code. Help goes to standard output. */
int command_main(const struct command *const *table, size_t count, int argc, char **argv,
                 struct log *log);

enum command_exit command_exit_code(enum err e);
/*
 * Logs the last line of a command, which says what to do about a failure, and returns its exit
 * code. After a wrong command line command_main() prints the usage instead.
 */
int command_end(enum err e, struct log *log);

/* --- options ---------------------------------------------------------------------------------- */

/* One option, `--name value` or `--name=value`. If it is absent, its variable stays as it is. */
struct command_option {
    const char *name;   /* without the dashes */
    const char **value; /* a text; or */
    bool *flag;         /* set, without a value; or */
    int64_t *number;    /* a whole number in these bounds */
    int64_t least, most;
    const char *needed; /* if the command needs it: the word for its value, such as FILE; or NULL */
};

/*
 * Sorts out argv[1 ...]: options go where they say, the rest to `rest`, between `least` and `most`
 * of them, *given in all (`given` may be NULL). After `--` nothing is an option. ERR_USAGE, logged,
 * for anything unknown (the nearest option is suggested), repeated, without its value, or needed
 * but missing.
 */
enum err command_options(int argc, char **argv, const struct command_option *option, size_t options,
                         const char **rest, size_t least, size_t most, size_t *given,
                         struct log *log) MUST_CHECK;

/* The number in a text. `name` is for messages. */
enum err command_integer(const char *name, const char *text, int64_t least, int64_t most,
                         int64_t *v, struct log *log) MUST_CHECK;

/* The last day, in UTC, that --until names. ERR_USAGE, logged, for another text or a day before. */
enum err command_until(const char *text, uint32_t *day, struct log *log) MUST_CHECK;

#define COMMAND_ROWS_MAX 1000000000 /* of synthetic rows */

/*
 * --delimiter and --decimal, NULL if not given: one character each, and not the same. `files`:
 * whether there are CSV files to which they could apply.
 */
struct table_csv_options;
enum err command_csv(const char *delimiter, const char *decimal, bool files,
                     struct table_csv_options *csv, struct log *log) MUST_CHECK;
/* The same for CSV that is written. */
struct csv_form;
enum err command_csv_form(const char *delimiter, const char *decimal, struct csv_form *form,
                          struct log *log) MUST_CHECK;

/* Checks that --sql is given with --table or --query, or none of the three is given. */
struct database_source;
enum err command_sql(const struct database_source *source, struct log *log) MUST_CHECK;

/* The commands themselves. */
extern const struct command cmd_keygen, cmd_init, cmd_check, cmd_serve, cmd_share, cmd_run, cmd_aim,
    cmd_roster, cmd_demo, cmd_plan, cmd_synth, cmd_query, cmd_explore, cmd_eval, cmd_refit,
    cmd_audit, cmd_recover, cmd_backup, cmd_restore, cmd_complete, cmd_admit, cmd_train,
    cmd_predict, cmd_distill, cmd_page, cmd_relay, cmd_send, cmd_approve;
