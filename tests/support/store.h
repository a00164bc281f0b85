/* tests/support/store.h - a server's store as other programs, and failing disks, leave it. */
#pragma once

#include "harness/study.h"

/* Runs SQL on the store in server<i> of the study's folder, which a server may be running on. */
void support_alter(const struct support_study *s, unsigned i, const char *sql);
/* The first column of the first row that a query to it finds, as text. */
void support_ask_store(const struct support_study *s, unsigned i, const char *sql, char *out,
                       size_t size);
