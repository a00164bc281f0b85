/* bench/program.h - chooses which trefoil is measured. */
#pragma once

/* $TREFOIL, or that of this build, which is one folder above the program that runs. */
void program_choose(void);
