#include "parties/command/command.h"
#include "parties/store/store_backup.h"

#include <inttypes.h>
#include <sys/stat.h>

static const char backup_help[] =
    "usage: trefoil backup DIR FILE\n"
    "\n"
    "Copies a server's folder DIR into FILE, as it is at one moment, while the server\n"
    "runs. What is sealed there stays sealed: using it takes the server's key file,\n"
    "which is not in the backup. FILE must not exist.\n"
    "\n"
    "example:\n"
    "  trefoil backup /var/lib/trefoil/north /mnt/backup/north-2026-12-01\n";

static const char restore_help[] =
    "usage: trefoil restore FILE DIR\n"
    "\n"
    "Makes a server's folder DIR from what trefoil backup wrote. Refuses a folder\n"
    "that is not empty. If the other servers have debited rounds since the backup,\n"
    "they refuse this server until trefoil recover has brought it up to date.\n"
    "\n"
    "example:\n"
    "  trefoil restore /mnt/backup/north-2026-12-01 /var/lib/trefoil/north\n";

typedef enum err copier(const char *from, const char *to, struct store_contents *contents,
                        struct log *log);

static enum err run_copy(copier *copy, int argc, char **argv, struct log *log)
{
    const char *path[2] = {NULL, NULL};
    struct store_contents c = {0};
    TRY(command_options(argc, argv, NULL, 0, path, 2, 2, NULL, log));
    umask(077);
    TRY(copy(path[0], path[1], &c, log));
    printf("%s holds %" PRIu64 " uploads and %" PRIu64 " debits\n", path[1], c.uploads, c.debits);
    return ERR_OK;
}

static enum err run_backup(int argc, char **argv, struct log *log)
{
    return run_copy(store_backup, argc, argv, log);
}

static enum err run_restore(int argc, char **argv, struct log *log)
{
    return run_copy(store_restore, argc, argv, log);
}

DEFINE_COMMAND(backup, backup_help, "copy a server's folder into a file, while it runs");

DEFINE_COMMAND(restore, restore_help, "make a server's folder from a backup");
