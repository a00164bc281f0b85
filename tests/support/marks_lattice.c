/* Marks what the lattice draws. Only tests that wrap its samplers link this. */
#include "mpc/lattice/lattice_sample.h"
#include "tests/support/marks.h"

static bool marking;

void marks_lattice(bool on)
{
    marking = on;
}

static void mark(void *p, size_t n)
{
    if (marking)
        marks_secret(p, n);
}

__typeof__(lattice_ternary) __real_lattice_ternary, __wrap_lattice_ternary;
enum err __wrap_lattice_ternary(struct prg *prg, int8_t x[LATTICE_N])
{
    TRY(__real_lattice_ternary(prg, x));
    mark(x, LATTICE_N);
    return ERR_OK;
}

__typeof__(lattice_errors) __real_lattice_errors, __wrap_lattice_errors;
enum err __wrap_lattice_errors(struct prg *prg, int8_t x[LATTICE_N])
{
    TRY(__real_lattice_errors(prg, x));
    mark(x, LATTICE_N);
    return ERR_OK;
}

__typeof__(lattice_flood) __real_lattice_flood, __wrap_lattice_flood;
enum err __wrap_lattice_flood(const struct lattice_ring *ring, struct prg *prg,
                              struct lattice_poly *x, uint64_t low[LATTICE_N])
{
    TRY(__real_lattice_flood(ring, prg, x, low));
    mark(x, sizeof *x);
    mark(low, LATTICE_N * sizeof *low);
    return ERR_OK;
}

__typeof__(lattice_low) __real_lattice_low, __wrap_lattice_low;
bool __wrap_lattice_low(const struct lattice_ring *ring, const struct lattice_poly *x,
                        uint64_t low[LATTICE_N])
{
    bool all = __real_lattice_low(ring, x, low);
    marks_public(&all, sizeof all);
    return all;
}
