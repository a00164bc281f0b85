/*
 * parties/display/explore.h - one file with which a browser explores a released result, without a
 * server: the model and trefoil's own commands as a module of WebAssembly.
 *
 * The page may run its own script, whose hash its policy names, and the module; it may fetch and
 * send nothing. Names from a study reach it as data, and go into text nodes.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"

/* Files of a result. */
struct explore_files {
    struct bytes model, errors, measurements; /* no errors: the page has no intervals */
};

/* ERR_SYSTEM, logged: this program was built without the module (tools/small.sh). */
enum err explore_page(struct bytes *out, const char *title, const struct explore_files *files,
                      struct log *log) MUST_CHECK;
