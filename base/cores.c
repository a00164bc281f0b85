#include "base/cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

size_t cores_of_group(const char *path)
{
    unsigned long long quota, period;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    const int read = fscanf(f, "%llu %llu", &quota, &period); /* "max 100000": no number */
    fclose(f);
    return read == 2 && quota > 0 && period > 0 ? (size_t)((quota + period - 1) / period) : 0;
}

/* Its own group; in a container that is the one at the top. */
static size_t group_limit(void)
{
    char line[1024], path[1100];
    FILE *f = fopen("/proc/self/cgroup", "re");
    size_t limit = 0;
    while (f != NULL && limit == 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
            limit = cores_of_group(path);
        }
    if (f != NULL)
        fclose(f);
    return limit > 0 ? limit : cores_of_group("/sys/fs/cgroup/cpu.max");
}

size_t cores_count(void)
{
    cpu_set_t cores;
    const size_t limit = group_limit();
    size_t n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? (size_t)CPU_COUNT(&cores) : 1;
    n = n > 0 ? n : 1;
    return limit > 0 && limit < n ? limit : n;
}
