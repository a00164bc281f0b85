#include "parties/command/demo.h"

#include <stdarg.h>
#include <stdio.h>

const struct demo_scene demo_of_three = {
    .servers = 3,
    .hospitals = DEMO_HOSPITALS,
    .populations = DEMO_POPULATIONS,
    .server = {"alder", "birch", "cedar"},
    .head = "study: six-hospitals\nnoise: box-muller\nsecurity: abort\n"
            "person: {columns: [patient], normalise: [case, spaces]}\n",
    .more = "link: {min_linked: 50}\n", /* six deviations of a look below the truth */
    .servers_key = "servers:\n",
    .server_key = {"  -", "  -", "  -"},
    .inventing = "inventing six hospitals' patients",
    .starting = "starting three servers",
    .sharing = "six hospitals share their data, two of them columns of the same patients",
    .title = "Trefoil: six hospitals, nobody sees the rows",
};
const struct demo_scene demo_of_two = {
    .servers = 2,
    .hospitals = 3,
    .populations = 3,
    .server = {"provider", "keeper"},
    .head = "study: three-hospitals\nnoise_by: both\n",
    .more = "",
    .servers_key = "",
    .server_key = {"provider:\n   ", "keeper:\n   "},
    .inventing = "inventing three hospitals' patients",
    .starting = "starting a provider at the first and a keeper at the second",
    .sharing = "the three share their data: masked counts go to one, the masks to the other",
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
