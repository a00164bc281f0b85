#include "parties/command/command.h"
#include "parties/study/study_text.h"

static const char help[] =
    "usage: trefoil init [FILE] [--force]\n"
    "\n"
    "Writes a commented example of a study file to FILE, or to study.yaml. Edit it,\n"
    "put in everybody's public keys, then run trefoil check.\n"
    "\n"
    "  --force   overwrite FILE\n"
    "\n"
    "example:\n"
    "  trefoil init study.yaml\n";

static enum err run_init(int argc, char **argv, struct log *log)
{
    const char *file = "study.yaml";
    bool force = false;
    const struct command_option options[] = {{.name = "force", .flag = &force}};
    TRY(command_options(argc, argv, options, 1, &file, 0, 1, NULL, log));
    TRY(study_write_template(file, force, log));
    log_info(log, "wrote %s: edit it, then run trefoil check %s", file, file);
    return ERR_OK;
}

const struct command cmd_init = {"init", "write a commented example of a study file", help,
                                 run_init};
