/* bench/calibrate.h - what one core of this machine does alone: figures to compare others with. */
#ifndef TREFOIL_BENCH_CALIBRATE_H
#define TREFOIL_BENCH_CALIBRATE_H

struct calibrate_figures {
    double aes_gcm, aes_ctr, memory_copy, zmq; /* GB/s */
    double dgemm, matrix16;                    /* multiply-adds a second, of 512 x 512 matrices */
};

/* Measures each for `seconds`, and prints them. */
struct calibrate_figures calibrate(double seconds);

#endif
