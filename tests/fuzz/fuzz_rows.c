/*
 * Encrypted rows that somebody has altered, as a provider takes them and a keeper decrypts what
 * comes of them: words that are none are refused when they come, and nothing else is refused before
 * the keeper's key says so. Inputs are patches to a valid upload, which is long: places of 3 bytes,
 * lengths, bytes.
 */
#include "base/memory.h"
#include "mpc/lattice/lattice.h"
#include "parties/setting/upload.h"
#include "parties/settings/two/split.h"
#include "tests/fuzz/fuzz.h"

static const struct lattice_seeds seeds = {{1}, {2}, {3}};

static struct {
    struct lattice_ring *ring;
    struct lattice_plan *plan;
    struct lattice_key *key;
    struct prg *prg;
    struct bytes upload;
} rows;

static void rows_new(void)
{
    static const uint32_t size[] = {2, 3}, pair[][2] = {{0, 1}};
    static const uint16_t codes[] = {1, 2, 0, 0, 1, 1};
    const struct lattice_shape shape = {
        .rows = 3, .attributes = 2, .pairs = 1, .size = size, .pair = pair};
    struct upload u = {.split = &two_split, .form = UPLOAD_ENCRYPTED, .whole = true};
    never(lattice_ring_new(&rows.ring) != ERR_OK || lattice_plan_new(&rows.plan, &shape) != ERR_OK);
    never(lattice_key_new(&rows.key, rows.ring, seeds.key) != ERR_OK);
    never(prg_new(&rows.prg, seeds.errors) != ERR_OK);
    never(bytes_extend(&u.vector, lattice_upload_size(rows.plan)) == NULL);
    never(lattice_encrypt(rows.ring, rows.plan, codes, &seeds, u.vector.data) != ERR_OK);
    never(upload_write(&u, 0, true, &rows.upload) != ERR_OK);
    bytes_clear(&u.vector);
}

/* The sum of both shares of the counts, if the keeper's key opens it. */
static bool count(const struct upload *u, uint64_t cell[6])
{
    struct lattice_products *products CLEAN(lattice_products_free) = NULL;
    static uint8_t hidden[LATTICE_RESULT_SIZE];
    static uint64_t share[LATTICE_N], open[LATTICE_N];
    uint64_t *const out[] = {cell};
    never(lattice_multiply(&products, rows.ring, rows.plan, u->vector.data) != ERR_OK);
    for (size_t k = 0; k < rows.plan->results; k++) {
        never(lattice_hide(products, k, rows.prg, hidden, share) != ERR_OK);
        enum err e = lattice_open(rows.key, hidden, open);
        never(e != ERR_OK && e != ERR_DATA);
        if (e != ERR_OK)
            return false;
        for (size_t i = 0; i < LATTICE_N; i++)
            open[i] += share[i];
        lattice_plan_take(rows.plan, k, open, out);
    }
    return true;
}

static void look_at(const struct bytes *b)
{
    const size_t size = lattice_upload_size(rows.plan);
    const bool same = memcmp(b->data, rows.upload.data, b->size) == 0;
    struct bytes back CLEAN(bytes_clear) = {0};
    struct upload u CLEAN(upload_clear) = {0};
    uint64_t cell[6] = {0};
    if (upload_read(&u, &two_split, 0, UPLOAD_ENCRYPTED, size, b->data, b->size) != ERR_OK) {
        never(same);
        return;
    }
    never(upload_write(&u, 0, true, &back) != ERR_OK || back.size != b->size ||
          memcmp(back.data, b->data, back.size) != 0);
    if (u.whole && two_split.check(u.form, &u.vector) == ERR_OK && count(&u, cell))
        never(same && (cell[5] != 1 || cell[0] != 1 || cell[4] != 1));
    else
        never(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    struct reader in = reader_of(data, size);
    if (rows.ring == NULL)
        rows_new();
    bytes_put(&b, rows.upload.data, rows.upload.size);
    never(bytes_ok(&b) != ERR_OK);
    while (in.left >= 4) {
        const uint8_t *at = reader_bytes(&in, 3);
        const size_t place = integer_get(at, 3) % b.size, room = b.size - place;
        const size_t n = reader_u8(&in), some = n < in.left ? n : in.left;
        const uint8_t *bytes = reader_bytes(&in, some);
        if (some > 0)
            memcpy(b.data + place, bytes, some < room ? some : room);
    }
    look_at(&b);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const uint8_t seed[][14] = {
        {0},
        {0, 0, 0, 1, 3},                     /* a version */
        {17, 0, 0, 1, 64},                   /* a form */
        {0xd0, 1, 1, 7, 255, 255, 255, 255}, /* a word that is none */
        {0xd0, 1, 1, 1, 9, 0xf0, 1, 8, 1, 1}};
    for (size_t k = 0; k < sizeof seed / sizeof *seed; k++)
        put(self, seed[k], k == 0 ? 0 : sizeof *seed);
}
