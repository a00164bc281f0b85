/* tools/small/small_missing.h - what a small set's libraries lack; included before every file. */
#ifndef SMALL_MISSING_H
#define SMALL_MISSING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int dlclose(void *handle);

#ifdef __wasi__ /* a module's C library */
void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *self);

/* One thread writes, into files in memory, of which nobody else knows. */
#define flockfile(file) ((void)(file))
#define funlockfile(file) ((void)(file))
#define fchmod(fd, mode) ((void)(mode), (fd) < 0 ? -1 : 0)
int mkstemp(char *name);
char *realpath(const char *path, char *resolved);
unsigned geteuid(void);
unsigned getegid(void);
int getgroups(int size, unsigned *list);
#endif

#endif
