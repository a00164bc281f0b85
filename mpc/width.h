/*
 * mpc/width.h - names in bodies of code (*.inc) that a file includes once for each width of words.
 *
 * Who includes a body defines WIDTH, in bits, and WORD, the type; the body undefines both. With
 * WIDTH 64, OF_WIDTH(ring, _add) is ring64_add.
 */
#ifndef TREFOIL_MPC_WIDTH_H
#define TREFOIL_MPC_WIDTH_H

#define WIDTH_PASTE(a, b, c) a##b##c
#define WIDTH_NAME(a, b, c) WIDTH_PASTE(a, b, c)
#define OF_WIDTH(before, after) WIDTH_NAME(before, WIDTH, after)

#endif
