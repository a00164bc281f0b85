/*
 * harness/three.h - three parties as threads of one process, over in-process queues, with
 * sealed frames and keys from a seed. A job runs at each; the first error of any is returned.
 */
#pragma once

#include "harness/shares.h"
#include "mpc/party/party.h"

struct three_costs {
    uint64_t rounds;
    uint64_t sent[3];                                                 /* payload bytes by server */
    uint64_t opened_calls[OPEN_REASONS], opened_values[OPEN_REASONS]; /* at server 0 */
};

typedef enum err (*three_job)(struct party *p, void *shared);

/* `shared` is what all three see: inputs in the clear, outputs by server. `costs` may be NULL. */
enum err three_run(uint64_t seed, three_job job, void *shared, struct three_costs *costs);

/*
 * The same with so many lanes at each server, on queues of `depth` messages. `results`: each
 * server's own, or NULL.
 */
enum err three_run_lanes(uint64_t seed, size_t lanes, size_t depth, three_job job, void *shared,
                         struct three_costs *costs, enum err results[3]);

/*
 * The same; all lanes except the first `near` do only jobs, as those of other processes do
 * (crew_jobs()).
 */
enum err three_run_dealt(uint64_t seed, size_t lanes, size_t near, three_job job, void *shared,
                         struct three_costs *costs, enum err results[3]);

/* The same over transports that `wrap` puts on top of the in-process ones. */
enum err three_run_wrapped(uint64_t seed, three_job job, void *shared, struct three_costs *costs,
                           struct transport (*wrap)(struct transport *inner));

/* Shares made in the harness: server i's part of a sharing of values that everyone knows. */
enum err three_share64(const struct party *p, struct share64 *x, const uint64_t *values, size_t n,
                       uint64_t seed);
enum err three_share128(const struct party *p, struct share128 *x, const word128 *values, size_t n,
                        uint64_t seed);
enum err three_share_planes(const struct party *p, struct planes *x, const uint64_t *values,
                            size_t n, unsigned width, uint64_t seed);

/*
 * Collects results outside of any protocol: each server stores its component a, and the harness
 * adds (or XORs) the three. The buffers are shared by the three threads.
 */
struct three_result {
    word128 *component[3], *copy[3]; /* copy: component b, which must equal the next server's a */
    size_t n;
};
/* Whether each server's b is the next one's a, in the low `width` bits of every lane. */
bool three_replicated(const struct three_result *r, unsigned width);
enum err three_result_new(struct three_result *r, size_t n);
void three_result_free(struct three_result *r);
void three_put64(struct three_result *r, const struct party *p, struct share64 x);
void three_put128(struct three_result *r, const struct party *p, struct share128 x);
void three_put_planes(struct three_result *r, const struct party *p, const struct planes *x);
uint64_t three_sum64(const struct three_result *r, size_t i);
word128 three_sum128(const struct three_result *r, size_t i);
word128 three_xor(const struct three_result *r, size_t i);

/* Runs the program's tests under every table; for main(). */
int three_each_kernel(void);

/* As kernel_unslice64(), for up to 128 planes. */
void three_unslice128(const uint64_t *planes, size_t stride, size_t n, unsigned width,
                      word128 *values);

/* Deterministic test numbers. */
uint64_t three_random(uint64_t *state);
/* THREE_VALUES of them, the same each time, for inputs. */
#define THREE_VALUES 30001
const uint64_t *three_values(void);

/* x y in GF(2^64), bit by bit: the twin of what kernel tables compute. */
uint64_t three_field_product(uint64_t x, uint64_t y);

/* Rounds of a tree over n things. */
unsigned log2_ceil(unsigned n);
