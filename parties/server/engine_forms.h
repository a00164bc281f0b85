/* parties/server/engine_forms.h - linear forms of what a server has counted; see engine.c */
#ifndef TREFOIL_PARTIES_SERVER_ENGINE_FORMS_H
#define TREFOIL_PARTIES_SERVER_ENGINE_FORMS_H

#include "parties/server/engine.h"

/* Whether a request's forms are permitted; their price and slack, and how many there are. */
enum err engine_prepare_forms(const struct engine *g, struct engine_step *s) MUST_CHECK;

/* Opens them, once paid for; of records whose pairs are not counted it reads the uploads again. */
enum err engine_open_forms(struct engine *g, const struct engine_step *s, struct tape *range,
                           int64_t *values) MUST_CHECK;

#endif
