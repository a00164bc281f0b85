/* harness/process.h - the real trefoil program (named by $TREFOIL) as child processes. */
#pragma once

#include "harness/patience.h"
#include "harness/study.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts it with NULL-ended arguments; output and errors are appended to `output`. */
pid_t support_start(const char *output, const char *const *arguments);
/*
 * Its exit code; -1 if it died of a signal, -2 if it has not ended by support_deadline(seconds) (it
 * is then killed). All that waits below waits until then.
 */
int support_wait(pid_t pid, double seconds);
/* The same; and the most memory that it had at any time. */
int support_wait_peak(pid_t pid, double seconds, size_t *peak_bytes);
int support_run(const char *output, double seconds, const char *const *arguments);
/*
 * The same with the command's words as arguments: START("log", "check", path), COMMAND("log", 10,
 * ..).
 */
#define START(output, ...) support_start(output, (const char *const[]){__VA_ARGS__, NULL})
#define COMMAND(output, seconds, ...)                                                              \
    support_run(output, seconds, (const char *const[]){__VA_ARGS__, NULL})
/* The same, when what the file had before is gone. */
#define ANEW(output, seconds, ...) (unlink(output), COMMAND(output, seconds, __VA_ARGS__))
/* Fails the test unless a command ends with this code, and shows what it said. */
#define EXPECT(code, output, seconds, ...)                                                         \
    expect_code(COMMAND(output, seconds, __VA_ARGS__), code, output)
void expect_code(int code, int expected, const char *output);
/*
 * With arguments that begin with its name, on a terminal of 80 columns; what it wrote goes to
 * `out`, NUL-ended.
 */
int support_on_terminal(const char *const *arguments, char *out, size_t size);
/* SIGTERM, and its exit code. */
int support_stop(pid_t *pid);
void support_kill(pid_t *pid);

/*
 * `trefoil serve` of a study file as one of the study's servers, with s<i>.key and server<i> in the
 * study's folder; what it says is appended to server<i>.log.
 */
pid_t support_serve(const struct support_study *s, unsigned i, const char *study);
/* The same once earlier messages are gone, until it is ready. */
pid_t support_serve_ready(const struct support_study *s, unsigned i, const char *study);
/*
 * Starts all three, with logs of their own, and waits until they are ready; stops those that were
 * started. False if one is not ready, or did not end well.
 */
bool support_serve_all(const struct support_study *s, const char *study,
                       pid_t server[STUDY_SERVERS_MOST]);
bool support_stop_all(pid_t server[STUDY_SERVERS_MOST]);
/* One in this process, the child of a test that has wrapped what servers call; ends it. */
_Noreturn void support_serve_here(const struct support_study *s, unsigned i);
/* What mpirun needs where it starts ranks on this machine alone. */
#define SUPPORT_MPIRUN                                                                             \
    "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader"

/*
 * Programs that start from now on, until support_unload(), have harness/preload_fault.c in them.
 */
void support_preload(void);
void support_unload(void);

/*
 * Copies a file with texts replaced: NULL-ended pairs of a text, which must occur once, and its
 * replacement.
 */
bool support_edit(const char *from, const char *to, const char *const *pairs);

/* Whether a file contains a text; waits for that, and shows the file's end if it waits in vain. */
bool support_contains(const char *path, const char *text);
bool support_wait_for(const char *path, const char *text, double seconds);
/* Fails the test, and shows the file's end, unless it contains the text. */
void file_says(const char *path, const char *text);
/* The same, once the command has ended with this code: ENDS(run_study(c), 1, log, "budget"). */
#define ENDS(call, code, path, text)                                                               \
    do {                                                                                           \
        assert_int_equal(call, code);                                                              \
        file_says(path, text);                                                                     \
    } while (0)
