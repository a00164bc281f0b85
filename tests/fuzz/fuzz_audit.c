/*
 * A server's audit log, as anybody may be handed one: lines are chained here, since a fuzzer would
 * not get past their hashes (an input that begins with '!' is taken as it is). No crash; every
 * refusal is in words; what is accepted can be described, agrees with itself, and is what was
 * written: with any byte changed it is refused.
 */
#include "base/secret.h"
#include "parties/audit/audit_compare.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>

/* Ends a line with the hash of the chain up to it. */
static void put_line(struct bytes *out, uint8_t hash[32], const char *line, size_t n)
{
    char hex[65];
    audit_chain(hash, line, n);
    sodium_bin2hex(hex, sizeof hex, hash, 32);
    bytes_put(out, line, n);
    bytes_put_u8(out, ' ');
    bytes_put(out, hex, 64);
    bytes_put_u8(out, '\n');
}

/* Chains the whole lines of the input; the rest is a torn line. */
static void chain(struct bytes *out, const char *p, size_t n)
{
    uint8_t hash[32] = {0};
    const char *end;
    while (n > 0 && (end = memchr(p, '\n', n)) != NULL) {
        put_line(out, hash, p, (size_t)(end - p));
        n -= (size_t)(end - p) + 1;
        p = end + 1;
    }
    bytes_put(out, p, n);
}

static enum err read_log(struct audit_file **f, const struct bytes *text, struct log *log)
{
    char path[64];
    int fd = fuzz_file(text->data, text->size, path);
    enum err e = audit_file_read(f, path, log);
    close(fd);
    return e;
}

static void check(struct audit_file *f, struct bytes *text)
{
    struct audit_file *again CLEAN(audit_file_free) = NULL;
    FILE *out = fopen("/dev/null", "w");
    never(out == NULL);
    audit_describe(&f, 1, out);
    never(f->size + f->torn != text->size || audit_compare(&f, 1, out, NULL) != ERR_OK);
    fclose(out);
    if (f->size > 0) {
        text->data[f->size / 2] ^= 1;
        never(read_log(&again, text, NULL) == ERR_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char words[1024] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_ERROR};
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    if (size > 0 && data[0] == '!')
        bytes_put(&text, data + 1, size - 1);
    else if (size > 0)
        chain(&text, (const char *)data, size);
    never(bytes_ok(&text) != ERR_OK);
    if (read_log(&f, &text, &log) == ERR_OK)
        check(f, &text);
    else if (words[0] == '\0')
        abort();
    return 0;
}

#define RUN "000102030405060708090a0b0c0d0e0f"
#define DIGEST RUN RUN

/* Appends a line to the log and to its chain. */
static void add(struct bytes *lines, uint8_t hash[32], const char *line)
{
    audit_chain(hash, line, strlen(line));
    bytes_put_text(lines, line);
    bytes_put_u8(lines, '\n');
}

/* A log of server 0 with a line of each kind; the neighbour's signature covers the first. */
void fuzz_seeds(fuzz_put put, void *self)
{
    struct identity server[STUDY_SERVERS_MOST] = {0};
    struct audit_head head = {.entries = 1};
    struct bytes lines CLEAN(bytes_clear) = {0};
    uint8_t terms[32], words[AUDIT_SIGNED_SIZE], signature[64], unused[32] = {0};
    char line[1024], key[STUDY_SERVERS_MOST][65], hex[65], text[129];
    never(secret_start() != ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        const uint8_t seed[32] = {(uint8_t)i, 2};
        crypto_sign_seed_keypair(server[i].public.sign, server[i].sign_secret, seed);
        sodium_bin2hex(key[i], sizeof key[i], server[i].public.sign, 32);
    }
    snprintf(line, sizeof line,
             "0 now log trefoil-audit-1 study fuzz terms " DIGEST " server 0 a=%s b=%s c=%s",
             key[0], key[1], key[2]);
    add(&lines, head.hash, line);
    for (unsigned i = 0; i < 32; i++)
        terms[i] = (uint8_t)(i % 16);
    audit_signed_words(terms, 0, &head, words);
    never(identity_sign(&server[1], AUDIT_LABEL, words, sizeof words, signature) != ERR_OK);
    sodium_bin2hex(hex, sizeof hex, head.hash, sizeof head.hash);
    sodium_bin2hex(text, sizeof text, signature, sizeof signature);
    snprintf(line, sizeof line, "1 now signed server 1 entries 1 head %s signature %s", hex, text);
    add(&lines, unused, line);
    add(&lines, unused, "2 now seen server 2 entries 9 head " DIGEST);
    add(&lines, unused,
        "3 now open run " RUN " round 1 reason NOISY_MARGINAL values 4 request " DIGEST
        " cost 0.25 spent 0.25 what sex*age,ward");
    add(&lines, unused, "4 now recovered debits 1 to 2");
    add(&lines, unused, "5 now resumed checks 7 left 2 failed 1");
    add(&lines, unused, "6 now dropped debit 4 head " DIGEST);
    put(self, lines.data, lines.size);
    bytes_put_text(&lines, "7 no");
    put(self, lines.data, lines.size);
}
