#include "tests/support/domain.h"

#include "harness/cmocka.h"

#include <stdio.h>

struct domain *support_domain(const uint32_t *size, size_t attributes)
{
    struct domain *d;
    assert_int_equal(domain_new(&d), ERR_OK);
    for (size_t a = 0; a < attributes; a++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", (unsigned)a);
        assert_int_equal(domain_add_integer(d, name, 0, size[a] - 1, NULL, DOMAIN_REJECT, NULL),
                         ERR_OK);
    }
    return d;
}
