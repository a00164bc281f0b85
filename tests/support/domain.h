/* tests/support/domain.h - a domain of integers, for tests of workloads, models and samples. */
#pragma once

#include "aim/table/domain.h"

/* Attributes a0, a1 .. whose values start at 0, with so many values each. */
struct domain *support_domain(const uint32_t *size, size_t attributes);
