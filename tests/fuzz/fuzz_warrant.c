/*
 * A warrant, as an analyst's OPEN, a file or an audit log brings it: no crash; what is accepted is
 * written as it was, and is good only if it says what the approvers of this study have signed.
 */
#include "base/secret.h"
#include "base/version.h"
#include "parties/exchange/request.h"
#include "parties/study/warrant.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>

#define APPROVERS 3

/* A study of fixed keys, and what two of its three approvers have signed. */
struct warrant_world {
    struct study study;
    struct study_analyst who[APPROVERS], analyst;
    struct identity key[APPROVERS];
    struct warrant signed_one;
    struct bytes words; /* what is signed */
};

static void put_words(const struct warrant *w, struct bytes *out)
{
    struct warrant bare = *w;
    bare.signatures = 0;
    bytes_clear(out);
    never(warrant_write(&bare, out) != ERR_OK);
}

static void world_new(struct warrant_world *w)
{
    never(secret_start() != ERR_OK);
    memset(w, 0, sizeof *w);
    w->study.servers = 3;
    w->study.analysts = 1;
    w->study.analyst = &w->analyst;
    w->study.approvers = (struct study_approvers){.at_least = 2, .count = APPROVERS, .who = w->who};
    memset(w->study.terms.digest, 7, 32);
    memset(w->analyst.key.sign, 8, 32);
    strcpy(w->analyst.name, "a");
    for (unsigned i = 0; i < APPROVERS; i++) {
        const uint8_t seed[32] = {(uint8_t)i, 5};
        crypto_sign_seed_keypair(w->key[i].public.sign, w->key[i].sign_secret, seed);
        snprintf(w->who[i].name, STUDY_NAME_SIZE, "p%u", i);
        w->who[i].key = w->key[i].public;
    }
    w->signed_one = (struct warrant){.share = 500000, .last_day = 20000, .purpose = "wards, 2026"};
    memset(w->signed_one.terms, 7, 32);
    memset(w->signed_one.analyst, 8, 32);
    for (unsigned i = 0; i < 2; i++)
        never(warrant_sign(&w->signed_one, &w->study, &w->key[i], NULL) != ERR_OK);
    put_words(&w->signed_one, &w->words);
}

/* The first byte chooses: the text alone, or in an OPEN. */
static enum err read_it(const uint8_t *data, size_t size, struct warrant *out)
{
    struct request r CLEAN(request_clear) = {0};
    struct bytes again CLEAN(bytes_clear) = {0};
    if (data[0] % 2 == 0)
        return warrant_parse(out, data + 1, size - 1);
    TRY(request_read(&r, NULL, NULL, data + 1, size - 1));
    if (r.kind != REQUEST_OPEN || r.warrant.share == 0)
        return ERR_FORMAT;
    never(request_write(&r, &again) != ERR_OK || again.size > size - 1);
    *out = r.warrant;
    return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct warrant_world w;
    struct warrant found = {0};
    struct bytes text CLEAN(bytes_clear) = {0}, words CLEAN(bytes_clear) = {0};
    /* what asks for marginals needs a domain, and is fuzz_request's */
    if (size == 0 || (data[0] % 2 == 1 &&
                      (size < 24 || version_of(data + 23, size - 23, "trefoil-warrant-1") == 0)))
        return 0;
    world_new(&w);
    if (read_it(data, size, &found) == ERR_OK) {
        never(warrant_write(&found, &text) != ERR_OK || text.size > size ||
              memcmp(text.data, data + size - text.size, text.size) != 0 ||
              warrant_sound(&found, NULL) != ERR_OK);
        put_words(&found, &words);
        never(warrant_check(&found, &w.study, w.analyst.key.sign, NULL) == ERR_OK &&
              (words.size != w.words.size || memcmp(words.data, w.words.data, words.size) != 0));
    }
    bytes_clear(&w.words);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct warrant_world w;
    world_new(&w);
    for (unsigned k = 0; k < 4; k++) { /* one signature more each time */
        struct request r = {.kind = REQUEST_OPEN, .warrant = w.signed_one};
        struct bytes b CLEAN(bytes_clear) = {0};
        r.warrant.signatures = k < 2 ? k : 2;
        if (k == 3)
            never(warrant_sign(&r.warrant, &w.study, &w.key[2], NULL) != ERR_OK);
        bytes_put_u8(&b, 0);
        never(warrant_write(&r.warrant, &b) != ERR_OK);
        put(self, b.data, b.size);
        bytes_clear(&b);
        bytes_put_u8(&b, 1);
        never(request_write(&r, &b) != ERR_OK);
        put(self, b.data, b.size);
    }
    bytes_clear(&w.words);
}
