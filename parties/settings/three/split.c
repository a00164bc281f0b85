#include "parties/settings/three/split.h"

#include "parties/study/study_uploads.h"
#include "protocols/mask.h"

_Static_assert(SPLIT_SEED == MASK_SEED_SIZE, "the seeds are those of the mask");

static enum err mask(const struct study *study, size_t owner, unsigned form,
                     const uint8_t seed[][SPLIT_SEED], struct bytes *vector)
{
    (void)study;
    (void)owner;
    (void)form;
    return mask_vector(seed, vector->data, vector->size);
}

#define GETS                                                                                       \
    {                                                                                              \
        "two random seeds", "a seed and the masked bytes",                                         \
            "a seed, and the masked bytes from server 1"                                           \
    }

const struct split three_split = {.servers = 3,
                                  .components = 3,
                                  .held = 2,
                                  .component = {{0, 1}, {1, 2}, {2, 0}},
                                  .given = 1,
                                  .passed = 2,
                                  .seeds = 2,
                                  .gets = {GETS, GETS},
                                  .bytes = study_form_bytes,
                                  .mask = mask};

void three_seeds(const struct upload *u, unsigned index, const uint8_t *seed[2])
{
    for (unsigned slot = 0; slot < 2; slot++)
        seed[slot] = three_split.component[index][slot] == split_vector(&three_split)
                         ? NULL
                         : u->seed[slot];
}
