/* main() of a test program that has none of its own. */
#include "harness/cmocka.h"

int main(void)
{
    return support_run_tests(NULL, NULL);
}
