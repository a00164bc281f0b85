/* bench/cpu.h - what a process has taken of the processors. */
#ifndef TREFOIL_BENCH_CPU_H
#define TREFOIL_BENCH_CPU_H

/* CPU seconds of this process so far, all threads, user and system. */
double cpu_s(void);

#endif
