/* What a reader of results needs, as a module: the commands that use a released model. */
#include "parties/command/command.h"

#include <string.h>

int main(int argc, char **argv)
{
    static const struct command *const table[] = {&cmd_query, &cmd_synth};
    struct log log = {.file = stderr, .level = LOG_WARN};
    for (size_t k = 0; argc > 1 && k < sizeof table / sizeof *table; k++)
        if (strcmp(argv[1], table[k]->name) == 0)
            return (int)command_end(table[k]->run(argc - 1, argv + 1, &log), &log);
    return EXIT_USAGE;
}
