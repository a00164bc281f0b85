#include "base/secret.h"
#include "parties/command/command.h"

#include <signal.h>

int main(int argc, char **argv)
{
    struct log log = {.file = stderr, .level = LOG_INFO};
    enum err e = secret_start();
    if (e != ERR_OK) {
        log_error(&log, "cannot start libsodium: %s", error_text(e));
        return command_end(e, &log);
    }
    /* a reader that closes the pipe early is an error of a write, not a death */
    signal(SIGPIPE, SIG_IGN);
    return command_main(commands, command_count, argc, argv, &log);
}
