/* bench/cpu.h - what a process has taken of the processors; the middle of several figures. */
#ifndef TREFOIL_BENCH_CPU_H
#define TREFOIL_BENCH_CPU_H

#include <stddef.h>
#include <sys/types.h>

/* CPU seconds of this process so far, all threads, user and system. */
double cpu_s(void);
/* The same of another, in ticks of the system's clock; 0 if there is none. */
double cpu_of(pid_t pid);
/* A line of another's /proc/PID/status, in MiB: VmRSS, VmHWM; 0 if there is none. */
double cpu_mib_of(pid_t pid, const char *field);

/* Sorts them; of an even number the upper one. */
double cpu_median(double *figures, size_t n);

#endif
