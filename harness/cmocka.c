#include "harness/cmocka.h"

static struct CMUnitTest tests[64];
static size_t count;

void support_list(const char *name, CMUnitTestFunction test, void *initial)
{
    if (count == sizeof tests / sizeof *tests)
        abort();
    tests[count++] = (struct CMUnitTest){.name = name, .test_func = test, .initial_state = initial};
}

int support_run_tests(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    /* as `make test` sets them, for those who start a test program by hand */
    setenv("TREFOIL", "build/gcc/trefoil", 0);
    setenv("TREFOIL_OUT", "build/gcc", 0);
    return _cmocka_run_group_tests("tests", tests, count, setup, teardown);
}

int support_run_each(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    for (size_t i = 0; i < count; i++) {
        tests[i].setup_func = setup;
        tests[i].teardown_func = teardown;
    }
    return support_run_tests(NULL, NULL);
}

void support_needs(bool there, const char *otherwise)
{
    if (there)
        return;
    print_message("# SKIP %s\n", otherwise);
    skip();
}

void support_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("does not say \"%s\": %s", words, text);
}

void support_bytes(const struct bytes *b, const void *expected, size_t n, const char *file,
                   int line)
{
    if (b->size == n && (n == 0 || memcmp(b->data, expected, n) == 0))
        return;
    print_error("%zu bytes are not the %zu expected\n", b->size, n);
    _fail(file, line);
}
