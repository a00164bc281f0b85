#include "parties/audit/audit_file.h"

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/hash.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"

#include <errno.h>
#include <inttypes.h>
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

/*
 * Walks over words with single spaces between them; with `out` it writes them instead. A function
 * for a kind of line names its words once, for both: what is written is what is read.
 */
struct audit_words {
    struct bytes *out;
    char *next;
    unsigned servers; /* below which the number of one is */
    bool failed;
    char none[1]; /* the word after the last one */
};

static char *word(struct audit_words *w)
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

static void expect(struct audit_words *w, const char *text)
{
    if (w->out != NULL)
        text_put(w->out, " %s ", text);
    else if (strcmp(word(w), text) != 0)
        w->failed = true;
}

static uint64_t number(struct audit_words *w, const char *name, uint64_t v, uint64_t most)
{
    char *text, *end = NULL;
    expect(w, name);
    if (w->out != NULL) {
        text_put(w->out, "%" PRIu64, v);
        return v;
    }
    text = word(w);
    errno = 0;
    v = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v > most)
        w->failed = true;
    return v;
}

static double real(struct audit_words *w, const char *name, double v)
{
    char *text, *end = NULL;
    expect(w, name);
    if (w->out != NULL) {
        text_put(w->out, "%.12g", v);
        return v;
    }
    text = word(w);
    v = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(v >= 0))
        w->failed = true;
    return v;
}

static void hex(struct audit_words *w, const char *name, uint8_t *p, size_t n)
{
    expect(w, name);
    if (w->out != NULL)
        text_put_hex(w->out, p, n);
    else if (!text_hex(word(w), p, n))
        w->failed = true;
}

static void copy(struct audit_words *w, const char *text, char *to, size_t size)
{
    if (strlen(text) >= size)
        w->failed = true;
    else
        memcpy(to, text, strlen(text) + 1);
}

static void text(struct audit_words *w, const char *name, char *p, size_t size)
{
    expect(w, name);
    if (w->out != NULL)
        bytes_put_text(w->out, p);
    else
        copy(w, word(w), p, size);
}

static unsigned server_of(struct audit_words *w, unsigned server)
{
    return (unsigned)(number(w, "server", server, w->servers - 1) % w->servers);
}

/* All that is left of the line, as `*p` that belongs to the entry. */
static void rest(struct audit_words *w, const char *name, char **p)
{
    expect(w, name);
    if (w->out != NULL)
        bytes_put_text(w->out, *p);
    else if (w->failed || w->next == NULL)
        w->failed = true;
    else
        *p = memory_string(w->next);
    w->next = NULL;
}

static void run_and_round(struct audit_words *w, uint8_t run[AUDIT_RUN_SIZE], uint32_t *round)
{
    hex(w, "run", run, AUDIT_RUN_SIZE);
    *round = (uint32_t)number(w, "round", *round, UINT32_MAX);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Whether the next word is the name of a server with its key. */
static bool names_server(const struct audit_words *w)
{
    return !w->failed && w->next != NULL && memchr(w->next, '=', strcspn(w->next, " ")) != NULL;
}

static void read_first(struct audit_file *f, struct audit_words *w)
{
    expect(w, AUDIT_LABEL);
    expect(w, "study");
    copy(w, word(w), f->study, sizeof f->study);
    hex(w, "terms", f->terms, sizeof f->terms);
    f->server = server_of(w, 0);
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
    expect(w, study_security_words[f->security]);
}

static void opening(struct audit_entry *entry, struct audit_words *w)
{
    struct audit_opening *o = &entry->opening;
    run_and_round(w, o->run, &o->round);
    text(w, "reason", o->reason, sizeof o->reason);
    o->values = number(w, "values", o->values, UINT64_MAX);
    hex(w, "request", o->request, sizeof o->request);
    o->cost = real(w, "cost", o->cost);
    o->spent = real(w, "spent", o->spent);
    expect(w, "what");
    if (w->out != NULL) {
        bytes_put_text(w->out, o->what);
        return;
    }
    o->what = word(w);
    if (!w->failed)
        o->what = entry->what = memory_string(o->what);
}

/* The words of any line but the first, after its kind. */
static void line_of(struct audit_entry *e, struct audit_words *w)
{
    switch (e->kind) {
    case AUDIT_OPEN:
        opening(e, w);
        break;
    case AUDIT_SEEN:
    case AUDIT_SIGNED:
        e->server = server_of(w, e->server);
        e->head.entries = number(w, "entries", e->head.entries, UINT64_MAX);
        hex(w, "head", e->head.hash, sizeof e->head.hash);
        if (e->kind == AUDIT_SIGNED)
            hex(w, "signature", e->signature, sizeof e->signature);
        break;
    case AUDIT_LEFT_OUT:
        hex(w, "run", e->run, sizeof e->run);
        text(w, "owner", e->owner, sizeof e->owner);
        w->failed = w->failed || !study_good_name(e->owner);
        break;
    case AUDIT_LOST:
        run_and_round(w, e->run, &e->round);
        e->server = server_of(w, e->server);
        text(w, "why", e->why, sizeof e->why);
        break;
    case AUDIT_CAUGHT:
        run_and_round(w, e->run, &e->round);
        text(w, "phase", e->phase, sizeof e->phase);
        e->check = number(w, "check", e->check, UINT64_MAX);
        break;
    case AUDIT_WARRANT:
        hex(w, "run", e->run, sizeof e->run);
        rest(w, "text", &e->what);
        break;
    case AUDIT_RESUMED:
        e->checks.begun = number(w, "checks", e->checks.begun, UINT64_MAX);
        e->checks.left = number(w, "left", e->checks.left, UINT64_MAX);
        e->checks.failed = number(w, "failed", e->checks.failed, 1) == 1;
        break;
    case AUDIT_RECOVERED:
        e->from = number(w, "debits", e->from, UINT64_MAX);
        e->to = number(w, "to", e->to, UINT64_MAX);
        break;
    case AUDIT_DROPPED:
        e->head.entries = number(w, "debit", e->head.entries, UINT64_MAX);
        hex(w, "head", e->head.hash, sizeof e->head.hash);
        break;
    case AUDIT_LOG:
    case AUDIT_KINDS:
        w->failed = true;
    }
}

static const char *const kinds[AUDIT_KINDS] = {"log",      "open",    "seen",    "signed",
                                               "left-out", "lost",    "warrant", "recovered",
                                               "caught",   "resumed", "dropped"};

void audit_entry_put(struct bytes *line, const struct audit_entry *entry)
{
    struct audit_entry e = *entry;
    bytes_put_text(line, kinds[e.kind]);
    line_of(&e, &(struct audit_words){.out = line, .servers = STUDY_SERVERS_MOST});
}

static enum err read_words(struct audit_file *f, struct audit_entry *entry, char *line)
{
    struct audit_words w = {.next = line,
                            .servers = f->servers > 0 ? f->servers : STUDY_SERVERS_MOST};
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
    if (k == AUDIT_LOG)
        read_first(f, &w);
    else
        line_of(entry, &w);
    if (w.failed || w.next != NULL)
        return ERR_DATA;
    return (k == AUDIT_OPEN || k == AUDIT_WARRANT) && entry->what == NULL ? ERR_NOMEM : ERR_OK;
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
    if (f->entries > 0)
        memcpy(hash, f->entry[f->entries - 1].hash, 32);
    if (f->size + n + 1 == in->next && n > HASH_TEXT + 1 && line[n - HASH_TEXT - 1] == ' ') {
        audit_chain(hash, line, n - HASH_TEXT - 1);
        if (memcmp(text_hash(hash).text, line + n - HASH_TEXT, HASH_TEXT) == 0) {
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

enum err audit_warrant(const struct audit_entry *entry, struct warrant *w)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    bytes_put_text(&text, entry->what);
    TRY(bytes_ok(&text));
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '|')
            text.data[i] = '\n';
    return warrant_parse(w, text.data, text.size);
}

bool audit_file_of(const struct audit_file *f, const struct study *study)
{
    bool same = f->servers == study->servers &&
                memcmp(f->terms, study->terms.digest, sizeof f->terms) == 0;
    for (unsigned i = 0; same && i < study->servers; i++)
        same = memcmp(f->key[i], study->server[i].key.sign, sizeof f->key[i]) == 0;
    return same;
}
