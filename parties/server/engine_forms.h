/* parties/server/engine_forms.h - linear forms of a server's counts; see engine.c. */
#ifndef TREFOIL_PARTIES_SERVER_ENGINE_FORMS_H
#define TREFOIL_PARTIES_SERVER_ENGINE_FORMS_H

#include "parties/server/engine.h"

/* Checks that a request's forms are permitted; finds their price, their slack and their number. */
enum err engine_prepare_forms(const struct engine *g, struct engine_step *s) MUST_CHECK;

/* Opens them, once paid for; reads the uploads again for records whose pairs are not counted. */
enum err engine_open_forms(struct engine *g, const struct engine_step *s, struct tape *range,
                           int64_t *values) MUST_CHECK;

#endif
