#include "parties/command/demo.h"

#include <stdarg.h>
#include <stdio.h>

const struct demo_scene demo_of_three = {
    .servers = 3,
    .hospitals = DEMO_HOSPITALS,
    .populations = DEMO_POPULATIONS,
    .server = {"alder", "birch", "cedar"},
    .title = "Trefoil: six hospitals, nobody sees the rows",
};
const struct demo_scene demo_of_two = {
    .servers = 2,
    .hospitals = 3,
    .populations = 3,
    .server = {"provider", "keeper"},
    .title = "Trefoil: three hospitals, nobody sees the rows",
};

void demo_path(const struct demo *d, char path[FILE_PATH], const char *format, ...)
{
    char tail[256];
    va_list args;
    va_start(args, format);
    vsnprintf(tail, sizeof tail, format, args);
    va_end(args);
    snprintf(path, FILE_PATH, "%s/%s", d->folder, tail);
}
