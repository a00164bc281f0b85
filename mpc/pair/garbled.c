#include "mpc/pair/program.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "base/secret.h"
#include "mpc/party/scratch.h"

#include <string.h>

#define SEED 16

/* A message on its way, of which `piece` holds the current portion. */
struct pair_message {
    size_t size, offset; /* of all its bytes; of those that have passed */
    size_t portion, at;  /* the current one, and how much of it has passed */
    struct bytes piece;
};

struct pair_run {
    struct pair *pair;
    const struct pair_program *program;
    void *self;
    size_t portions;
    uint64_t *ands;           /* of each portion */
    struct pair_wire **label; /* of the keeper's input bits, as this end has them */
    size_t *labels;
    struct pair_cost cost;
    struct pair_message matrix, tables;
    struct pair_wire *out; /* of the last portion */
    size_t outs;
    bool failed; /* nothing more passes */
};

static struct program_size size_of(const struct pair_run *r, size_t portion)
{
    return r->program->size(r->self, portion);
}

static size_t table_size(struct program_size size, uint64_t ands)
{
    return GATES_KEY_SIZE + SEED + GATES_AND_SIZE * (size_t)ands + (size.outputs + 7) / 8;
}

static enum err compute(const struct pair_program *p, const void *self, size_t portion,
                        struct pair_gates *g, const struct pair_wire *const in[2],
                        struct pair_wire *out)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(g->scratch);
    TRY(p->compute(self, portion, g, in, out));
    return pair_gates_done(g);
}

static enum err count_ands(const struct pair_run *r, size_t portion)
{
    struct scratch *scratch = r->pair->scratch;
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(scratch);
    const struct program_size size = size_of(r, portion);
    const size_t n = size.bits[0] > size.bits[1] ? size.bits[0] : size.bits[1];
    struct pair_gates g = pair_gates_plain(scratch);
    struct pair_wire *zeros, *out;
    TRY(scratch_array(scratch, &zeros, n));
    TRY(scratch_array(scratch, &out, size.outputs));
    memset(zeros, 0, n * sizeof *zeros);
    TRY(compute(r->program, r->self, portion, &g, (const struct pair_wire *const[2]){zeros, zeros},
                out));
    r->ands[portion] = g.ands;
    return ERR_OK;
}

/* How many ANDs and bytes each portion takes, added up. */
static enum err measure(struct pair_run *r, size_t portions)
{
    TRY(memory_new(&r->ands, portions));
    TRY(memory_new(&r->label, portions));
    TRY(memory_new(&r->labels, portions));
    r->portions = portions;
    for (size_t k = 0; k < portions; k++) {
        const struct program_size size = size_of(r, k);
        r->labels[k] = labels_rounded(size.bits[PAIR_KEEPER]);
        if (r->program->ands != NULL)
            r->ands[k] = r->program->ands(r->self, k);
        else
            TRY(count_ands(r, k));
        r->cost.matrix += labels_matrix(size.bits[PAIR_KEEPER]);
        r->cost.tables += table_size(size, r->ands[k]);
        r->cost.ands += r->ands[k];
    }
    r->matrix.size = r->cost.matrix;
    r->tables.size = r->cost.tables;
    return ERR_OK;
}

enum err program_run(struct pair_run **run, struct pair *pair, const struct pair_program *program,
                     void *self, size_t portions)
{
    struct pair_run *r CLEAN(pair_run_free) = NULL;
    enum err e = pair->ready ? memory_new(&r, 1) : ERR_MISUSE;
    if (e != ERR_OK) {
        program->free(self);
        return e;
    }
    *r = (struct pair_run){.pair = pair, .program = program, .self = self};
    TRY(measure(r, portions));
    return memory_hand_over(run, &r);
}

static void wipe_wires(struct pair_wire **wires, size_t n)
{
    memory_wipe_free(wires, n * sizeof **wires);
}

/* A matrix that did not pass whole has left the streams of the two ends at different places. */
void pair_run_free(struct pair_run **run)
{
    struct pair_run *r = *run;
    if (r == NULL)
        return;
    if (r->matrix.offset > 0 && r->matrix.offset < r->matrix.size)
        r->pair->ready = false;
    for (size_t k = 0; k < r->portions && r->label != NULL; k++)
        wipe_wires(&r->label[k], r->labels[k]);
    wipe_wires(&r->out, r->outs);
    bytes_clear(&r->matrix.piece);
    bytes_clear(&r->tables.piece);
    memory_free_all(&r->ands, &r->label, &r->labels);
    r->program->free(r->self);
    memory_free(run);
}

size_t pair_run_matrix(const struct pair_run *run)
{
    return run->matrix.size;
}

size_t pair_run_tables(const struct pair_run *run)
{
    return run->tables.size;
}

struct pair_cost pair_run_cost(const struct pair_run *run)
{
    return run->cost;
}

void *program_of(const struct pair_run *run)
{
    return run->self;
}

const struct pair_wire *program_outputs(const struct pair_run *run)
{
    return run->tables.offset == run->tables.size ? run->out : NULL;
}

struct pair *program_pair(const struct pair_run *run)
{
    return run->pair;
}

/* --- the matrix ------------------------------------------------------------------------------- */

static enum err own_bits(struct pair_run *r, size_t portion, uint64_t **bits, size_t *words)
{
    const enum pair_end end = r->pair->end;
    *words = labels_rounded(size_of(r, portion).bits[end]) / 64;
    TRY(scratch_array(r->pair->scratch, bits, *words));
    memset(*bits, 0, *words * sizeof **bits);
    return r->program->enter(r->self, portion, end, *bits);
}

static enum err make_matrix(struct pair_run *r, size_t portion, uint8_t *piece)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(r->pair->scratch);
    uint64_t *bits;
    size_t words;
    TRY(own_bits(r, portion, &bits, &words));
    TRY(memory_new(&r->label[portion], r->labels[portion]));
    return labels_of_bits(r->pair, bits, r->labels[portion], piece, r->label[portion]);
}

static enum err use_matrix(struct pair_run *r, size_t portion, uint8_t *piece)
{
    TRY(memory_new(&r->label[portion], r->labels[portion]));
    return labels_of_matrix(r->pair, piece, r->labels[portion], r->label[portion]);
}

/* --- the tables ------------------------------------------------------------------------------- */

static void lowest_bits(uint64_t *bits, const struct pair_wire *out, size_t n)
{
    memset(bits, 0, (n + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        bits[i / 64] |= (out[i].low & 1) << (i % 64);
}

/* Zero labels of the provider's bits: active ^ bit Delta. */
static enum err own_labels(struct pair_run *r, size_t portion, const uint8_t *seed,
                           struct pair_wire **own)
{
    const size_t n = size_of(r, portion).bits[PAIR_PROVIDER];
    uint64_t *bits;
    size_t words;
    TRY(scratch_array(r->pair->scratch, own, n));
    TRY(own_bits(r, portion, &bits, &words));
    TRY(labels_of_seed(seed, *own, n));
    for (size_t i = 0; i < n; i++)
        (*own)[i] = wire_xor((*own)[i], wire_if(bits[i / 64] >> (i % 64) & 1, r->pair->delta));
    return ERR_OK;
}

/* Either end's part of a portion. The lowest bits of its outputs' labels go to `bits`. */
static enum err run_gates(struct pair_run *r, size_t portion, struct pair_gates *g,
                          const struct pair_wire *provider, uint64_t **bits)
{
    const struct pair_wire *const in[2] = {provider, r->label[portion]};
    const size_t n = size_of(r, portion).outputs;
    TRY(scratch_array(r->pair->scratch, bits, (n + 63) / 64));
    wipe_wires(&r->out, r->outs);
    TRY(memory_new(&r->out, n));
    r->outs = n;
    TRY(compute(r->program, r->self, portion, g, in, r->out));
    lowest_bits(*bits, r->out, n);
    wipe_wires(&r->label[portion], r->labels[portion]);
    return ERR_OK;
}

static enum err make_tables(struct pair_run *r, size_t portion, uint8_t *piece)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(r->pair->scratch);
    uint8_t *seed = piece + GATES_KEY_SIZE, *table = seed + SEED;
    struct pair_gates g CLEAN(pair_gates_free) = {.error = ERR_OK};
    struct pair_wire *own;
    uint64_t *bits;
    secret_random(piece, GATES_KEY_SIZE + SEED);
    TRY(own_labels(r, portion, seed, &own));
    TRY(pair_gates_garble(&g, r->pair->scratch, piece, r->pair->delta, table, r->ands[portion]));
    TRY(run_gates(r, portion, &g, own, &bits));
    memcpy(table + GATES_AND_SIZE * r->ands[portion], bits, (size_of(r, portion).outputs + 7) / 8);
    return ERR_OK;
}

static enum err use_tables(struct pair_run *r, size_t portion, uint8_t *piece)
{
    const struct scratch_mark mark CLEAN(scratch_wipe) = scratch_mark(r->pair->scratch);
    const struct program_size size = size_of(r, portion);
    const uint8_t *seed = piece + GATES_KEY_SIZE, *table = seed + SEED,
                  *zero = table + GATES_AND_SIZE * r->ands[portion];
    struct pair_gates g CLEAN(pair_gates_free) = {.error = ERR_OK};
    struct pair_wire *own;
    uint64_t *bits;
    TRY(scratch_array(r->pair->scratch, &own, size.bits[PAIR_PROVIDER]));
    TRY(labels_of_seed(seed, own, size.bits[PAIR_PROVIDER]));
    TRY(pair_gates_evaluate(&g, r->pair->scratch, piece, table, r->ands[portion]));
    TRY(run_gates(r, portion, &g, own, &bits));
    for (size_t i = 0; i < size.outputs; i += 8)
        bits[i / 64] ^= (uint64_t)zero[i / 8] << (i % 64);
    return r->program->took != NULL ? r->program->took(r->self, portion, bits) : ERR_OK;
}

/* --- streams ---------------------------------------------------------------------------------- */

/* Makes or uses one portion's bytes of a message. */
typedef enum err (*work)(struct pair_run *r, size_t portion, uint8_t *piece);

/* The current portion's bytes: made, if `make` is not NULL, else yet to come. */
static enum err begin_piece(struct pair_run *r, struct pair_message *m, work make)
{
    const size_t size = m == &r->matrix ? labels_matrix(r->labels[m->portion])
                                        : table_size(size_of(r, m->portion), r->ands[m->portion]);
    uint8_t *piece = bytes_extend(&m->piece, size);
    if (piece == NULL)
        return ERR_NOMEM;
    return make != NULL ? make(r, m->portion, piece) : ERR_OK;
}

static enum err pass(struct pair_run *r, struct pair_message *m, uint8_t *out, const uint8_t *in,
                     size_t n, work with)
{
    for (size_t k; n > 0; n -= k) {
        if (m->at == 0)
            TRY(begin_piece(r, m, out != NULL ? with : NULL));
        k = m->piece.size - m->at < n ? m->piece.size - m->at : n;
        if (out != NULL) {
            memcpy(out, m->piece.data + m->at, k);
            out += k;
        } else {
            memcpy(m->piece.data + m->at, in, k);
            in += k;
        }
        m->at += k;
        m->offset += k;
        if (m->at < m->piece.size)
            continue;
        if (out == NULL)
            TRY(with(r, m->portion, m->piece.data));
        m->piece.size = m->at = 0; /* its memory is the next one's */
        m->portion++;
    }
    return ERR_OK;
}

/* The tables follow a whole matrix. What fails, fails for good. */
static enum err pass_at(struct pair_run *r, enum pair_end end, struct pair_message *m,
                        size_t offset, uint8_t *out, const uint8_t *in, size_t n, work with)
{
    const bool early = m == &r->tables && r->matrix.offset < r->matrix.size;
    enum err e = ERR_MISUSE;
    if (r->pair->end == end && !early && !r->failed && offset == m->offset && n <= m->size - offset)
        e = pass(r, m, out, in, n, with);
    r->failed = r->failed || e != ERR_OK;
    return e;
}

enum err pair_send_matrix(void *run, size_t offset, uint8_t *out, size_t n)
{
    struct pair_run *r = run;
    return pass_at(r, PAIR_KEEPER, &r->matrix, offset, out, NULL, n, make_matrix);
}

enum err pair_take_matrix(void *run, size_t offset, const uint8_t *in, size_t n)
{
    struct pair_run *r = run;
    return pass_at(r, PAIR_PROVIDER, &r->matrix, offset, NULL, in, n, use_matrix);
}

enum err pair_send_tables(void *run, size_t offset, uint8_t *out, size_t n)
{
    struct pair_run *r = run;
    return pass_at(r, PAIR_PROVIDER, &r->tables, offset, out, NULL, n, make_tables);
}

enum err pair_take_tables(void *run, size_t offset, const uint8_t *in, size_t n)
{
    struct pair_run *r = run;
    return pass_at(r, PAIR_KEEPER, &r->tables, offset, NULL, in, n, use_tables);
}
