#include "parties/exchange/head.h"

#include "base/date.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char label[] = "trefoil-head-1";

static void put_at(struct bytes *out, const struct head_at *at)
{
    bytes_put_u64(out, at->length);
    bytes_put(out, at->hash, sizeof at->hash);
}

static void put_words(struct bytes *out, const struct head *head)
{
    put_at(out, &head->ledger);
    put_at(out, &head->past);
    put_at(out, &head->log);
    bytes_put_u64(out, (uint64_t)head->time);
}

/* --- signing ---------------------------------------------------------------------------------- */

static enum err statement(const struct study *study, unsigned index, const struct head *head,
                          struct bytes *out)
{
    bytes_put(out, study->terms.digest, 32);
    bytes_put_u8(out, (uint8_t)index);
    put_words(out, head);
    return bytes_ok(out);
}

enum err head_sign(const struct study *study, const struct identity *me, unsigned index,
                   struct head *head)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    head->time = date_now();
    TRY(statement(study, index, head, &b));
    return identity_sign(me, label, b.data, b.size, head->signature);
}

enum err head_verify(const struct study *study, unsigned index, const struct head *head)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    TRY(statement(study, index, head, &b));
    return public_identity_verify(&study->server[index].key, label, b.data, b.size,
                                  head->signature);
}

/* --- on the wire ------------------------------------------------------------------------------ */

static void read_at(struct reader *in, struct head_at *at)
{
    at->length = reader_u64(in);
    reader_copy(in, at->hash, sizeof at->hash);
}

void head_put(struct bytes *out, const struct head *head)
{
    put_words(out, head);
    bytes_put(out, head->signature, sizeof head->signature);
}

void head_read(struct reader *in, struct head *head)
{
    read_at(in, &head->ledger);
    read_at(in, &head->past);
    read_at(in, &head->log);
    head->time = date_read(in);
    reader_copy(in, head->signature, sizeof head->signature);
}

/* --- as text ---------------------------------------------------------------------------------- */

#define HEX_SIZE 65

void head_line(const struct study *study, unsigned index, const struct head *head,
               char line[HEAD_LINE_SIZE])
{
    char signature[IDENTITY_SIGNATURE_TEXT_SIZE];
    identity_signature_text(head->signature, signature);
    snprintf(line, HEAD_LINE_SIZE,
             "%s server %u %s terms %s debits %" PRIu64 " %s was %" PRIu64 " %s log %" PRIu64
             " %s %s",
             date_text(head->time).text, index, study->server[index].name,
             text_hash(study->terms.digest).text, head->ledger.length,
             text_hash(head->ledger.hash).text, head->past.length, text_hash(head->past.hash).text,
             head->log.length, text_hash(head->log.hash).text, signature);
}

enum err head_parse(const struct study *study, const char *line, unsigned *index, struct head *head)
{
    char time[DATE_SIZE], name[STUDY_NAME_SIZE], terms[HEX_SIZE], ledger[HEX_SIZE], past[HEX_SIZE],
        log[HEX_SIZE], signature[IDENTITY_SIGNATURE_TEXT_SIZE], again[HEAD_LINE_SIZE];
    uint8_t digest[32];
    *head = (struct head){0};
    if (strlen(line) >= HEAD_LINE_SIZE ||
        sscanf(line,
               "%20s server %1u %31s terms %64s debits %" SCNu64 " %64s was %" SCNu64
               " %64s log %" SCNu64 " %64s %99s",
               time, index, name, terms, &head->ledger.length, ledger, &head->past.length, past,
               &head->log.length, log, signature) != 11 ||
        *index >= study->servers || !date_parse(time, &head->time) ||
        !text_hex(terms, digest, 32) || !text_hex(ledger, head->ledger.hash, 32) ||
        !text_hex(past, head->past.hash, 32) || !text_hex(log, head->log.hash, 32) ||
        identity_signature_parse(head->signature, signature) != ERR_OK)
        return ERR_FORMAT;
    if (memcmp(digest, study->terms.digest, sizeof digest) != 0)
        return ERR_MISMATCH;
    /* one text each */
    head_line(study, *index, head, again);
    return strcmp(line, again) == 0 ? head_verify(study, *index, head) : ERR_FORMAT;
}
