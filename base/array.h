/* base/array.h - how many elements an array has: the compiler counts. */
#pragma once

/* An array and its size: two arguments. */
#define COUNTED(array) (array), sizeof(array) / sizeof *(array)
