/*
 * parties/study/study_setting.h - what follows in a study from how many servers it has: what is
 * said of them, and what owners send. The source file has a row for each setting.
 */
#pragma once

#include "parties/study/study.h"

struct study_setting {
    unsigned counts, records;               /* forms of uploads; counts 0: an owner's bits */
    const char *all, *together;             /* "all three", "Three servers" */
    const char *neighbours, *have;          /* of one of them: "both neighbours", "have" */
    const char *called[STUDY_SERVERS_MOST]; /* each: its number, or what it is for */
    const char *before[2]; /* of that, "server" or "the"; and where a sentence begins */
    const char *left_out;  /* an upload that they leave out "is not sorted by person" */
    /* for a board: of each, what it is and holds, the latter also with encrypted rows */
    const char *titles[STUDY_SERVERS_MOST], *holdings[2][STUDY_SERVERS_MOST], *warning;
    /* what they hold; then, after a list of them, whom to trust */
    void (*hold)(FILE *out, const struct study *study);
    void (*trusted)(FILE *out, const struct study *study);
};

const struct study_setting *study_setting(const struct study *study);

/* All of them in words. */
void study_describe_servers(FILE *out, const struct study *study);
