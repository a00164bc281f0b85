#include "parties/settings/three/engine_private.h"

/* Who takes what uploads hold. */
struct reading_again {
    struct three *g;
    tally_take *take;
    void *self;
};

static enum err take_uploads(void *self, const struct upload *uploads, size_t count)
{
    const struct reading_again *r = self;
    return tally_again(r->g->party, &r->g->tally, uploads, count, r->take, r->self);
}

/* Whether records of some owners are not among the rows that were made. */
static bool some_are_uploads(const struct study *study)
{
    for (size_t i = 0; i < study->owners; i++)
        if (!study_sends_keys(study, i))
            return true;
    return study->open.most > 0;
}

enum err three_read_again(struct three *g, tally_take *take, void *self)
{
    struct reading_again r = {g, take, self};
    TRY(tally_made_again(g->party, &g->tally, take, self));
    return some_are_uploads(g->study) ? g->uploads.read(g->uploads.self, take_uploads, &r) : ERR_OK;
}
