/* What `share` does at the servers, and what it keeps of that (parties/command/share.h). */
#include "base/date.h"
#include "parties/command/share.h"
#include "parties/exchange/price.h"
#include "parties/owner/courier.h"
#include "parties/owner/parcel.h"
#include "parties/owner/pin.h"
#include "parties/owner/serial.h"
#include "parties/study/study_setting.h"

#include <inttypes.h>

/* --- files beside the key --------------------------------------------------------------------- */

enum err share_path(const struct share *s, const char *asked, const char *end, char path[FILE_PATH])
{
    return asked != NULL ? file_path(path, s->log, "%s", asked)
                         : pin_of_study(s->key, s->self.name.text, s->study, end, path, s->log);
}

enum err share_load_serial(const struct share *s, char path[FILE_PATH], struct serial *serial)
{
    TRY(share_path(s, NULL, "serial", path));
    return serial_load(serial, path, s->log);
}

enum err share_save_serial(const struct share *s, const char *path, const struct bytes *parcel)
{
    struct serial now = {.last = s->serial};
    if (!s->withdraw)
        upload_digest(&s->parts[0], s->study->terms.digest, now.upload);
    if (parcel != NULL)
        parcel_digest(parcel, now.parcel);
    return serial_save(&now, path, s->log);
}

/* Where the study has sealing keys: takes the next serial, for an upload or a withdrawal. */
static enum err take_serial(struct share *s)
{
    char path[FILE_PATH];
    struct serial last;
    if (!study_seals(s->study))
        return ERR_OK;
    TRY(share_load_serial(s, path, &last));
    s->serial = serial_next(&last);
    return share_save_serial(s, path, NULL);
}

/* --- the budget book -------------------------------------------------------------------------- */

enum err share_load_book(struct share *s)
{
    struct ledger_limits limits;
    book_clear(&s->book);
    TRY(pin_beside(s->key, ".book", s->book_path, s->log));
    TRY(book_load(&s->book, s->book_path, s->log));
    if (s->list)
        return ERR_OK;
    TRY(price_limits(s->study, &limits, s->log));
    s->entry = book_entry_of(s->study, &limits, BOOK_SENT);
    return ERR_OK;
}

enum err share_note(const struct share *s, enum book_state state)
{
    struct book_entry entry = s->entry;
    entry.state = state;
    entry.time = date_now();
    return book_add(s->book_path, &entry, s->log);
}

/* If server 0 refused for good, or because of the terms or its ledger, nobody else was asked. */
static enum err note_end(const struct share *s, enum err e, const struct receipt *receipt)
{
    if (e == ERR_OK)
        return share_note(s, BOOK_SENT);
    if ((e == ERR_MISMATCH || e == ERR_REFUSED) && receipt->part[0].time == 0 &&
        !book_counts(&s->book, &s->entry))
        return share_note(s, BOOK_REFUSED);
    return ERR_OK;
}

enum err share_tell_book(struct share *s)
{
    TRY(identity_load(&s->me, s->key, s->log));
    TRY(share_load_book(s));
    book_describe(stdout, &s->book, s->book_path);
    return ERR_OK;
}

/* --- at the servers --------------------------------------------------------------------------- */

enum err share_load_witness(struct share *s)
{
    char heads[FILE_PATH];
    s->witness = (struct witness){.study = s->study, .log = s->log};
    TRY(share_path(s, NULL, "heads", heads));
    return witness_add(&s->witness, heads);
}

static enum err meet(struct share *s, struct courier **courier)
{
    const struct courier_options o = {
        .study = s->study,
        .me = s->me,
        .witness = &s->witness,
        .owner = (uint32_t)s->self.owner,
        .token = s->self.admitted ? &s->self.token : NULL,
        .serial = s->serial,
        .retries = (unsigned)s->retries,
        .progress = &s->progress,
        .log = s->log,
    };
    s->progress = progress_start(stdout, s->study, 0);
    progress_attach(&s->progress, s->log);
    TRY(share_load_witness(s));
    return courier_new(courier, &o);
}

static void part(struct share *s, struct courier **courier)
{
    progress_detach(&s->progress, s->log);
    witness_advise(&s->witness);
    if (*courier != NULL)
        s->traffic = courier_traffic(*courier);
    courier_free(courier);
}

enum err share_keep_receipt(const struct share *s, const struct receipt *receipt)
{
    char path[FILE_PATH];
    TRY(share_path(s, s->receipt_path, "receipt", path));
    TRY(receipt_save(path, s->study, receipt, s->log));
    printf("their signatures are in %s\n", path);
    return ERR_OK;
}

enum err share_remember_terms(const struct share *s)
{
    enum err e = s->known || s->withdraw
                     ? ERR_OK
                     : pin_set(s->key, s->study, s->fingerprint != NULL ? NULL : s->log);
    return s->fingerprint != NULL ? ERR_OK : e;
}

/* Whether a server has been seen to have made a debit. */
static bool has_paid(const struct share *s)
{
    uint64_t debits = 0;
    for (unsigned i = 0; i < s->study->servers; i++)
        debits += witness_debits(&s->witness, i);
    return debits > 0;
}

/* Rows that come too late are stored all the same. */
static void tell_late(const struct share *s)
{
    if (has_paid(s) && !s->study->late_join && s->study->link.min_linked == 0)
        puts("a run has begun: it counts this upload only if that was here before "
             "(late_uploads: wait)");
}

enum err share_send(struct share *s)
{
    struct courier *courier = NULL;
    struct receipt receipt = {0};
    enum err e, noted;
    TRY(take_serial(s));
    if (!book_counts(&s->book, &s->entry))
        TRY(share_note(s, BOOK_BEGUN));
    e = meet(s, &courier);
    if (e == ERR_OK && s->study->noise_by == NOISE_BY_OWNER)
        e = courier_noise(courier, s->split);
    if (e == ERR_OK)
        e = courier_upload(courier, s->parts, s->replace, &receipt);
    part(s, &courier);
    noted = note_end(s, e, &receipt);
    if (e != ERR_MISMATCH) /* terms that no server knows are not worth remembering */
        TRY(share_remember_terms(s));
    if (e == ERR_OK)
        printf("%s servers have stored the upload: %" PRIu64 " bytes sent, %" PRIu64 " received\n",
               study_setting(s->study)->all, s->traffic.sent, s->traffic.received);
    if (e == ERR_OK) {
        tell_late(s);
        e = share_keep_receipt(s, &receipt);
    }
    return e == ERR_OK ? noted : e;
}

/*
 * A look before the withdrawal opened something of the rows, and stays paid for. Of a parcel nobody
 * knows: its head may have been asked for long before.
 */
static bool may_have_looked(const struct share *s)
{
    return s->study->link.min_linked > 0 && (s->keep != NULL || has_paid(s));
}

enum err share_note_withdrawal(struct share *s, const struct receipt *receipt, bool whole)
{
    if (whole)
        TRY(share_keep_receipt(s, receipt));
    else
        puts("no server holds an upload of this owner now");
    TRY(share_load_book(s));
    if (!book_counts(&s->book, &s->entry))
        return ERR_OK;
    if (!may_have_looked(s))
        return share_note(s, BOOK_WITHDRAWN);
    puts(
        "a run may have counted linked rows before (min_linked), which stays paid for: the budget\n"
        "book still counts this study");
    return ERR_OK;
}

enum err share_withdraw(struct share *s)
{
    struct courier *courier = NULL;
    struct receipt receipt;
    bool whole = false;
    enum err e = take_serial(s);
    if (e == ERR_OK)
        e = meet(s, &courier);
    if (e == ERR_OK)
        e = courier_withdraw(courier, &receipt, &whole);
    part(s, &courier);
    TRY(e);
    return share_note_withdrawal(s, &receipt, whole);
}

enum err share_tell_status(struct share *s)
{
    struct courier *courier = NULL;
    struct server_status status[STUDY_SERVERS_MOST] = {{0}};
    enum err e = meet(s, &courier), ledgers = ERR_OK;
    if (e == ERR_OK)
        ledgers = courier_status(courier, status);
    part(s, &courier);
    if (e == ERR_OK)
        server_status_describe(stdout, s->study, s->split, status);
    if (e == ERR_OK)
        e = ledgers;
    for (unsigned i = 0; i < s->study->servers; i++) {
        if (e == ERR_OK && !status[i].answered)
            e = ERR_PEER;
        server_status_clear(&status[i]);
    }
    return e;
}
