/* GMP's own small form. */
#include "mini-gmp.h"
#include "mini-mpq.h"
