/* tests/support/domain.h - a domain of integers, for tests of workloads, models and samples. */
#pragma once

#include "aim/table/domain.h"

/* Attributes a0, a1 .. whose values start at 0, with so many values each. */
struct domain *support_domain(const uint32_t *size, size_t attributes);

/* Fails the test unless a text has this code of a column: HAS_CODES(a, {"3", 1}, {"x", 0}). */
struct support_code {
    const char *text;
    uint32_t code;
};
#define HAS_CODES(attribute, ...)                                                                  \
    support_codes(attribute, (const struct support_code[]){__VA_ARGS__, {NULL, 0}})
void support_codes(const struct domain_attribute *a, const struct support_code *code);

/* What is read of a domain's bytes, which are appended: the same; no shorter ones are any. */
struct domain *support_read_back(const struct domain *d, struct bytes *bytes);
