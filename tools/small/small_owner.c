/* What an owner of data needs: the commands that need no network. As a program also a reader's. */
#include "parties/command/command.h"
#include "parties/command/settings.h"
#include "parties/display/owner_page.h"
#include "parties/owner/courier.h"
#include "parties/server/http.h"
#include "parties/settings/three/split.h"
#include "parties/settings/two/split.h"

#include <string.h>

/* Of a setting, an owner needs how data are split. */
const struct setting *settings_of(const struct study *study)
{
    static const struct setting three = {.split = &three_split}, two = {.split = &two_split};
    return study->servers == two_split.servers ? &two : &three;
}

/* Pages carry parcels: there is no courier. */
enum err courier_new(struct courier **courier, const struct courier_options *o)
{
    *courier = NULL;
    return log_fail(o->log, ERR_USAGE, "there is no network here; use --to");
}

void courier_free(struct courier **courier)
{
    *courier = NULL;
}

enum err courier_upload(struct courier *courier, const struct upload parts[], bool replace,
                        struct receipt *receipt)
{
    (void)courier;
    (void)parts;
    (void)replace;
    (void)receipt;
    return ERR_USAGE;
}

enum err courier_withdraw(struct courier *courier, struct receipt *receipt, bool *whole)
{
    (void)courier;
    (void)receipt;
    (void)whole;
    return ERR_USAGE;
}

enum err courier_noise(struct courier *courier, const struct split *split)
{
    (void)courier;
    (void)split;
    return ERR_USAGE;
}

enum err courier_status(struct courier *courier, struct server_status status[])
{
    (void)courier;
    (void)status;
    return ERR_USAGE;
}

struct dials_traffic courier_traffic(const struct courier *courier)
{
    (void)courier;
    return (struct dials_traffic){0};
}

/* A page does not look at pages. */
enum err owner_page_study(const struct bytes *page, struct bytes *file)
{
    (void)page;
    (void)file;
    return ERR_FORMAT;
}

enum err owner_page_files(const struct study *study, const char *path, struct bytes *file,
                          struct bytes *beside, struct log *log)
{
    (void)study;
    (void)path;
    (void)file;
    (void)beside;
    (void)log;
    return ERR_SYSTEM;
}

enum err owner_page(const struct study *study, const struct bytes *file, const struct bytes *beside,
                    struct bytes *out, struct bytes *policy, struct log *log)
{
    (void)study;
    (void)file;
    (void)beside;
    (void)out;
    (void)policy;
    (void)log;
    return ERR_SYSTEM;
}

enum err http_probe(const char *where, struct log *log)
{
    return log_fail(log, ERR_USAGE, "there is no network here to reach %s", where);
}

static int help(const struct command *const *table, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (strcmp(table[k]->name, name) == 0)
            return fputs(table[k]->help, stdout) < 0;
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static const struct command *const table[] = {
        &cmd_check, &cmd_keygen,  &cmd_share,
#ifndef __wasi__
        &cmd_admit, &cmd_approve, &cmd_query, &cmd_synth,
#endif
    };
    struct log log = {.file = stderr, .level = LOG_INFO};
    if (argc == 3 && strcmp(argv[2], "--help") == 0)
        return help(table, sizeof table / sizeof *table, argv[1]);
    for (size_t k = 0; argc > 1 && k < sizeof table / sizeof *table; k++)
        if (strcmp(argv[1], table[k]->name) == 0)
            return (int)command_end(table[k]->run(argc - 1, argv + 1, &log), &log);
    return EXIT_USAGE;
}
