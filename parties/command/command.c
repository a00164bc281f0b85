#include "parties/command/command.h"

#include "aim/sql/database.h"
#include "aim/table/csv.h"
#include "base/date.h"
#include "base/file.h"
#include "base/nearest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 32

enum command_exit command_exit_code(enum err e)
{
    switch (e) {
    case ERR_OK:
        return EXIT_OK;
    case ERR_USAGE:
    case ERR_QUESTION:
        return EXIT_USAGE;
    case ERR_STUDY:
    case ERR_MISMATCH:
    case ERR_AUTH:
        return EXIT_CONFIG;
    case ERR_PEER:
    case ERR_TIMEOUT:
        return EXIT_PEER;
    case ERR_BUDGET:
    case ERR_REFUSED:
    case ERR_BUSY:
    case ERR_LOST:
        return EXIT_BUDGET;
    case ERR_DATA:
    case ERR_FORMAT:
    case ERR_RANGE:
        return EXIT_BAD_DATA;
    case ERR_CHEAT:
        return EXIT_CHEAT;
    default:
        return EXIT_RUNTIME;
    }
}

int command_end(enum err e, struct log *log)
{
    if (e != ERR_OK && e != ERR_USAGE)
        log_info(log, "trefoil: %s", error_text(e));
    return (int)command_exit_code(e);
}

/* --- options ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t n = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

/* "--help", "--a and --help", "--a, --b and --help" .. */
static void list_options(const struct command_option *option, size_t options, char *text,
                         size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < options; i++)
        append(text, size, "--%s%s", option[i].name, i + 1 < options ? ", " : " and ");
    append(text, size, "--help");
}

static enum err unknown_option(const char *text, size_t n, const struct command_option *option,
                               size_t options, struct log *log)
{
    const char *names[OPTIONS_MAX] = {0};
    char word[64], all[512];
    size_t hit;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
    for (size_t i = 0; i < options; i++)
        names[i] = option[i].name;
    hit = nearest(word, names, options);
    if (hit < options) {
        log_error(log, "there is no option --%s; did you mean --%s?", word, names[hit]);
    } else {
        list_options(option, options, all, sizeof all);
        log_error(log, "there is no option --%s; there is %s", word, all);
    }
    return ERR_USAGE;
}

/* `text` is argv[*at] after its dashes. */
static enum err take_option(const char *text, int argc, char **argv, int *at,
                            const struct command_option *option, size_t options, bool *seen,
                            struct log *log)
{
    size_t n = strcspn(text, "=");
    const char *value = text[n] == '=' ? text + n + 1 : NULL;
    size_t i = 0;
    while (i < options && !(strncmp(option[i].name, text, n) == 0 && option[i].name[n] == '\0'))
        i++;
    if (i == options)
        return unknown_option(text, n, option, options, log);
    if (seen[i])
        return log_fail(log, ERR_USAGE, "--%s comes twice; leave one out", option[i].name);
    seen[i] = true;
    if (option[i].flag != NULL) {
        *option[i].flag = true;
        return value == NULL ? ERR_OK
                             : log_fail(log, ERR_USAGE, "--%s takes no value", option[i].name);
    }
    if (value == NULL && *at + 1 < argc)
        value = argv[++*at];
    if (value == NULL)
        return log_fail(log, ERR_USAGE, "--%s needs a value; --help shows which", option[i].name);
    if (option[i].number != NULL)
        return command_integer(option[i].name, value, option[i].least, option[i].most,
                               option[i].number, log);
    *option[i].value = value;
    return ERR_OK;
}

/* "run needs --key FILE and --out DIR" */
static enum err check_needed(const char *command, const struct command_option *option,
                             size_t options, const bool *seen, struct log *log)
{
    char text[256] = "";
    bool missing = false;
    for (size_t i = 0; i < options; i++) {
        if (option[i].needed == NULL)
            continue;
        missing |= !seen[i];
        append(text, sizeof text, "%s--%s %s", text[0] != '\0' ? " and " : "", option[i].name,
               option[i].needed);
    }
    if (!missing)
        return ERR_OK;
    return log_fail(log, ERR_USAGE, "%s needs %s", command, text);
}

enum err command_options(int argc, char **argv, const struct command_option *option, size_t options,
                         const char **rest, size_t least, size_t most, size_t *given,
                         struct log *log)
{
    bool seen[OPTIONS_MAX] = {0};
    bool ended = false;
    size_t n = 0;
    if (options > OPTIONS_MAX)
        return ERR_MISUSE;
    for (int i = 1; i < argc; i++) {
        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && strncmp(argv[i], "--", 2) == 0) {
            TRY(take_option(argv[i] + 2, argc, argv, &i, option, options, seen, log));
        } else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            return log_fail(log, ERR_USAGE, "there is no option %s; --help lists them", argv[i]);
        } else if (n == most) {
            return log_fail(log, ERR_USAGE, "do not know what to do with \"%s\"", argv[i]);
        } else {
            rest[n++] = argv[i];
        }
    }
    if (given != NULL)
        *given = n;
    if (n < least)
        return log_fail(log, ERR_USAGE, "an argument is missing");
    return check_needed(argv[0], option, options, seen, log);
}

enum err command_integer(const char *name, const char *text, int64_t least, int64_t most,
                         int64_t *v, struct log *log)
{
    char *end;
    long long n;
    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || n < least || n > most)
        return log_fail(log, ERR_USAGE,
                        "--%s is \"%s\"; it should be a whole number from %lld to %lld", name, text,
                        (long long)least, (long long)most);
    *v = n;
    return ERR_OK;
}

enum err command_until(const char *text, uint32_t *day, struct log *log)
{
    if (!date_parse_day(text, day))
        return log_fail(log, ERR_USAGE, "--until %s: the last day should look like 2027-06-30",
                        text);
    if (*day < date_today())
        return log_fail(log, ERR_USAGE, "--until %s is over; give a later day", text);
    return ERR_OK;
}

enum err command_csv(const char *delimiter, const char *decimal, bool files,
                     struct table_csv_options *csv, struct log *log)
{
    if (!files && (delimiter != NULL || decimal != NULL))
        return log_fail(log, ERR_USAGE,
                        "--delimiter and --decimal are for CSV files; leave them out with --sql, "
                        "where numbers have a decimal point");
    delimiter = delimiter != NULL ? delimiter : ",";
    decimal = decimal != NULL ? decimal : ".";
    if (strcmp(delimiter, "tab") == 0 || strcmp(delimiter, "\\t") == 0)
        delimiter = "\t";
    if (strlen(delimiter) != 1 || strlen(decimal) != 1 || delimiter[0] == decimal[0] ||
        strchr(".,", decimal[0]) == NULL)
        return log_fail(
            log, ERR_USAGE,
            "--delimiter is one character or the word tab, --decimal a point or a comma, and "
            "the two differ");
    csv->delimiter = delimiter[0];
    csv->rows.decimal = decimal[0];
    return ERR_OK;
}

enum err command_csv_form(const char *delimiter, const char *decimal, struct csv_form *form,
                          struct log *log)
{
    struct table_csv_options csv = {.delimiter = 0};
    TRY(command_csv(delimiter, decimal, true, &csv, log));
    form->delimiter = csv.delimiter;
    form->decimal = csv.rows.decimal;
    return csv_check_delimiter(form->delimiter, "--delimiter", log);
}

enum err command_sql(const struct database_source *source, struct log *log)
{
    bool rows = source->table != NULL || source->query != NULL;
    if (source->connection == NULL && rows)
        return log_fail(log, ERR_USAGE, "--table and --query need a database; name it with --sql");
    if (source->connection != NULL && (source->table == NULL) == (source->query == NULL))
        return log_fail(log, ERR_USAGE,
                        "--sql needs --table T, or --query Q for a SELECT; one of them");
    return ERR_OK;
}
