#include "mpc/pair/circuit.h"

#include "mpc/party/scratch.h"

#include <string.h>

/* Up to GATES_LANES numbers, `stride` apart. */
static void add_some(struct pair_gates *g, struct pair_wire *out, struct pair_wire *over,
                     const struct pair_wire *x, const struct pair_wire *y,
                     const struct pair_wire *carry, unsigned width, size_t stride, size_t n)
{
    struct pair_wire c[GATES_LANES] = {{0, 0}}, s[GATES_LANES], t[GATES_LANES];
    if (carry != NULL)
        memcpy(c, carry, n * sizeof *c);
    for (unsigned b = 0; b < width; b++) {
        const struct pair_wire *x_b = x + b * stride, *y_b = y + b * stride;
        struct pair_wire sum[GATES_LANES];
        for (size_t i = 0; i < n; i++) {
            s[i] = wire_xor(x_b[i], c[i]);
            t[i] = wire_xor(y_b[i], c[i]);
            sum[i] = wire_xor(x_b[i], t[i]);
        }
        if (out != NULL)
            memcpy(out + b * stride, sum, n * sizeof *sum);
        if (b + 1 == width && over == NULL)
            return;
        pair_gates_and(g, s, s, t, n);
        for (size_t i = 0; i < n; i++)
            c[i] = wire_xor(c[i], s[i]);
    }
    memcpy(over, c, n * sizeof *c);
}

void circuit_add(struct pair_gates *g, struct pair_wire *out, struct pair_wire *over,
                 const struct pair_wire *x, const struct pair_wire *y,
                 const struct pair_wire *carry, unsigned width, size_t n)
{
    for (size_t at = 0; at < n; at += GATES_LANES)
        add_some(g, out != NULL ? out + at : NULL, over != NULL ? over + at : NULL, x + at, y + at,
                 carry != NULL ? carry + at : NULL, width, n,
                 n - at < GATES_LANES ? n - at : GATES_LANES);
}

void circuit_choose(struct pair_gates *g, struct pair_wire *out, const struct pair_wire *bit,
                    const struct pair_wire *x, const struct pair_wire *y, unsigned width, size_t n)
{
    for (unsigned b = 0; b < width; b++)
        for (size_t at = 0, k; at < n; at += k) {
            struct pair_wire d[GATES_LANES];
            const size_t from = b * n + at;
            k = n - at < GATES_LANES ? n - at : GATES_LANES;
            for (size_t i = 0; i < k; i++)
                d[i] = wire_xor(x[from + i], y[from + i]);
            pair_gates_and(g, d, d, bit + at, k);
            for (size_t i = 0; i < k; i++)
                out[from + i] = wire_xor(d[i], y[from + i]);
        }
}

void circuit_not(const struct pair_gates *g, struct pair_wire *out, const struct pair_wire *x,
                 size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = wire_xor(x[i], g->one);
}

enum err circuit_pair_up(struct scratch *scratch, struct circuit_pairs *p, size_t *size,
                         size_t groups)
{
    size_t from = 0;
    *p = (struct circuit_pairs){0};
    for (size_t k = 0; k < groups; k++) {
        p->pairs += size[k] / 2;
        p->alone += size[k] % 2;
    }
    TRY(scratch_array(scratch, &p->left, p->pairs));
    TRY(scratch_array(scratch, &p->to, p->pairs));
    TRY(scratch_array(scratch, &p->from, p->alone));
    TRY(scratch_array(scratch, &p->at, p->alone));
    p->pairs = p->alone = 0;
    for (size_t k = 0; k < groups; from += size[k], size[k] = (size[k] + 1) / 2, k++) {
        for (size_t i = 0; i + 1 < size[k]; i += 2) {
            p->left[p->pairs] = from + i;
            p->to[p->pairs++] = p->next++;
        }
        if (size[k] % 2 == 1) {
            p->from[p->alone] = from + size[k] - 1;
            p->at[p->alone++] = p->next++;
        }
    }
    return ERR_OK;
}

void circuit_gather(struct pair_wire *out, const struct pair_wire *x, size_t stride,
                    const size_t *from, size_t more, unsigned width, size_t n)
{
    for (unsigned b = 0; b < width; b++)
        for (size_t i = 0; i < n; i++)
            out[b * n + i] = x[b * stride + from[i] + more];
}

void circuit_scatter(struct pair_wire *out, size_t stride, const size_t *to,
                     const struct pair_wire *x, unsigned width, size_t n)
{
    for (unsigned b = 0; b < width; b++)
        for (size_t i = 0; i < n; i++)
            out[b * stride + to[i]] = x[b * n + i];
}
