/*
 * tests/support/command.h - a command of trefoil in a child, since commands write to the process's
 * own output.
 */
#pragma once

#include <stddef.h>

/* What one call left behind. */
struct command_outcome {
    int code;
    char out[32768], err[16384];
};

/* NULL-ended arguments; output and errors go through these two files. */
void support_command(struct command_outcome *o, const char *out, const char *err,
                     const char *const *arguments);
/* The same; fails the test, and shows what it said, unless it ends with this code. */
void support_ends(int code, struct command_outcome *o, const char *out, const char *err,
                  const char *const *arguments);

/* A whole file, which must fit, as a string. */
void support_text(const char *path, char *to, size_t size);
