#include "parties/audit/audit.h"

#include "base/bytes.h"
#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "mpc/party/party.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

struct audit {
    int fd;
    char path[FILE_PATH];
    const struct study *study; /* borrowed, as is the identity */
    const struct identity *me;
    unsigned index;
    struct audit_head head;
    pthread_mutex_t lock;      /* for `lasting` */
    struct audit_head lasting; /* the head that is on disk */
    off_t size;                /* of the file, up to `head` */
    struct log *log;
};

/* --- lines ------------------------------------------------------------------------------------ */

static enum err failed(const struct audit *a, const char *what)
{
    return log_fail(a->log, ERR_SYSTEM, "cannot %s %s: %s; nothing is opened without it", what,
                    a->path, strerror(errno));
}

/* Cuts off what a failed write has left after the last line. */
static enum err make_whole(const struct audit *a)
{
    off_t end = lseek(a->fd, 0, SEEK_END);
    if (end < a->size)
        return log_fail(a->log, ERR_DATA,
                        "%s is shorter than this server has written it; nothing is opened without "
                        "it. Keep it as evidence, and restore the folder from a backup",
                        a->path);
    return end == a->size || ftruncate(a->fd, a->size) == 0 ? ERR_OK : failed(a, "mend");
}

static enum err put(struct audit *a, const char *text, size_t n, bool sync)
{
    TRY(make_whole(a));
    if (file_write_all(a->fd, text, n) == 0 && (!sync || fdatasync(a->fd) == 0)) {
        a->size += (off_t)n;
        return ERR_OK;
    }
    failed(a, "write");
    TRY(make_whole(a));
    return ERR_SYSTEM;
}

/* Every line begins with its number and the time. */
static void begin(const struct audit *a, struct bytes *line)
{
    text_put(line, "%" PRIu64 " %s ", a->head.entries, date_text(date_now()).text);
}

static void set_lasting(struct audit *a)
{
    pthread_mutex_lock(&a->lock);
    a->lasting = a->head;
    pthread_mutex_unlock(&a->lock);
}

/* Chains a line and appends it. */
static enum err end(struct audit *a, struct bytes *line, bool sync)
{
    struct audit_head next = {.entries = a->head.entries + 1};
    TRY(bytes_ok(line));
    memcpy(next.hash, a->head.hash, sizeof next.hash);
    audit_chain(next.hash, (const char *)line->data, line->size);
    bytes_put_u8(line, ' ');
    text_put_hex(line, next.hash, sizeof next.hash);
    bytes_put_u8(line, '\n');
    TRY(bytes_ok(line));
    TRY(put(a, (const char *)line->data, line->size, sync));
    a->head = next;
    if (sync)
        set_lasting(a);
    return ERR_OK;
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum err write_first(struct audit *a)
{
    struct bytes line CLEAN(bytes_clear) = {0};
    begin(a, &line);
    text_put(&line, "log trefoil-audit-1 study %s terms ", a->study->name);
    text_put_hex(&line, a->study->terms.digest, 32);
    text_put(&line, " server %u", a->index);
    for (unsigned i = 0; i < a->study->servers; i++) {
        text_put(&line, " %s=", a->study->server[i].name);
        text_put_hex(&line, a->study->server[i].key.sign, 32);
    }
    if (a->study->security != STUDY_SEMI_HONEST)
        text_put(&line, " security %s", study_security_words[a->study->security]);
    return end(a, &line, true);
}

static bool is_ours(const struct audit *a, const struct audit_file *f)
{
    return f->entries > 0 && f->server == a->index && audit_file_of(f, a->study);
}

/* Checks what is there, to continue after it. */
static enum err take_up(struct audit *a)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    enum err e = audit_file_read(&f, a->path, a->log);
    if (e == ERR_DATA)
        log_error(a->log, "this server does not start, because its audit log is not intact; keep "
                          "the log as evidence, and restore the folder from a backup");
    TRY(e);
    a->size = (off_t)f->size;
    if (f->torn > 0) {
        log_warn(a->log,
                 "%s ended in half a line, after a crash; that line is removed, since nothing was "
                 "opened for it",
                 a->path);
        if (ftruncate(a->fd, a->size) != 0)
            return failed(a, "mend");
    }
    if (fdatasync(a->fd) != 0)
        return failed(a, "sync");
    if (f->entries <= 1 && !is_ours(a, f)) {
        a->size = 0; /* nothing has happened here: a study without data may change */
        return write_first(a);
    }
    if (!is_ours(a, f))
        return log_fail(a->log, ERR_MISMATCH,
                        "%s is of another study or server; keep it, and use another folder",
                        a->path);
    a->head.entries = f->entries;
    memcpy(a->head.hash, f->entry[f->entries - 1].hash, sizeof a->head.hash);
    set_lasting(a);
    return ERR_OK;
}

enum err audit_open(struct audit **audit, const char *folder, const struct study *study,
                    const struct identity *me, unsigned index, struct log *log)
{
    struct audit *a CLEAN(audit_close) = NULL;
    *audit = NULL;
    TRY(memory_new(&a, 1));
    if (pthread_mutex_init(&a->lock, NULL) != 0) {
        memory_free(&a);
        return ERR_NOMEM;
    }
    a->log = log;
    a->study = study;
    a->me = me;
    a->index = index;
    a->fd = -1;
    TRY(file_path(a->path, log, "%s/audit.log", folder));
    a->fd = open(a->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (a->fd < 0)
        return log_fail(log, ERR_SYSTEM, "cannot open %s: %s", a->path, strerror(errno));
    TRY(take_up(a));
    return memory_hand_over(audit, &a);
}

void audit_close(struct audit **audit)
{
    if (*audit == NULL)
        return;
    if ((*audit)->fd >= 0)
        close((*audit)->fd);
    pthread_mutex_destroy(&(*audit)->lock);
    memory_free(audit);
}

/* --- writing ---------------------------------------------------------------------------------- */

static enum err append(struct audit *a, const struct audit_entry *entry, bool sync)
{
    struct bytes line CLEAN(bytes_clear) = {0};
    begin(a, &line);
    audit_entry_put(&line, entry);
    return end(a, &line, sync);
}

enum err audit_note(struct audit *audit, const struct audit_entry *entry)
{
    return append(audit, entry, true);
}

/* --- reading ---------------------------------------------------------------------------------- */

enum err audit_has_opened(struct audit *a, const uint8_t run[AUDIT_RUN_SIZE], uint32_t round,
                          bool *opened)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    *opened = false;
    TRY(audit_file_read(&f, a->path, a->log));
    for (size_t k = 0; k < f->entries; k++) {
        const struct audit_opening *o = &f->entry[k].opening;
        *opened = *opened || (f->entry[k].kind == AUDIT_OPEN && o->round == round &&
                              memcmp(o->run, run, sizeof o->run) == 0 &&
                              strcmp(o->reason, party_reason_name(OPEN_REJECT_BIT)) != 0 &&
                              strcmp(o->reason, party_reason_name(OPEN_SORTED)) != 0);
    }
    return ERR_OK;
}

/* --- heads ------------------------------------------------------------------------------------ */

enum err audit_head(struct audit *a, struct audit_head *head)
{
    *head = a->head;
    if (head->entries == a->lasting.entries) /* which this thread alone changes */
        return ERR_OK;
    if (fdatasync(a->fd) != 0)
        return failed(a, "sync");
    set_lasting(a);
    return ERR_OK;
}

void audit_lasting(struct audit *a, struct audit_head *head)
{
    pthread_mutex_lock(&a->lock);
    *head = a->lasting;
    pthread_mutex_unlock(&a->lock);
}

enum err audit_see(struct audit *a, unsigned server, const struct audit_head *theirs,
                   uint8_t signature[64])
{
    const struct audit_entry entry = {.kind = AUDIT_SEEN, .server = server, .head = *theirs};
    uint8_t words[AUDIT_SIGNED_SIZE];
    TRY(append(a, &entry, false)); /* on disk with the opening that follows */
    audit_signed_words(a->study->terms.digest, server, theirs, words);
    return identity_sign(a->me, AUDIT_LABEL, words, sizeof words, signature);
}

enum err audit_keep(struct audit *a, unsigned server, const struct audit_head *ours,
                    const uint8_t signature[64])
{
    struct audit_entry entry = {.kind = AUDIT_SIGNED, .server = server, .head = *ours};
    uint8_t words[AUDIT_SIGNED_SIZE];
    audit_signed_words(a->study->terms.digest, a->index, ours, words);
    if (public_identity_verify(&a->study->server[server].key, AUDIT_LABEL, words, sizeof words,
                               signature) != ERR_OK)
        return log_fail(a->log, ERR_AUTH,
                        "server %u did not sign the head of this server's audit log", server);
    memcpy(entry.signature, signature, sizeof entry.signature);
    return append(a, &entry, false);
}
