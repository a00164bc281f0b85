#include "parties/audit/audit_file.h"

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/hash.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 30)
#define HASH_TEXT 64

void audit_chain(uint8_t hash[32], const char *text, size_t n)
{
    hash_labelled(hash, AUDIT_LABEL, hash, 32, text, n);
}

void audit_signed_words(const uint8_t terms[32], unsigned server, const struct audit_head *head,
                        uint8_t words[AUDIT_SIGNED_SIZE])
{
    memcpy(words, terms, 32);
    words[32] = (uint8_t)server;
    integer_put(words + 33, head->entries, 8);
    memcpy(words + 41, head->hash, 32);
}

/* --- words of a line -------------------------------------------------------------------------- */

/* Walks over words with single spaces between them. */
struct words {
    char *next;
    unsigned servers; /* below which the number of one is */
    bool failed;
    char none[1]; /* the word after the last one */
};

static char *word(struct words *w)
{
    char *begin = w->next, *end;
    if (w->failed || begin == NULL || *begin == '\0') {
        w->failed = true;
        w->none[0] = '\0';
        return w->none;
    }
    end = strchr(begin, ' ');
    w->next = end != NULL ? end + 1 : NULL;
    if (end != NULL)
        *end = '\0';
    return begin;
}

static void expect(struct words *w, const char *text)
{
    if (strcmp(word(w), text) != 0)
        w->failed = true;
}

static uint64_t number(struct words *w, const char *name, uint64_t most)
{
    char *text, *end = NULL;
    uint64_t v;
    expect(w, name);
    text = word(w);
    errno = 0;
    v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v > most)
        w->failed = true;
    return v;
}

static double real(struct words *w, const char *name)
{
    char *text, *end = NULL;
    double v;
    expect(w, name);
    text = word(w);
    v = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(v >= 0))
        w->failed = true;
    return v;
}

static void hex(struct words *w, const char *name, uint8_t *out, size_t n)
{
    expect(w, name);
    if (!text_hex(word(w), out, n))
        w->failed = true;
}

static void copy(struct words *w, const char *text, char *to, size_t size)
{
    if (strlen(text) >= size)
        w->failed = true;
    else
        memcpy(to, text, strlen(text) + 1);
}

static unsigned server_of(struct words *w)
{
    return (unsigned)(number(w, "server", w->servers - 1) % w->servers);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Whether the next word is the name of a server with its key. */
static bool names_server(const struct words *w)
{
    return !w->failed && w->next != NULL && memchr(w->next, '=', strcspn(w->next, " ")) != NULL;
}

static void read_first(struct audit_file *f, struct words *w)
{
    expect(w, AUDIT_LABEL);
    expect(w, "study");
    copy(w, word(w), f->study, sizeof f->study);
    hex(w, "terms", f->terms, sizeof f->terms);
    f->server = server_of(w);
    for (; f->servers < STUDY_SERVERS_MOST && names_server(w); f->servers++) {
        char *name = word(w), *key = strchr(name, '=');
        *key = '\0';
        copy(w, name, f->name[f->servers], STUDY_NAME_SIZE);
        w->failed = !text_hex(key + 1, f->key[f->servers], sizeof f->key[0]) || w->failed;
    }
    w->failed = w->failed || f->servers < 2 || f->server >= f->servers;
    if (w->next == NULL)
        return; /* semi-honest, for which there is no word */
    f->security = STUDY_ABORT;
    expect(w, "security");
    expect(w, study_security_word(f->security));
}

static void read_opening(struct audit_entry *entry, struct words *w)
{
    struct audit_opening *o = &entry->opening;
    char *what;
    hex(w, "run", o->run, sizeof o->run);
    o->round = (uint32_t)number(w, "round", UINT32_MAX);
    expect(w, "reason");
    copy(w, word(w), o->reason, sizeof o->reason);
    o->values = number(w, "values", UINT64_MAX);
    hex(w, "request", o->request, sizeof o->request);
    o->cost = real(w, "cost");
    o->spent = real(w, "spent");
    expect(w, "what");
    what = word(w);
    if (!w->failed)
        o->what = entry->what = memory_string(what);
}

static void read_head(struct audit_entry *entry, struct words *w)
{
    entry->server = server_of(w);
    entry->head.entries = number(w, "entries", UINT64_MAX);
    hex(w, "head", entry->head.hash, sizeof entry->head.hash);
    if (entry->kind == AUDIT_SIGNED)
        hex(w, "signature", entry->signature, sizeof entry->signature);
}

static void read_left_out(struct audit_left_out *l, struct words *w)
{
    hex(w, "run", l->run, sizeof l->run);
    expect(w, "owner");
    copy(w, word(w), l->owner, sizeof l->owner);
    w->failed = w->failed || !study_good_name(l->owner);
}

static void read_lost(struct audit_lost *l, struct words *w)
{
    hex(w, "run", l->run, sizeof l->run);
    l->round = (uint32_t)number(w, "round", UINT32_MAX);
    l->server = server_of(w);
    expect(w, "why");
    copy(w, word(w), l->why, sizeof l->why);
}

static void read_caught(struct audit_caught *c, struct words *w)
{
    hex(w, "run", c->run, sizeof c->run);
    c->round = (uint32_t)number(w, "round", UINT32_MAX);
    expect(w, "phase");
    copy(w, word(w), c->phase, sizeof c->phase);
    c->check = number(w, "check", UINT64_MAX);
}

static const char *const kinds[AUDIT_KINDS] = {"log",  "open",      "seen",   "signed",  "left-out",
                                               "lost", "recovered", "caught", "resumed", "dropped"};

static enum err read_words(struct audit_file *f, struct audit_entry *entry, char *text)
{
    struct words w = {.next = text, .servers = f->servers > 0 ? f->servers : STUDY_SERVERS_MOST};
    char *kind, *end = NULL, *count = word(&w);
    unsigned k = 0;
    if (strtoull(count, &end, 10) != f->entries || *end != '\0')
        return ERR_DATA;
    copy(&w, word(&w), entry->time, sizeof entry->time);
    kind = word(&w);
    while (k < AUDIT_KINDS && strcmp(kinds[k], kind) != 0)
        k++;
    if ((k == AUDIT_LOG) != (f->entries == 0))
        return ERR_DATA;
    entry->kind = (enum audit_kind)k;
    switch (entry->kind) {
    case AUDIT_LOG:
        read_first(f, &w);
        break;
    case AUDIT_OPEN:
        read_opening(entry, &w);
        break;
    case AUDIT_SEEN:
    case AUDIT_SIGNED:
        read_head(entry, &w);
        break;
    case AUDIT_LEFT_OUT:
        read_left_out(&entry->left_out, &w);
        break;
    case AUDIT_LOST:
        read_lost(&entry->lost, &w);
        break;
    case AUDIT_CAUGHT:
        read_caught(&entry->caught, &w);
        break;
    case AUDIT_RESUMED:
        entry->checks.begun = number(&w, "checks", UINT64_MAX);
        entry->checks.left = number(&w, "left", UINT64_MAX);
        entry->checks.failed = number(&w, "failed", 1) == 1;
        break;
    case AUDIT_RECOVERED:
        entry->from = number(&w, "debits", UINT64_MAX);
        entry->to = number(&w, "to", UINT64_MAX);
        break;
    case AUDIT_DROPPED:
        entry->head.entries = number(&w, "debit", UINT64_MAX);
        hex(&w, "head", entry->head.hash, sizeof entry->head.hash);
        break;
    case AUDIT_KINDS:
        return ERR_DATA;
    }
    if (w.failed || w.next != NULL)
        return ERR_DATA;
    return entry->kind == AUDIT_OPEN && entry->what == NULL ? ERR_NOMEM : ERR_OK;
}

/* --- what a line claims ----------------------------------------------------------------------- */

/* A signed head must be one that this log had, and signed by a neighbour. */
static enum err check_signed(const struct audit_file *f, const struct audit_entry *entry,
                             const struct line_reader *in)
{
    struct public_identity who = {0};
    uint8_t words[AUDIT_SIGNED_SIZE];
    uint64_t n = entry->head.entries;
    if (n == 0 || n > f->entries ||
        memcmp(f->entry[n - 1].hash, entry->head.hash, sizeof entry->head.hash) != 0)
        return line_fail(in, ERR_DATA, "server %u signed another log than this one", entry->server);
    memcpy(who.sign, f->key[entry->server], sizeof who.sign);
    audit_signed_words(f->terms, f->server, &entry->head, words);
    if (entry->server == f->server ||
        public_identity_verify(&who, AUDIT_LABEL, words, sizeof words, entry->signature) != ERR_OK)
        return line_fail(in, ERR_DATA, "this is not a signature of server %u", entry->server);
    return ERR_OK;
}

static enum err check_total(const struct audit_file *f, const struct audit_entry *entry,
                            const struct line_reader *in)
{
    for (size_t k = f->entries; k-- > 0 && f->entry[k].kind != AUDIT_DROPPED;)
        if (f->entry[k].kind == AUDIT_OPEN) {
            if (entry->opening.spent >= f->entry[k].opening.spent)
                return ERR_OK;
            return line_fail(in, ERR_DATA, "what was spent is less than before");
        }
    return ERR_OK;
}

/* A line must end with the chain's hash, which goes to `hash`; the line is cut before it. */
static enum err check_hash(const struct audit_file *f, char *line, uint8_t hash[32],
                           const struct line_reader *in)
{
    const size_t n = strlen(line);
    char text[HASH_TEXT + 1];
    if (f->entries > 0)
        memcpy(hash, f->entry[f->entries - 1].hash, 32);
    if (f->size + n + 1 == in->next && n > HASH_TEXT + 1 && line[n - HASH_TEXT - 1] == ' ') {
        audit_chain(hash, line, n - HASH_TEXT - 1);
        sodium_bin2hex(text, sizeof text, hash, 32);
        if (memcmp(text, line + n - HASH_TEXT, HASH_TEXT) == 0) {
            line[n - HASH_TEXT - 1] = '\0';
            return ERR_OK;
        }
    }
    if (f->entries == 0 && strncmp(line, "0 ", 2) != 0)
        return log_fail(in->log, ERR_DATA,
                        "%s is no audit log; name the audit.log of a server's folder", in->path);
    return line_fail(in, ERR_DATA,
                     "the chain breaks here: this line was altered, or the one before it is "
                     "missing");
}

static enum err read_line(struct audit_file *f, struct audit_entry *entry, char *text,
                          const struct line_reader *in)
{
    enum err e = encoding_steers(text) ? ERR_DATA : read_words(f, entry, text);
    if (e == ERR_DATA)
        return line_fail(in, e, "this is not a line of an audit log");
    if (e == ERR_OK && entry->kind == AUDIT_OPEN)
        e = check_total(f, entry, in);
    if (e == ERR_OK && entry->kind == AUDIT_SIGNED)
        e = check_signed(f, entry, in);
    return e;
}

/* The first line is "0 TIME log FORMAT ..". */
static enum err check_version(const char *line, const struct line_reader *in)
{
    for (unsigned k = 0; k < 3 && line != NULL; k++)
        if ((line = strchr(line, ' ')) != NULL)
            line++;
    return line == NULL ? ERR_OK
                        : version_check(in->path, line, strlen(line), AUDIT_LABEL, 1, in->log);
}

static enum err add_line(struct audit_file *f, char *line, const struct line_reader *in)
{
    struct audit_entry *entry;
    enum err e;
    TRY(memory_extend(&f->entry, f->entries + 1));
    entry = &f->entry[f->entries];
    *entry = (struct audit_entry){0};
    if (f->entries == 0)
        TRY(check_version(line, in));
    TRY(check_hash(f, line, entry->hash, in));
    e = read_line(f, entry, line, in);
    if (e == ERR_OK)
        f->entries++;
    else
        memory_free(&entry->what);
    return e;
}

enum err audit_file_read(struct audit_file **file, const char *path, struct log *log)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    struct line_reader in CLEAN(line_clear) = {0};
    *file = NULL;
    TRY(memory_new(&f, 1));
    TRY(line_file(&in, path, FILE_MAX, log));
    for (char *line; (line = line_next(&in)) != NULL && !in.cut; f->size = in.next)
        TRY(add_line(f, line, &in));
    f->torn = in.text.size - 1 - f->size;
    return memory_hand_over(file, &f);
}

void audit_file_free(struct audit_file **file)
{
    struct audit_file *f = *file;
    if (f == NULL)
        return;
    for (size_t k = 0; k < f->entries; k++)
        memory_free(&f->entry[k].what);
    memory_free(&f->entry);
    memory_free(file);
}

bool audit_file_of(const struct audit_file *f, const struct study *study)
{
    bool same = f->servers == study->servers &&
                memcmp(f->terms, study->terms.digest, sizeof f->terms) == 0;
    for (unsigned i = 0; same && i < study->servers; i++)
        same = memcmp(f->key[i], study->server[i].key.sign, sizeof f->key[i]) == 0;
    return same;
}
