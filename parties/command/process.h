/* parties/command/process.h - child processes of the demo: started, waited for, ended by id. */
#pragma once

#include "base/log.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Runs this program with arguments (NULL-ended, no argv[0]) and appends its output to a file. The
 * child gets SIGTERM if the parent dies.
 */
enum err process_start(pid_t *pid, const char *const *arguments, const char *output,
                       struct log *log) MUST_CHECK;

/* Whether it has ended, in whatever way. Once it has, the pid is set to 0. */
bool process_ended(pid_t *pid);

/*
 * ERR_SYSTEM, logged with the output's name, unless it ends with exit code 0; ERR_TIMEOUT, logged,
 * if it is still running.
 */
enum err process_wait(pid_t *pid, const char *what, const char *output, int64_t deadline,
                      struct log *log) MUST_CHECK;

/* Sends SIGTERM, then SIGKILL after five seconds. Does nothing if it has ended. */
void process_end(pid_t *pid);
