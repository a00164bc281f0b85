/*
 * What a client keeps of the servers' ledgers, as a file: no crash, nothing counts unless its
 * server has signed it, and what counts reads the same after it is written.
 */
#include "base/secret.h"
#include "parties/exchange/witness.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>

/* A study of fixed keys, with what heads look at. */
struct witness_world {
    struct study study;
    struct identity server[STUDY_SERVERS_MOST];
};

static void world_new(struct witness_world *w)
{
    memset(w, 0, sizeof *w);
    memset(w->study.terms.digest, 7, 32);
    w->study.servers = 3;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        const uint8_t seed[32] = {(uint8_t)i, 2};
        snprintf(w->study.server[i].name, STUDY_NAME_SIZE, "s%u", i);
        crypto_sign_seed_keypair(w->server[i].public.sign, w->server[i].sign_secret, seed);
        w->study.server[i].key = w->server[i].public;
    }
}

static void read_all(struct witness *w, const void *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    const enum err e = witness_add(w, path);
    if (e != ERR_OK && e != ERR_FORMAT) /* signatures of a later version */
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct witness_world w;
    never(secret_start() != ERR_OK);
    world_new(&w);
    struct witness seen = {.study = &w.study}, again = {.study = &w.study};
    read_all(&seen, data, size);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        char line[HEAD_LINE_SIZE];
        if (witness_debits(&seen, i) == 0)
            continue;
        never(head_verify(&w.study, i, &seen.seen[i]) != ERR_OK);
        head_line(&w.study, i, &seen.seen[i], line);
        again.files = 0;
        read_all(&again, line, strlen(line));
        never(memcmp(&again.seen[i], &seen.seen[i], sizeof seen.seen[i]) != 0);
    }
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct witness_world w;
    char lines[STUDY_SERVERS_MOST * (HEAD_LINE_SIZE + 16)] = "# seen\n";
    never(secret_start() != ERR_OK);
    world_new(&w);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct head h = {.ledger.length = 3 + i, .log.length = 20};
        size_t n = strlen(lines);
        char line[HEAD_LINE_SIZE];
        memset(h.ledger.hash, (int)i + 1, sizeof h.ledger.hash);
        never(head_sign(&w.study, &w.server[i], i, &h) != ERR_OK);
        head_line(&w.study, i, &h, line);
        snprintf(lines + n, sizeof lines - n, "%s%s\n", i == 2 ? "against " : "", line);
        put(self, lines, strlen(lines));
    }
}
