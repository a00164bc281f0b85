/* The table of commands: which one is asked for, its help, and the version. */
#include "parties/command/command.h"

#include "base/nearest.h"
#include "mpc/kernel/kernel.h"
#include "netio/gcm_ipsec.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* --- version ---------------------------------------------------------------------------------- */

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CHECKED ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define CHECKED ", thread sanitizer"
#else
#define CHECKED ""
#endif

static void say_version(FILE *out)
{
    const char *problem = NULL;
    const char *kernel = kernel_best(&problem)->name;
    int major, minor, patch;
    yaml_get_version(&major, &minor, &patch);
    fprintf(out, "trefoil %s\nbuilt with %s%s\nlibsodium %s, libyaml %d.%d.%d\n", TREFOIL_VERSION,
            COMPILER, CHECKED, sodium_version_string(), major, minor, patch);
    fprintf(out, "share arithmetic: %s%s%s\n", kernel, problem != NULL ? "; " : "",
            problem != NULL ? problem : "");
    fprintf(out, "links sealed by %s\n",
            gcm_ipsec_version() != NULL ? gcm_ipsec_version() : "libcrypto");
}

/* --- dispatch --------------------------------------------------------------------------------- */

static int overview(const struct command *const *table, size_t count, FILE *out)
{
    fputs("Trefoil makes differentially private synthetic tables, or a classifier, from\n"
          "data that several owners keep to themselves. Three servers compute, or two;\n"
          "none of them sees any of it.\n\n"
          "usage: trefoil COMMAND [options]\n\n",
          out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "  %-8s %s\n", table[i]->name, table[i]->summary);
    fputs("\n  trefoil help COMMAND   how to use a command, with an example\n"
          "  trefoil --version      version and build\n\n"
          "exit codes: 0 ok, 1 system, 2 usage, 3 study or keys disagree,\n"
          "            4 a server is lost, 5 the privacy budget or the study does not\n"
          "            allow it, 6 bad data, 7 a server departs from the protocol\n",
          out);
    return EXIT_OK;
}

static const struct command *find(const struct command *const *table, size_t count,
                                  const char *name, struct log *log)
{
    const char *names[64] = {0};
    size_t known = count < 64 ? count : 64;
    size_t hit;
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    for (size_t i = 0; i < known; i++)
        names[i] = table[i]->name;
    hit = nearest(name, names, known);
    if (hit < known)
        log_error(log, "there is no command \"%s\"; did you mean trefoil %s?", name, names[hit]);
    else
        log_error(log, "there is no command \"%s\"; trefoil --help lists them", name);
    return NULL;
}

static int help(const struct command *c, FILE *out)
{
    fprintf(out, "trefoil %s - %s\n\n%s", c->name, c->summary, c->help);
    return EXIT_OK;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Runs a command; answers a wrong command line with the usage. */
static int start(const struct command *c, int argc, char **argv, struct log *log)
{
    enum err e = c->run(argc, argv, log);
    const char *end = strstr(c->help, "\n\n");
    if (e == ERR_USAGE && end != NULL)
        log_info(log, "%.*s", (int)(end - c->help), c->help);
    return command_end(e, log);
}

/* A full disk or closed pipe shows at the flush. Whoever closed the pipe has read enough. */
static int flushed(int code, struct log *log)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (errno != EPIPE)
        log_error(log, "cannot write to standard output: %s", strerror(errno));
    return code == EXIT_OK ? EXIT_RUNTIME : code;
}

int command_main(const struct command *const *table, size_t count, int argc, char **argv,
                 struct log *log)
{
    const struct command *c;
    if (argc < 2) {
        overview(table, count, stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2))
        return flushed(overview(table, count, stdout), log);
    if (strcmp(argv[1], "--version") == 0) {
        say_version(stdout);
        return flushed(EXIT_OK, log);
    }
    if (strcmp(argv[1], "help") == 0) {
        c = find(table, count, argv[2], log);
        return c == NULL ? EXIT_USAGE : flushed(help(c, stdout), log);
    }
    c = find(table, count, argv[1], log);
    if (c == NULL)
        return EXIT_USAGE;
    if (asks_for_help(argc - 2, argv + 2))
        return flushed(help(c, stdout), log);
    return flushed(start(c, argc - 1, argv + 1, log), log);
}
