/* base/array.h - how many elements an array has: the compiler counts. */
#ifndef TREFOIL_BASE_ARRAY_H
#define TREFOIL_BASE_ARRAY_H

/* An array and its size: two arguments. */
#define COUNTED(array) (array), sizeof(array) / sizeof *(array)

#endif
