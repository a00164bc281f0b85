#include "parties/command/process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 10
#define ARGUMENTS_MAX 32

static void become(const char *const *arguments, const char *output)
{
    char *argv[ARGUMENTS_MAX + 2] = {NULL};
    char name[] = "trefoil";
    int fd = open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    argv[0] = name;
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i] != NULL; i++)
        memcpy(&argv[i + 1], &arguments[i], sizeof argv[i]); /* exec does not write to them */
    if (fd < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        dup2(fd, STDERR_FILENO) < 0)
        _exit(126);
    execv("/proc/self/exe", argv);
    _exit(127);
}

enum err process_start(pid_t *pid, const char *const *arguments, const char *output,
                       struct log *log)
{
    *pid = fork();
    if (*pid == 0)
        become(arguments, output);
    if (*pid > 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot start a process: %s", strerror(errno));
}

static bool ended(pid_t *pid, int *status)
{
    if (waitpid(*pid, status, WNOHANG) != *pid)
        return false;
    *pid = 0;
    return true;
}

bool process_ended(pid_t *pid)
{
    int status;
    return ended(pid, &status);
}

enum err process_wait(pid_t *pid, const char *what, const char *output, int64_t deadline,
                      struct log *log)
{
    int status = 0;
    while (!ended(pid, &status)) {
        if (clock_left_ms(deadline) == 0)
            return log_fail(log, ERR_TIMEOUT, "%s did not end in time; see %s", what, output);
        clock_pause(LOOK_MS);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "%s failed; see %s", what, output);
}

void process_end(pid_t *pid)
{
    int64_t deadline = clock_now_ms() + 5000;
    if (*pid <= 0)
        return;
    kill(*pid, SIGTERM);
    while (!process_ended(pid)) {
        if (clock_left_ms(deadline) == 0)
            kill(*pid, SIGKILL);
        clock_pause(LOOK_MS);
    }
}
