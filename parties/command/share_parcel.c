/* What `share` does with a parcel, which others carry (parties/command/share.h). */
#include "parties/command/share.h"

#include "parties/owner/parcel.h"
#include "parties/owner/serial.h"

#include <sodium.h>
#include <string.h>

enum err share_may_seal(const struct share *s)
{
    if (s->study->noise_by == NOISE_BY_OWNER)
        return log_fail(s->log, ERR_STUDY,
                        "the owner of this study sends noise too, which parcels do not have; share "
                        "without --to");
    return study_seals(s->study)
               ? ERR_OK
               : log_fail(s->log, ERR_STUDY,
                          "nobody can carry parcels in this study, since not all of its servers "
                          "have a sealing key in the study file; see trefoil check, and keygen "
                          "--sealing");
}

/* --- making one ------------------------------------------------------------------------------- */

static enum err make(struct share *s, const struct serial *last, struct bytes *file)
{
    const struct sealed_from from = {.study = s->study,
                                     .me = s->me,
                                     .token = s->self.admitted ? &s->self.token : NULL,
                                     .serial = s->serial = serial_next(last)};
    uint64_t debits[STUDY_SERVERS_MOST] = {0};
    TRY(share_load_witness(s));
    for (unsigned i = 0; i < s->study->servers; i++)
        debits[i] = witness_debits(&s->witness, i);
    return parcel_make(&from, s->withdraw ? NULL : s->parts, s->replace, debits, file);
}

/* Before the parcel, which leaves: that the book counts it, the terms, the serial. */
enum err share_to(struct share *s)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    char path[FILE_PATH];
    struct serial last;
    TRY(share_may_seal(s));
    TRY(share_load_serial(s, path, &last));
    TRY(make(s, &last, &file));
    if (!s->withdraw && !book_counts(&s->book, &s->entry))
        TRY(share_note(s, BOOK_BEGUN));
    TRY(share_remember_terms(s));
    TRY(share_save_serial(s, path, &file));
    TRY(file_write(s->to, 0644, file.data, file.size, s->log));
    printf("%s is the parcel, %zu bytes; nothing was sent. Have it brought to the servers within\n"
           "30 days, from any machine that reaches them:\n"
           "  trefoil send STUDY %s\n"
           "and keep what they answer: trefoil share STUDY --key KEY --keep %s\n",
           s->to, file.size, s->to, s->to);
    return ERR_OK;
}

/* --- the answers ------------------------------------------------------------------------------ */

/* `last`, in the file `path`: the owner's last act. */
static enum err load_parcel(const struct share *s, const struct serial *last, const char *path,
                            struct parcel *p)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    TRY(file_read(s->keep, PARCEL_MAX, &file, s->log));
    TRY(parcel_parse(p, s->study, s->keep, &file, s->log));
    if (memcmp(last->parcel, p->digest, sizeof last->parcel) == 0)
        return ERR_OK;
    return log_fail(s->log, ERR_MISMATCH,
                    "%s is not the last that this key has sealed (%s): another parcel, a share or "
                    "a withdrawal came after it",
                    s->keep, path);
}

static enum err load_answers(const struct share *s, const struct parcel *p,
                             struct parcel_answers *a)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    char path[FILE_PATH];
    enum err e;
    TRY(file_path(path, s->log, "%s.answers", s->keep));
    TRY(file_read(path, PARCEL_MAX, &file, s->log));
    e = parcel_answers_read(p, a, file.data, file.size);
    return e == ERR_OK ? e
                       : log_fail(s->log, e,
                                  "%s is not what the servers answered to this parcel, or it is "
                                  "cut: have trefoil send write it again",
                                  path);
}

/* That a server's ledger continues the one that was seen, unless later ones were seen since. */
static enum err take_head(struct share *s, unsigned server, const struct bytes *answer)
{
    struct reply reply;
    struct reader in;
    struct head head;
    enum err e;
    TRY(reply_read(&reply, answer));
    in = reader_of(reply.payload, reply.size);
    head_read(&in, &head);
    TRY(reader_done(&in));
    e = witness_take(&s->witness, server, &head, s->log);
    return e == ERR_FORMAT ? ERR_OK : e;
}

/* What a server signed of the upload, or of the withdrawal; *had: it had one to withdraw. */
static enum err take_act(const struct share *s, unsigned server, const struct bytes *answer,
                         struct receipt *receipt, bool *had)
{
    struct reply reply;
    struct reader in;
    TRY(reply_read(&reply, answer));
    in = reader_of(reply.payload, reply.size);
    *had = reader_u8(&in) == 1;
    if (receipt->state == RECEIPT_HELD)
        (void)reader_u64(&in);
    else
        reader_copy(&in, receipt->digest, sizeof receipt->digest);
    receipt_part_read(&receipt->part[server], &in);
    TRY(reader_done(&in));
    return receipt_verify_part(s->study, receipt, server, s->log);
}

/* Everything that the servers answered. *whole: all had the same upload. */
static enum err take_answers(struct share *s, const struct parcel_answers *a,
                             struct receipt *receipt, bool *whole)
{
    uint8_t first[32];
    unsigned missing = 0;
    *whole = true;
    for (unsigned i = 0; i < s->study->servers; i++) {
        bool had;
        if (a->of[i].act.size == 0 || a->of[i].head.size == 0) {
            log_error(s->log, "server %u (%s) has not taken the parcel yet: trefoil send", i,
                      s->study->server[i].name);
            missing++;
            continue;
        }
        TRY(take_head(s, i, &a->of[i].head));
        TRY(take_act(s, i, &a->of[i].act, receipt, &had));
        if (i == 0)
            memcpy(first, receipt->digest, sizeof first);
        *whole = *whole && had && memcmp(first, receipt->digest, sizeof first) == 0;
    }
    return missing > 0 ? ERR_PEER : ERR_OK;
}

enum err share_keep(struct share *s)
{
    struct parcel parcel CLEAN(parcel_clear) = {0};
    struct parcel_answers answers CLEAN(parcel_answers_clear) = {0};
    struct receipt receipt = {.owner = (uint32_t)s->self.owner};
    char path[FILE_PATH];
    struct serial last;
    bool whole;
    enum err e;
    TRY(share_load_serial(s, path, &last));
    TRY(load_parcel(s, &last, path, &parcel));
    TRY(load_answers(s, &parcel, &answers));
    receipt.state = sodium_is_zero(last.upload, 32) ? RECEIPT_WITHDRAWN : RECEIPT_HELD;
    memcpy(receipt.digest, last.upload, sizeof receipt.digest);
    TRY(share_load_witness(s));
    e = take_answers(s, &answers, &receipt, &whole);
    witness_advise(&s->witness);
    TRY(e);
    if (receipt.state == RECEIPT_WITHDRAWN)
        return share_note_withdrawal(s, &receipt, whole);
    TRY(share_load_book(s));
    TRY(share_note(s, BOOK_SENT));
    return share_keep_receipt(s, &receipt);
}
