/*
 * A private key file, of a sealing key too, a public key's text, and those of sealing keys, tokens
 * and invitations: no crash; what is accepted is written back as it was.
 * A file whose keys do not fit each other is refused, so mutations rarely get further than that.
 */
#include "base/bytes.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"
#include "parties/study/sealing.h"
#include "parties/study/token.h"
#include "tests/fuzz/fuzz.h"

static void as_file(const uint8_t *data, size_t size)
{
    char sink[1024] = "", path[64];
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct identity *id CLEAN(identity_free) = NULL;
    int fd = fuzz_file(data, size, path);
    enum err e = identity_load(&id, path, &log);
    never(e != ERR_OK && e != ERR_NOMEM && strncmp(sink, "error: /proc/self/fd/", 21) != 0);
    close(fd);
}

static void as_text(const uint8_t *data, size_t size)
{
    char text[512] = "", back[IDENTITY_TEXT_SIZE];
    struct public_identity who;
    memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    if (public_identity_parse(&who, text) != ERR_OK)
        return;
    public_identity_text(&who, back);
    never(strcmp(text, back) != 0);
}

/* A link may have an address before it, up to the last '#'. */
static void as_token(const uint8_t *data, size_t size)
{
    char text[512] = "", back[TOKEN_TEXT_SIZE];
    struct token t;
    uint8_t seed[INVITE_SEED_SIZE];
    memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    if (token_parse(&t, text) == ERR_OK) {
        token_text(&t, back);
        never(strcmp(text, back) != 0);
    }
    if (invite_parse(&t.by, text) == ERR_OK) {
        invite_text(&t.by, back);
        never(strcmp(text, back) != 0);
    }
    if (invite_parse_link(&t.by, seed, text) != ERR_OK)
        return;
    const char *mark = strrchr(text, '#');
    invite_link(&t.by, seed, back);
    never(strcmp(mark != NULL ? mark + 1 : text, back) != 0);
}

/* The line of a sealing key, as the study file has it. */
static void as_sealing(const uint8_t *data, size_t size)
{
    char text[512] = "";
    struct study study = {.servers = 1};
    memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    if (sealing_parse(&study.server[0].sealing, text) == ERR_OK)
        never(sealing_check(&study, 0) == ERR_OK); /* no server of this key has signed it */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    never(secret_start() != ERR_OK);
    as_file(data, size);
    as_text(data, size);
    as_token(data, size);
    as_sealing(data, size);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct identity *id CLEAN(identity_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0};
    char path[64], text[IDENTITY_TEXT_SIZE];
    snprintf(path, sizeof path, "/tmp/trefoil-fuzz-key-%d", (int)getpid());
    never(secret_start() != ERR_OK || identity_new(&id, NULL) != ERR_OK ||
          identity_save(id, path, true, NULL) != ERR_OK ||
          file_read(path, 1 << 16, &file, NULL) != ERR_OK);
    unlink(path);
    put(self, file.data, file.size);
    public_identity_text(&id->public, text);
    put(self, text, strlen(text));
    for (unsigned k = 0; k < 4; k++) { /* both kinds of token, an invitation and its link */
        const uint8_t seed[INVITE_SEED_SIZE] = {1};
        const struct token t = {.number = 7, .invited = k == 1, .by = {.number = 7, .last_day = 9}};
        char one[TOKEN_TEXT_SIZE + 16] = "https://x/#";
        if (k < 2)
            token_text(&t, one);
        else if (k == 2)
            invite_text(&t.by, one);
        else
            invite_link(&t.by, seed, one + strlen(one));
        put(self, one, strlen(one));
    }
    {
        static const uint8_t raw[96] = {1, 2, 3};
        char line[SEALING_TEXT_SIZE];
        text_put_base64(line, "trefoil-sealing1-", raw, sizeof raw);
        put(self, line, strlen(line));
    }
}
