#include "tests/support/domain.h"

#include "harness/cmocka.h"

struct domain *support_domain(const uint32_t *size, size_t attributes)
{
    struct domain *d = MADE(domain, domain_new);
    for (size_t a = 0; a < attributes; a++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", (unsigned)a);
        OK(domain_add_integer(d, name, 0, size[a] - 1, NULL, DOMAIN_REJECT, NULL));
    }
    return d;
}

void support_codes(const struct domain_attribute *a, const struct support_code *code)
{
    for (; code->text != NULL; code++)
        if (domain_code(a, code->text) != code->code)
            fail_msg("%s has code %u, not %u", code->text, domain_code(a, code->text), code->code);
}

struct domain *support_read_back(const struct domain *d, struct bytes *bytes)
{
    bool same;
    domain_write(d, bytes);
    struct reader r = reader_of(bytes->data, bytes->size);
    struct domain *back = MADE(domain, domain_read, &r, NULL);
    OK(reader_done(&r));
    OK(domain_compare(d, back, &same));
    assert_true(same);
    for (size_t n = 0; n < bytes->size; n++) {
        struct domain *cut;
        r = reader_of(bytes->data, n);
        assert_int_not_equal(domain_read(&cut, &r, NULL), ERR_OK);
    }
    return back;
}
