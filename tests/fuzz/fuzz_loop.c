/*
 * The file from which a run resumes. Its head (which options) and its digest are made to fit; the
 * rest is the input. What is accepted runs on: no crash, no leak, and no request that the ledger in
 * the file would not allow.
 */
#include "aim/run/loop.h"
#include "aim/run/plaintext.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "base/file.h"
#include "tests/fuzz/fuzz.h"

#define HEAD (15 + 32) /* "trefoil-loop-1\n", digest of the options */
#define DIGEST 32

struct fuzz_loop_stage {
    struct domain *domain;
    struct workload *workload;
    struct table *table;
    struct random random;
    struct plaintext_noise noise;
    struct plaintext *plain;
    struct aim_options options;
};

static void stage_new(struct fuzz_loop_stage *s, const char *state)
{
    *s = (struct fuzz_loop_stage){.domain = NULL};
    s->random = random_of(1);
    never(domain_new(&s->domain) != ERR_OK);
    for (int a = 0; a < 3; a++) {
        const char name[] = {(char)('a' + a), 0};
        never(domain_add_integer(s->domain, name, 0, a + 1, NULL, DOMAIN_REJECT, NULL) != ERR_OK);
    }
    never(workload_all(&s->workload, s->domain, 2, NULL) != ERR_OK ||
          table_new(&s->table, s->domain, 100) != ERR_OK);
    for (int i = 0; i < 100; i++) {
        const uint16_t codes[] = {(uint16_t)(i % 2), (uint16_t)(i % 3), (uint16_t)(i / 2 % 4)};
        never(table_append(s->table, codes) != ERR_OK);
    }
    s->noise = noise_from_random(&s->random);
    never(plaintext_new(&s->plain, s->workload, s->table, &s->noise, NULL) != ERR_OK);
    s->options = (struct aim_options){.domain = s->domain,
                                      .workload = s->workload,
                                      .limits = {.rho = 0.5, .epsilon_slack = 1e-3},
                                      .rounds = 2,
                                      .bounds = {.bits = 13},
                                      .fit_round = 3,
                                      .fit_final = 3,
                                      .state_file = state,
                                      .resume = true};
}

static void stage_free(struct fuzz_loop_stage *s)
{
    plaintext_free(&s->plain);
    table_free(&s->table);
    workload_free(&s->workload);
    domain_free(&s->domain);
}

static enum err refuse(void *self, const struct ask *a, struct ask_told *told)
{
    return ERR_REFUSED;
}

/* A finished run's state file. */
static void make_state(struct bytes *state)
{
    char path[64];
    struct fuzz_loop_stage s CLEAN(stage_free);
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-loop-%d", (int)getpid());
    unlink(path);
    stage_new(&s, path);
    struct aim_backend backend = plaintext_backend(s.plain);
    never(aim_run(&result, &s.options, &backend, NULL) != ERR_OK ||
          file_read(path, 1 << 20, state, NULL) != ERR_OK);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct bytes head; /* made once: a run takes a long time */
    const struct aim_backend refuses = {.ask = refuse};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct fuzz_loop_stage s CLEAN(stage_free);
    struct aim_result *result;
    char path[64];
    if (head.size == 0) {
        make_state(&head);
        head.size = HEAD;
    }
    bytes_put(&text, head.data, HEAD);
    bytes_put(&text, data, size);
    digest_append(&text);
    int fd = fuzz_file(text.data, text.size, path); /* no other can be written next to it */
    stage_new(&s, path);
    if (aim_run(&result, &s.options, &refuses, NULL) == ERR_OK)
        aim_result_free(&result);
    close(fd);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct bytes state CLEAN(bytes_clear) = {0};
    make_state(&state);
    put(self, state.data + HEAD, state.size - HEAD - DIGEST);
}
