#include "bench/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* User and system: fields 14 and 15 of its stat. */
double cpu_of(pid_t pid)
{
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL || strrchr(text, ')') == NULL ||
        sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
               &user, &system) != 2)
        user = system = 0;
    fclose(file);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double cpu_mib_of(pid_t pid, const char *field)
{
    char path[64], line[256];
    const size_t n = strlen(field);
    double kib = 0;
    FILE *file;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, field, n) == 0 && line[n] == ':')
            kib = strtod(line + n + 1, NULL);
    fclose(file);
    return kib / 1024;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double cpu_median(double *figures, size_t n)
{
    qsort(figures, n, sizeof *figures, ascending);
    return figures[n / 2];
}
