/* bench/program.h - chooses which trefoil is measured. */
#ifndef TREFOIL_BENCH_PROGRAM_H
#define TREFOIL_BENCH_PROGRAM_H

/* $TREFOIL, or that of this build, which is one folder above the program that runs. */
void program_choose(void);

#endif
