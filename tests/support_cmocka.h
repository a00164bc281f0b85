/* tests/support_cmocka.h - cmocka with the headers that it needs before it. */
#ifndef TREFOIL_TESTS_SUPPORT_CMOCKA_H
#define TREFOIL_TESTS_SUPPORT_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#endif
