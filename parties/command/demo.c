#include "parties/command/demo.h"

#include <stdarg.h>
#include <stdio.h>

const char *const demo_servers[DEMO_SERVERS] = {"alder", "birch", "cedar"};

void demo_path(const struct demo *d, char path[FILE_PATH], const char *format, ...)
{
    char tail[256];
    va_list args;
    va_start(args, format);
    vsnprintf(tail, sizeof tail, format, args);
    va_end(args);
    snprintf(path, FILE_PATH, "%s/%s", d->folder, tail);
}
