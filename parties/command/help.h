/*
 * parties/command/help.h - the options that a command's help lists, for completion and for tests.
 *
 * Each option has its own line: two spaces, "--name" or "--name VALUE", several with commas
 * between, then at least two spaces and its words. Values are in capitals: FILE and DIR are paths.
 * Choices are in the usage line, as --name one|other.
 */
#pragma once

#include "parties/command/command.h"

#define HELP_OPTIONS_MAX 32

struct help_option {
    char name[32];
    char value[16];   /* "" for a flag */
    char choices[64]; /* "one|other", or "" */
    char words[200];  /* their first sentence, or its part before a ; */
};

size_t help_options(const char *help, struct help_option option[HELP_OPTIONS_MAX]);
