/* bench/calibrate.h - what one core of this machine does alone: figures to compare others with. */
#pragma once

struct calibrate_figures {
    double aes_gcm, aes_ctr, memory_copy, zmq; /* GB/s */
    double dgemm, matrix16;                    /* multiply-adds a second, of 512 x 512 matrices */
};

/* Measures each for `seconds`, and prints them. */
struct calibrate_figures calibrate(double seconds);
