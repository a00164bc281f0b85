/*
 * parties/display/app.h - pages that run trefoil's own commands in a browser, as a module of
 * WebAssembly (tools/small.sh): one file that works from a disk.
 *
 * A page may run its own script, whose hash its policy names, and the module, in a worker; it may
 * reach what `connect` says and nothing else. Names reach it as data, and go into text nodes.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"

struct app {
    const char *title;
    const char *script;  /* beside what all have */
    const char *body;    /* what is on the page after its heading */
    const char *connect; /* 'none', or an origin */
    const char *module, *module_end;
};

/* What goes into elements of their own, which the script reads by their names. */
struct app_part {
    const char *name;
    const void *data;
    size_t size; /* 0: the part is left out */
};

/* The page's Content-Security-Policy. */
enum err app_policy(const struct app *app, struct bytes *out) MUST_CHECK;
/* ERR_SYSTEM, logged: this program was built without the module. */
enum err app_page(const struct app *app, const struct app_part *part, size_t parts,
                  struct bytes *out, struct log *log) MUST_CHECK;
