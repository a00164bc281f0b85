#include "parties/command.h"
#include "parties/keys.h"

static const char help[] =
    "usage: trefoil keygen FILE [--name NAME] [--force]\n"
    "       trefoil keygen --show FILE [--name NAME]\n"
    "\n"
    "Makes a private key in FILE (readable by you alone) and prints its public half, which goes "
    "into\n"
    "the study file. The fingerprint is for reading aloud: it tells whether a public key that you\n"
    "were sent is the one that was meant.\n"
    "\n"
    "  --name NAME   print lines ready to paste into the study file\n"
    "  --show FILE   make nothing; print the public half of a key that exists\n"
    "  --force       replace FILE; the key in it is lost\n"
    "\n"
    "example:\n"
    "  trefoil keygen hospital-a.key --name hospital-a\n";

static void print(const struct public_identity *who, const char *name)
{
    char text[KEYS_TEXT_SIZE], fingerprint[KEYS_FINGERPRINT_SIZE];
    public_identity_text(who, text);
    public_identity_fingerprint(who, fingerprint);
    if (name != NULL)
        printf("  - name: %s\n    key: %s\n# fingerprint %s\n", name, text, fingerprint);
    else
        printf("%s\n# fingerprint %s\n", text, fingerprint);
}

static enum err keygen(const char *show, const char *file, const char *name, bool force,
                       struct log *log)
{
    struct identity *identity;
    enum err e;
    if ((show == NULL) == (file == NULL)) {
        log_error(log, "name one file: the key to make, or --show and the key to read");
        return ERR_USAGE;
    }
    if (show != NULL) {
        TRY(identity_load(&identity, show, log));
        print(&identity->public, name);
        identity_free(&identity);
        return ERR_OK;
    }
    TRY(identity_new(&identity, log));
    e = identity_save(identity, file, force, log);
    if (e == ERR_OK) {
        log_info(log, "%s holds your private key: keep it secret, and keep a copy in a safe place.",
                 file);
        print(&identity->public, name);
    }
    identity_free(&identity);
    return e;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *show = NULL, *name = NULL, *file = NULL;
    bool force = false;
    size_t given;
    const struct command_option options[] = {
        {.name = "show", .value = &show},
        {.name = "name", .value = &name},
        {.name = "force", .flag = &force},
    };
    enum err e = command_options(argc, argv, options, 3, &file, 0, 1, &given, log);
    if (e == ERR_OK)
        e = keygen(show, file, name, force, log);
    return command_end(e, log);
}

const struct command cmd_keygen = {
    .name = "keygen",
    .summary = "make a key; its public half goes into the study file",
    .help = help,
    .run = run,
};
