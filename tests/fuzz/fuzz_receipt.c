/*
 * A receipt, as it is beside an owner's key: no crash, every refusal has its line; what is accepted
 * reads the same after it is written, and its signatures are good only if they were made over
 * exactly that.
 */
#include "base/file.h"
#include "base/secret.h"
#include "parties/exchange/receipt.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>

/* A study of fixed keys, with what receipts look at. */
struct receipt_world {
    struct study study;
    struct study_owner owner[2];
    struct identity server[STUDY_SERVERS_MOST];
};

static void world_new(struct receipt_world *w)
{
    memset(w, 0, sizeof *w);
    w->study.owner = w->owner;
    w->study.owners = 2;
    w->study.servers = 3;
    strcpy(w->study.name, "fuzz");
    strcpy(w->owner[0].name, "a");
    strcpy(w->owner[1].name, "hospital-b");
    memset(w->study.terms.digest, 7, 32);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        const uint8_t seed[32] = {(uint8_t)i, 1};
        snprintf(w->study.server[i].name, STUDY_NAME_SIZE, "s%u", i);
        crypto_sign_seed_keypair(w->server[i].public.sign, w->server[i].sign_secret, seed);
        w->study.server[i].key = w->server[i].public;
    }
}

static bool same(const struct receipt *a, const struct receipt *b)
{
    bool same = a->state == b->state && a->owner == b->owner &&
                memcmp(a->digest, b->digest, 32) == 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        same = same && a->part[i].time == b->part[i].time &&
               memcmp(a->part[i].signature, b->part[i].signature, IDENTITY_SIGNATURE_SIZE) == 0;
    return same;
}

/* A signed receipt of these digests. */
static void sign(const struct receipt_world *w, enum receipt_state state, uint32_t owner,
                 struct receipt *r)
{
    *r = (struct receipt){.state = state, .owner = owner};
    memset(r->digest, (int)owner + 1, sizeof r->digest);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        never(receipt_sign(&w->study, &w->server[i], r, &r->part[i]) != ERR_OK);
}

static void written(const struct receipt_world *w, const struct receipt *r, struct bytes *text)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-receipt-%d", (int)getpid());
    never(receipt_save(path, &w->study, r, NULL) != ERR_OK ||
          file_read(path, RECEIPT_FILE_MAX, text, NULL) != ERR_OK);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct receipt_world w;
    char sink[1024] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct receipt r, again;
    struct bytes text CLEAN(bytes_clear) = {0};
    never(secret_start() != ERR_OK);
    world_new(&w);
    enum err e = receipt_parse(&r, &w.study, "fuzz", data, size, &log);
    if (e != ERR_OK) {
        never((e != ERR_FORMAT && e != ERR_MISMATCH) || strncmp(sink, "error: fuzz", 11) != 0);
        return 0;
    }
    written(&w, &r, &text);
    never(receipt_parse(&again, &w.study, "fuzz", text.data, text.size, NULL) != ERR_OK ||
          !same(&r, &again));
    if (receipt_verify(&w.study, &r, NULL) == ERR_OK) {
        /* the signatures do not cover anything else */
        r.digest[31] ^= 1;
        never(receipt_verify(&w.study, &r, NULL) != ERR_AUTH);
    }
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct receipt_world w;
    struct receipt r;
    struct bytes text CLEAN(bytes_clear) = {0};
    never(secret_start() != ERR_OK);
    world_new(&w);
    for (unsigned k = 0; k < 4; k++) {
        sign(&w, k < 2 ? RECEIPT_HELD : RECEIPT_WITHDRAWN, k % 2, &r);
        never(receipt_verify(&w.study, &r, NULL) != ERR_OK);
        written(&w, &r, &text);
        put(self, text.data, text.size);
    }
}
