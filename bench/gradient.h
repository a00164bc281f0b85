/*
 * bench/gradient.h - a gradient of `method: train`, three processes over sealed links on loopback.
 *
 * Rows of any codes: as many as Adult has, 39,074, 14 columns of 32 codes at most, two classes; or
 * as many as Fashion-MNIST, 60,000 with 252 numbers of 4 bits, ten classes.
 */
#pragma once

#include <stdbool.h>

#define GRADIENT_STEPS_MAX 99
#define GRADIENT_SMOKE 3000 /* rows */

enum gradient_rows { GRADIENT_ADULT, GRADIENT_IMAGES };

struct gradient_figures {
    double server_cpu_s;  /* CPU seconds of a server, of a step: the median */
    double session_cpu_s; /* of a server, to make the rows once */
    double bytes;         /* that server 0 sends in a step */
    double rounds;        /* exchanges of a step; GRADIENT_STATEMENTS more are statements */
    double peak_mib;      /* memory of server 0 */
};
#define GRADIENT_STATEMENTS 2

/* Takes so many steps, or one of few rows; false, with a message on stderr, if it fails. */
bool gradient_measure(struct gradient_figures *f, enum gradient_rows rows, bool proved, bool smoke,
                      unsigned steps);
/* What an owner sends of a row, to the server that gets most. */
double gradient_row_bytes(enum gradient_rows rows);
