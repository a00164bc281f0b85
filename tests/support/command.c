#include "tests/support/command.h"

#include "harness/cmocka.h"

#include "parties/command/command.h"

#include <fcntl.h>
#include <sys/wait.h>

#define ARGS_MAX 20

void support_text(const char *path, char *to, size_t size)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    OK(file_read(path, size - 1, &b, NULL));
    if (b.size > 0)
        memcpy(to, b.data, b.size);
    to[b.size] = '\0';
}

static void redirect(const char *path, int to)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(99);
    close(fd);
}

void support_command(struct command_outcome *o, const char *out, const char *err,
                     const char *const *arguments)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct log log = {.file = stderr, .level = LOG_INFO};
        char *argv[ARGS_MAX + 2] = {0};
        int argc = 0;
        argv[argc++] = strdup("trefoil");
        for (; argc <= ARGS_MAX && arguments[argc - 1] != NULL; argc++)
            argv[argc] = strdup(arguments[argc - 1]);
        redirect(out, STDOUT_FILENO);
        redirect(err, STDERR_FILENO);
        status = command_main(commands, command_count, argc, argv, &log);
        for (int i = 0; i < argc; i++)
            free(argv[i]);
        exit(status); /* not _exit(): that would lose coverage counts */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    o->code = WEXITSTATUS(status);
    support_text(out, o->out, sizeof o->out);
    support_text(err, o->err, sizeof o->err);
}

void support_ends(int code, struct command_outcome *o, const char *out, const char *err,
                  const char *const *arguments)
{
    support_command(o, out, err, arguments);
    if (o->code != code)
        fail_msg("%s ended with %d, not %d: %s", arguments[0], o->code, code, o->err);
}
