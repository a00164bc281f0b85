/* bench/cpu.h - the processor time and memory that a process has taken; the median of figures. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* CPU seconds of this process so far, all threads, user and system. */
double cpu_s(void);
/* The same of another, in ticks of the system's clock; 0 if there is none. */
double cpu_of(pid_t pid);
/* A line of another's /proc/PID/status, in MiB: VmRSS, VmHWM; 0 if there is none. */
double cpu_mib_of(pid_t pid, const char *field);

/* Sorts them; the upper one if their number is even. */
double cpu_median(double *figures, size_t n);
