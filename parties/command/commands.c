/* The only list of trefoil's commands, in the order of a study's life. */
#include "parties/command/command.h"

const struct command *const commands[] = {
    &cmd_keygen,  &cmd_init,    &cmd_check,   &cmd_roster,  &cmd_admit, &cmd_approve, &cmd_plan,
    &cmd_serve,   &cmd_backup,  &cmd_restore, &cmd_recover, &cmd_share, &cmd_send,    &cmd_page,
    &cmd_relay,   &cmd_run,     &cmd_audit,   &cmd_aim,     &cmd_train, &cmd_refit,   &cmd_synth,
    &cmd_predict, &cmd_distill, &cmd_query,   &cmd_explore, &cmd_eval,  &cmd_demo,    &cmd_complete,
};

const size_t command_count = sizeof commands / sizeof commands[0];
