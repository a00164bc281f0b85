/*
 * harness/cmocka.h - cmocka, with the headers that it needs before it and those that many suites
 * use; the list of tests.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * A test, and its place in the program's list: TEST(what_it_shows) { ... }. main() (harness/main.c)
 * runs them in the order in which they are written.
 */
#define TEST(name) TEST_OF(name, NULL)
/* The same with an initial state. */
#define TEST_OF(name, initial)                                                                     \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void list_##name(void)                                     \
    {                                                                                              \
        support_list(#name, name, (initial));                                                      \
    }                                                                                              \
    static void name(void **state)

void support_list(const char *name, CMUnitTestFunction test, void *initial);

/* Runs all, for a main() with fixtures: of the program, or of each test. They may be NULL. */
int support_run_tests(CMFixtureFunction setup, CMFixtureFunction teardown);
int support_run_each(CMFixtureFunction setup, CMFixtureFunction teardown);
#define MAIN(run)                                                                                  \
    int main(void)                                                                                 \
    {                                                                                              \
        return run;                                                                                \
    }

/* Fails the test, and names the error, unless the call returns ERR_OK. */
#define OK(call) support_ok((call), #call, __FILE__, __LINE__)
void support_ok(enum err e, const char *call, const char *file, int line);

/*
 * What a maker leaves in its first argument, or no test:
 *     struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, NULL);
 */
#define MADE(tag, make, ...)                                                                       \
    ({                                                                                             \
        struct tag *made_ = NULL;                                                                  \
        OK(make(&made_, ##__VA_ARGS__));                                                           \
        made_;                                                                                     \
    })

/* The same for a maker that leaves it in its last argument. */
#define MADE_LAST(tag, make, ...)                                                                  \
    ({                                                                                             \
        struct tag *made_ = NULL;                                                                  \
        OK(make(__VA_ARGS__, &made_));                                                             \
        made_;                                                                                     \
    })

/* Fails the test unless these are exactly the bytes. */
#define SAME_BYTES(bytes, expected, n) support_bytes((bytes), (expected), (n), __FILE__, __LINE__)
void support_bytes(const struct bytes *b, const void *expected, size_t n, const char *file,
                   int line);

/* Declares a log of messages of at least this level, and the text that it collects. */
#define LOG_INTO(name, text, least)                                                                \
    char text[4096] = "";                                                                          \
    struct log name = {.buffer = text, .buffer_size = sizeof text, .level = (least)}

/* Skips the test, and says why, unless what it needs is there. */
void support_needs(bool there, const char *otherwise);

/* Fails the test, and shows the text, unless the words are in it. */
void support_says(const char *text, const char *words);
/* Fails the test unless the call returns this, and the text then has the words in it. */
#define GIVES(call, result, text, words)                                                           \
    do {                                                                                           \
        assert_int_equal(call, result);                                                            \
        support_says(text, words);                                                                 \
    } while (0)
/* check(of, each of the words that follow) */
#define EACH(check, of, ...)                                                                       \
    do {                                                                                           \
        const char *const each_[] = {__VA_ARGS__};                                                 \
        for (size_t i_ = 0; i_ < sizeof each_ / sizeof *each_; i_++)                               \
            check(of, each_[i_]);                                                                  \
    } while (0)
