/*
 * Sums of numbers that shared bits choose: what server j knows times what the two others know,
 * added up before it is masked. mpc/move/move.h has the arrows.
 */
#include "mpc/kernel/words.h"
#include "mpc/move/move_private.h"
#include "mpc/move/note.h"

#include <string.h>

#define STEP 512 /* lanes at a time; a multiple of 64 */

static const uint64_t none[STEP];

struct choosing {
    struct party *p;
    struct bits s;
    struct share64 v, out;
    const size_t *start;
    struct move_operand t, product; /* under a check: shares of T and P, else nothing */
};

/* This server's role in one part of the lanes, and the sums that have lanes there. */
struct choose_role {
    const struct choosing *c;
    struct party_part part;
    size_t first, count;
};

/* The sum that `lane` belongs to: sum `at` or a later one. */
static size_t sum_of(const struct choosing *c, size_t at, size_t lane)
{
    while (c->start[at + 1] <= lane)
        at++;
    return at;
}

static void keep(struct move_operand to, bool b, size_t lane, const void *words, size_t n)
{
    uint64_t *at = b ? to.b : to.a;
    if (at != NULL)
        memcpy(at + lane, words, n * sizeof *at);
}

static struct choose_role role_of(const struct choosing *c, struct party_part part)
{
    struct choose_role r = {c, part, 0, 0};
    if (part.begin < part.end) {
        r.first = sum_of(c, 0, part.begin);
        r.count = sum_of(c, r.first, part.end - 1) + 1 - r.first;
    }
    return r;
}

/* Adds z, and e w where there is an e, of n lanes from `lane` on to their sums; *at is the last. */
static void add_up(const struct choosing *c, uint64_t *sums, size_t *at, size_t lane, size_t n,
                   const uint64_t *z, const uint64_t *e, const uint64_t *w)
{
    const struct kernel *kernel = c->p->kernel;
    for (size_t done = 0, k; done < n; done += k) {
        *at = sum_of(c, *at, lane + done);
        k = c->start[*at + 1] - lane - done;
        k = n - done < k ? n - done : k;
        sums[*at] += kernel->sum64(z + done, k);
        if (e != NULL)
            sums[*at] += kernel->dot64(e + done, w + done, k);
    }
}

/* --- server j --------------------------------------------------------------------------------- */

/* m and n, made a step at a time as soon as one of their messages asks for it. */
struct choose_knowing {
    struct choose_role r;
    size_t made;
    uint64_t *m, *n;
};

static enum err known_step(struct choose_knowing *j, size_t k)
{
    const struct choosing *c = j->r.c;
    const struct kernel *kernel = c->p->kernel;
    const size_t lane = j->made, at = lane - j->r.part.begin;
    uint64_t t[STEP / 64], v[STEP], f[STEP], e[STEP], f1[STEP], e1[STEP];
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], f, 8 * k));
    TRY(prg_fill(c->p->prg[0][PRG_INPUT], e, 8 * k));
    TRY(prg_fill(c->p->prg[1][PRG_MASK], f1, 8 * k));
    TRY(prg_fill(c->p->prg[1][PRG_MASK], e1, 8 * k));
    keep(c->product, false, lane, f, k);
    keep(c->product, true, lane, f1, k);
    keep(c->t, false, lane, e, k);
    keep(c->t, true, lane, e1, k);
    kernel->xor_bits(t, c->s.a + lane / 64, c->s.b + lane / 64, bits_words(k));
    kernel->bit_less64(j->n + at, t, e, e1, k);
    kernel->bit_less64(f, none, f, f1, k);
    for (size_t i = 0; i < k; i++)
        v[i] = c->v.a[lane + i] + c->v.b[lane + i];
    kernel->bit_times64(j->m + at, t, v, f, k);
    return ERR_OK;
}

static enum err send_known(struct choose_knowing *j, const uint64_t *words, size_t offset,
                           uint8_t *out, size_t n)
{
    const size_t end = j->r.part.begin + (offset + n) / 8;
    for (size_t k; j->made < end; j->made += k) {
        k = j->r.part.end - j->made < STEP ? j->r.part.end - j->made : STEP;
        TRY(known_step(j, k));
    }
    memcpy(out, (const uint8_t *)words + offset, n);
    return ERR_OK;
}

static enum err send_m(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct choose_knowing *j = self;
    return send_known(j, j->m, offset, out, n);
}

static enum err send_n(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct choose_knowing *j = self;
    return send_known(j, j->n, offset, out, n);
}

/* The sums that one of the others has made: a component of j's. */
struct choose_arrival {
    const struct choose_role *r;
    uint64_t *component;
};

static enum err take_sums(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct choose_arrival *v = self;
    for (size_t i = 0; i < n / 8; i++) {
        uint64_t sum;
        memcpy(&sum, in + 8 * i, sizeof sum);
        v->component[v->r->first + offset / 8 + i] += sum;
    }
    return ERR_OK;
}

/* --- servers j+1 and j+2 ---------------------------------------------------------------------- */

struct other {
    struct choose_role r;
    struct prg *f, *g;           /* of the key that it has in common with j, and of key_(j+2) */
    const uint64_t *u, *v0, *v2; /* s_(j+2); v of the component that j has too; v_(j+2) */
    uint64_t *own, *common;      /* of out: the component that j has too; component j+2 */
    uint64_t *sent;              /* what it adds to `own`, by sum */
    size_t at_m, at_n;           /* the sums reached by what has come so far */
};

static enum err mask_sums(const struct other *o, bool second)
{
    const struct choose_role *r = &o->r;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t mask[STEP];
        for (size_t at = 0, n; at < r->count; at += n) {
            n = r->count - at < STEP ? r->count - at : STEP;
            TRY(prg_fill(o->g, mask, 8 * n));
            for (size_t i = 0; i < n; i++) {
                o->common[r->first + at + i] -= mask[i];
                if (second == (k == 1))
                    o->sent[r->first + at + i] = mask[i];
            }
        }
    }
    return ERR_OK;
}

/* sent += f + u (v0 - 2 f) + e w,  common += u v2 */
static enum err sum_lanes(const struct other *o)
{
    const struct choosing *c = o->r.c;
    const struct kernel *kernel = c->p->kernel;
    const size_t begin = o->r.part.begin, end = o->r.part.end;
    size_t at = o->r.first, at_common = at;
    for (size_t lane = begin, k; lane < end; lane += k) {
        const uint64_t *u = o->u + lane / 64;
        uint64_t f[STEP], e[STEP], z[STEP], w[STEP];
        k = end - lane < STEP ? end - lane : STEP;
        TRY(prg_fill(o->f, f, 8 * k));
        TRY(prg_fill(o->f, e, 8 * k));
        keep(c->product, o->own == c->out.b, lane, f, k);
        keep(c->t, o->own == c->out.b, lane, e, k);
        kernel->bit_times64(z, u, o->v0 + lane, none, k);
        kernel->bit_sign64(z, u, f, z, k);
        kernel->bit_sign64(w, u, o->v2 + lane, none, k);
        add_up(c, o->sent, &at, lane, k, z, e, w);
        kernel->bit_times64(z, u, o->v2 + lane, none, k);
        add_up(c, o->common, &at_common, lane, k, z, NULL, NULL);
    }
    return ERR_OK;
}

static enum err send_sums(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct other *o = self;
    if (offset == 0) {
        TRY(mask_sums(o, o->own == o->r.c->out.a));
        TRY(sum_lanes(o));
        for (size_t i = o->r.first; i < o->r.first + o->r.count; i++)
            o->own[i] += o->sent[i];
    }
    memcpy(out, (const uint8_t *)(o->sent + o->r.first) + offset, n);
    return ERR_OK;
}

/* common += m - 2 u m */
static enum err take_m(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct other *o = self;
    const struct choosing *c = o->r.c;
    size_t lane = o->r.part.begin + offset / 8, left = n / 8;
    keep(c->product, o->common == c->out.b, lane, in, left);
    for (size_t k; left > 0; left -= k, lane += k, in += 8 * k) {
        uint64_t u[STEP / 64], z[STEP];
        k = left < STEP ? left : STEP;
        words_bits_from(u, o->u, lane, k);
        c->p->kernel->bit_sign64(z, u, (const void *)in, none, k);
        add_up(c, o->common, &o->at_m, lane, k, z, NULL, NULL);
    }
    return ERR_OK;
}

/* common += n w */
static enum err take_n(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct other *o = self;
    const struct choosing *c = o->r.c;
    size_t lane = o->r.part.begin + offset / 8, left = n / 8;
    keep(c->t, o->common == c->out.b, lane, in, left);
    for (size_t k; left > 0; left -= k, lane += k, in += 8 * k) {
        uint64_t u[STEP / 64], w[STEP];
        k = left < STEP ? left : STEP;
        words_bits_from(u, o->u, lane, k);
        c->p->kernel->bit_sign64(w, u, o->v2 + lane, none, k);
        add_up(c, o->common, &o->at_n, lane, k, none, (const void *)in, w);
    }
    return ERR_OK;
}

/* --- the arrows ------------------------------------------------------------------------------- */

/* Server j+1 of a part, or j+2, whose components are the other way round. */
static struct other other_of(const struct choosing *c, struct party_part part, bool second)
{
    const struct party *p = c->p;
    return (struct other){
        .r = role_of(c, part),
        .f = second ? p->prg[1][PRG_INPUT] : p->prg[0][PRG_MASK],
        .g = p->prg[!second][PRG_RANDOM],
        .u = second ? c->s.a : c->s.b,
        .v0 = second ? c->v.b : c->v.a,
        .v2 = second ? c->v.a : c->v.b,
        .own = second ? c->out.b : c->out.a,
        .common = second ? c->out.a : c->out.b,
    };
}

static enum err choose(const struct choosing *c)
{
    struct party *p = c->p;
    const struct party_parts parts = party_parts(p, c->s.n, 64);
    const size_t nj = 8 * part_lanes(parts.j), nj1 = 8 * part_lanes(parts.j1),
                 nj2 = 8 * part_lanes(parts.j2);
    struct choose_knowing j = {.r = role_of(c, parts.j), .made = parts.j.begin};
    struct other j1 = other_of(c, parts.j1, false), j2 = other_of(c, parts.j2, true);
    struct choose_arrival from_j1 = {&j.r, c->out.b}, from_j2 = {&j.r, c->out.a};
    const struct move_exchange exchange = {
        .send[NET_NEXT] = {{nj, send_m, NULL, &j, true},
                           {nj, send_n, NULL, &j, true},
                           {8 * j2.r.count, send_sums, NULL, &j2, false}},
        .send[NET_PREV] = {{nj, send_m, NULL, &j, true},
                           {nj, send_n, NULL, &j, true},
                           {8 * j1.r.count, send_sums, NULL, &j1, false}},
        .receive[NET_PREV] = {{nj1, NULL, take_m, &j1, true},
                              {nj1, NULL, take_n, &j1, true},
                              {8 * j.r.count, NULL, take_sums, &from_j2, false}},
        .receive[NET_NEXT] = {{nj2, NULL, take_m, &j2, true},
                              {nj2, NULL, take_n, &j2, true},
                              {8 * j.r.count, NULL, take_sums, &from_j1, false}},
    };
    TRY(scratch_array(p->scratch, &j.m, part_lanes(parts.j)));
    TRY(scratch_array(p->scratch, &j.n, part_lanes(parts.j)));
    TRY(scratch_array(p->scratch, &j1.sent, c->out.n));
    TRY(scratch_array(p->scratch, &j2.sent, c->out.n));
    memset(c->out.a, 0, c->out.n * sizeof *c->out.a);
    memset(c->out.b, 0, c->out.n * sizeof *c->out.b);
    return move_exchange(p, &exchange);
}

/*
 * Under a check no sum has lanes in two parts, so that each is one relation about what one server
 * knows: sums are cut where parts meet, and their pieces are added up.
 */
static enum err choose_checked(struct choosing *c)
{
    struct party *p = c->p;
    const struct share64 sums = c->out;
    const size_t *start = c->start;
    const struct party_parts parts = party_parts(p, c->s.n, 64);
    const size_t cut[3] = {parts.j.begin, parts.j1.begin, parts.j2.begin};
    size_t *piece, *of, n = 0;
    TRY(scratch_array(p->scratch, &piece, sums.n + 4));
    TRY(scratch_array(p->scratch, &of, sums.n + 4));
    for (size_t q = 0; q < sums.n; q++)
        for (size_t at = start[q], next; at == start[q] || at < start[q + 1]; at = next) {
            next = start[q + 1];
            for (unsigned k = 0; k < 3; k++)
                next = cut[k] > at && cut[k] < next ? cut[k] : next;
            of[n] = q;
            piece[n++] = at;
            if (next == at)
                break;
        }
    piece[n] = start[sums.n];
    c->start = piece;
    TRY(party_share64(p, &c->out, n));
    TRY(note_room(p, &c->t, RING_64, c->s.n));
    TRY(note_room(p, &c->product, RING_64, c->s.n));
    TRY(choose(c));
    memset(sums.a, 0, sums.n * sizeof *sums.a);
    memset(sums.b, 0, sums.n * sizeof *sums.b);
    for (size_t k = 0; k < n; k++) {
        sums.a[of[k]] += c->out.a[k];
        sums.b[of[k]] += c->out.b[k];
    }
    return note_choice(
        p,
        &(struct note_choice){
            .s = c->s, .v = c->v, .out = c->out, .start = piece, .t = c->t, .product = c->product});
}

enum err move_choose(struct party *p, struct share64 out, struct bits s, struct share64 v,
                     const size_t *start)
{
    struct choosing c = {p, s, v, out, start, {NULL, NULL}, {NULL, NULL}};
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    return party_proves(p) ? choose_checked(&c) : choose(&c);
}
