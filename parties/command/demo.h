/* parties/command/demo.h - the demo's folder and processes, and what it shows at the end. */
#pragma once

#include "aim/table/table.h"
#include "base/file.h"
#include "parties/command/demo_data.h"
#include "parties/study/study.h"

#include <sys/types.h>

#define DEMO_SERVERS 3

/* What a demo shows: three servers for six hospitals, or two of three hospitals that run both. */
struct demo_scene {
    unsigned servers, hospitals; /* the first of demo_hospitals[] */
    unsigned populations;        /* the last two hospitals of six have one together */
    const char *server[DEMO_SERVERS];
    /* of the study file: what comes first, after the budget, and before and at each server */
    const char *head, *more, *servers_key, *server_key[DEMO_SERVERS];
    const char *inventing, *starting, *sharing; /* steps, in words */
    const char *title;                          /* of the comparison */
};
extern const struct demo_scene demo_of_three, demo_of_two;

struct demo {
    char folder[FILE_PATH - 300]; /* leaves room for the name of a file in it */
    const struct demo_scene *scene;
    uint16_t port;
    pid_t server[DEMO_SERVERS];
    struct study *study;
    struct domain *columns[DEMO_HOSPITALS];
    struct table *hospital[DEMO_HOSPITALS]; /* with its columns */
    struct table *joined;                   /* of the last two */
    struct table *all;
    struct log *log;
};

/* The path of a file in the demo's folder. */
void demo_path(const struct demo *d, char path[FILE_PATH], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* After the run: shows its cost and how good the result is; writes the report with the truth. */
enum err demo_show(const struct demo *d) MUST_CHECK;
