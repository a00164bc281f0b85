#include "base/file.h"
#include "base/text.h"
#include "parties/command/command.h"
#include "parties/display/owner_page.h"

#include <sodium.h>

static const char help[] =
    "usage: trefoil page STUDY --out FILE\n"
    "\n"
    "Writes a page with which an owner who has nothing but a browser shares a table:\n"
    "it makes a parcel, as trefoil share --to does, and sends it by the relay.\n"
    "It is one file that works from a disk, and it follows from the study file, the\n"
    "files that it names and this version of trefoil alone: trefoil check STUDY\n"
    "--page FILE compares.\n"
    "\n"
    "  --out FILE   the page\n"
    "\n"
    "example:\n"
    "  trefoil page study.yaml --out owner.html\n";

static enum err run_page(int argc, char **argv, struct log *log)
{
    const char *path, *out = NULL;
    struct study *study CLEAN(study_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0}, page CLEAN(bytes_clear) = {0};
    uint8_t hash[crypto_hash_sha256_BYTES];
    struct bytes beside CLEAN(bytes_clear) = {0}, digits CLEAN(bytes_clear) = {0};
    const struct command_option options[] = {{.name = "out", .value = &out, .needed = "FILE"}};
    TRY(command_options(argc, argv, COUNTED(options), &path, 1, 1, NULL, log));
    TRY(study_load(&study, path, log));
    TRY(owner_page_files(study, path, &file, &beside, log));
    TRY(owner_page(study, &file, &beside, &page, NULL, log));
    TRY(file_write(out, 0644, page.data, page.size, log));
    crypto_hash_sha256(hash, page.data, page.size);
    text_put_hex(&digits, hash, sizeof hash);
    TRY(bytes_ok(&digits));
    printf("wrote %s, %zu kB, SHA-256 %.*s\n", out, page.size / 1000, (int)digits.size,
           (const char *)digits.data);
    return ERR_OK;
}

DEFINE_COMMAND(page, help, "write a page with which owners share from a browser");
