#include "harness/study.h"
#include "harness/cmocka.h"

#include "aim/table/csv.h"
#include "aim/table/series.h"
#include "harness/patience.h"
#include "harness/three.h"
#include "parties/study/sealing.h"
#include "parties/study/study_ports.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/sendfile.h>
#include <sys/un.h>

struct log quiet = {.level = LOG_ERROR};

static const char default_domain[] =
    "domain:\n"
    "  - {name: age, kind: integer, min: 0, max: 8}\n"
    "  - {name: sex, kind: categorical, values: [f, m]}\n"
    "  - {name: ward, kind: categorical, values: [a, b, c, d], missing: \"?\"}\n"
    "  - {name: bmi, kind: numeric, edges: [10, 18.5, 25, 30, 60]}\n"
    "  - {name: died, kind: categorical, values: [no, yes]}\n";

/*
 * Ports of tests in C, in blocks. A process claims one for as long as it lives, by a name that the
 * kernel keeps: its servers bind their ports only later, and no other test may take them meanwhile.
 */
enum { PORTS = 10000, PORT_BLOCK = 400, PORT_BLOCKS = 20 };

static bool claim(unsigned block)
{
    struct sockaddr_un a = {
        .sun_family = AF_UNIX}; /* an abstract one: its path begins with a zero */
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "trefoil-test-ports-%u", block);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&a, size) == 0)
        return true; /* and fd stays open */
    if (fd >= 0)
        close(fd);
    return false;
}

static bool free_port(unsigned port)
{
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int yes = 1; /* as servers do: connections that have ended do not keep a port in use */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
              bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

uint16_t support_ports(unsigned count)
{
    static unsigned first, next; /* of this process's block; where to look in it */
    for (unsigned block = (unsigned)getpid() % PORT_BLOCKS; first == 0;
         block = (block + 1) % PORT_BLOCKS)
        if (claim(block))
            first = PORTS + block * PORT_BLOCK;
    for (;;) {
        unsigned k = 0;
        if (next + count > PORT_BLOCK)
            next = 0;
        while (k < count && free_port(first + next + k))
            k++;
        next += k == count ? count : k + 1;
        if (k == count)
            return (uint16_t)(first + next - count);
    }
}

void support_forget(const struct support_study *s)
{
    unlink(support_path(s, "a.test.heads"));
    for (unsigned i = 0; i < s->owners; i++)
        unlink(support_path(s, "o%u.test.heads", i));
}

void support_study_file(const struct support_study *s, const char *name, char path[SUPPORT_PATH])
{
    snprintf(path, SUPPORT_PATH, "%s/%s", s->folder, name);
}

const char *support_path(const struct support_study *s, const char *format, ...)
{
    static char paths[512][SUPPORT_PATH];
    static unsigned next;
    char name[96];
    char *path = paths[next++ % 512];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    support_study_file(s, name, path);
    return path;
}

static enum err key(const struct support_study *s, const char *name, FILE *f, struct log *log)
{
    struct identity *identity CLEAN(identity_free) = NULL;
    char text[IDENTITY_TEXT_SIZE];
    TRY(identity_new(&identity, log));
    TRY(identity_save(identity, support_path(s, "%s.key", name), false, log));
    public_identity_text(&identity->public, text);
    fprintf(f, "    key: %s\n", text);
    return ERR_OK;
}

/* The ports of one server. */
static unsigned ports_of(const struct study_options *o)
{
    return study_bulk(STUDY_BULK_NEXT, o->lanes > 1 ? o->lanes - 1 : 0) + 1;
}

static enum err write_study(struct support_study *s, const struct study_options *o, FILE *f,
                            struct log *log)
{
    fprintf(f, "study: test\n%s", o->domain != NULL ? o->domain : default_domain);
    if (o->train == NULL)
        fprintf(f, "workload: %s\n", o->workload != NULL ? o->workload : "{all: 2}");
    if (!o->two)
        fprintf(f, "noise: %s\n", o->noise != NULL ? o->noise : "box-muller");
    else if (o->more == NULL || strstr(o->more, "noise_by") == NULL)
        fprintf(f, "noise_by: both\n"); /* quicker than the default */
    fprintf(f, "budget: {epsilon: %g, delta: %g", o->epsilon > 0 ? o->epsilon : 1.0,
            o->delta > 0 ? o->delta : 1e-6);
    if (o->accounting != ACCOUNTING_ZCDP)
        fprintf(f, ", accounting: %s", study_accounting_words[o->accounting]);
    if (o->enforce > 0)
        fprintf(f, ", rows_per_person: %u, enforce_person: true", o->enforce);
    fprintf(f, "}\n");
    if (o->enforce > 0 || o->link != NULL)
        fprintf(f, "person: {columns: [who], normalise: [nfc, case, spaces]}\n");
    if (o->link != NULL)
        fprintf(f, "link: %s\n", o->link);
    if (o->copula != NULL || o->train != NULL)
        fprintf(f, "%s", o->copula != NULL ? o->copula : o->train);
    else if (o->sweeps > 0)
        fprintf(f, "rounds: sweeps %u\n", o->sweeps);
    else if (o->annealed)
        fprintf(f, "rounds: annealed\n");
    else
        fprintf(f, "rounds: %u\n", o->rounds > 0 ? o->rounds : 3);
    if (o->more != NULL)
        fprintf(f, "%s", o->more);
    fprintf(f, "deadlines: {connect: %u, round: %u}\n",
            o->connect_s > 0 ? o->connect_s : support_slow(30),
            o->round_s > 0 ? o->round_s : support_slow(60));
    fprintf(f, "%s", o->two ? "" : "servers:\n");
    for (unsigned i = 0; i < (o->two ? 2 : 3); i++) {
        static const char *const alone[] = {"provider:\n   ", "keeper:\n   "};
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        fprintf(f, "%s name: %s\n    endpoint: tcp://%s:%u\n", o->two ? alone[i] : "  -", name,
                s->host, s->port + i * ports_of(o));
        TRY(key(s, name, f, log));
    }
    fprintf(f, "owners:\n");
    for (unsigned i = 0; i < s->owners; i++) {
        char name[16];
        snprintf(name, sizeof name, "o%u", i);
        fprintf(f, "  - name: %s\n", name);
        if (o->part != NULL && o->part[i] != NULL)
            fprintf(f, "%s", o->part[i]);
        else
            fprintf(f, "    max_rows: %u\n", 1000 << i);
        TRY(key(s, name, f, log));
    }
    fprintf(f, "analysts:\n  - name: a\n");
    return key(s, "a", f, log);
}

/* Makes the sealing keys, and puts each below the server's key in the file. */
static enum err add_sealing(struct support_study *s, struct log *log)
{
    for (unsigned i = 0; i < s->study->servers; i++) {
        struct identity *me CLEAN(identity_free) = NULL;
        struct bytes from CLEAN(bytes_clear) = {0}, to CLEAN(bytes_clear) = {0};
        char text[SEALING_TEXT_SIZE], key[IDENTITY_TEXT_SIZE];
        TRY(identity_load(&me, support_path(s, "s%u.key", i), log));
        TRY(sealing_new(s->study, me, support_path(s, "s%u.seal", i), text, log));
        TRY(file_read(s->path, 1 << 20, &from, log));
        bytes_put_u8(&from, 0);
        public_identity_text(&me->public, key);
        const char *at = strstr((const char *)from.data, key) + strlen(key) + 1;
        bytes_put(&to, from.data, (size_t)(at - (const char *)from.data));
        text_put(&to, "    sealing: %s\n%s", text, at);
        TRY(bytes_ok(&to));
        TRY(file_write(s->path, 0644, to.data, to.size, log));
    }
    study_free(&s->study);
    return study_load(&s->study, s->path, log);
}

enum err support_study_new(struct support_study *s, const struct study_options *o, struct log *log)
{
    const char *folders = getenv("TREFOIL_FOLDERS");
    FILE *f;
    *s = (struct support_study){.owners = o->owners > 0 ? o->owners : 3,
                                .host = o->host != NULL ? o->host : "127.0.0.1"};
    TRY(secret_start());
    snprintf(s->folder, sizeof s->folder, "%s/trefoil-study-XXXXXX",
             folders != NULL ? folders : "/tmp");
    if (mkdtemp(s->folder) == NULL)
        return ERR_SYSTEM;
    s->port = support_ports(STUDY_SERVERS_MOST * ports_of(o));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        s->lanes[i] = o->lanes > 1 ? o->lanes : 1;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        s->ahead[i] = o->ahead;
    support_study_file(s, "study.yaml", s->path);
    f = fopen(s->path, "w");
    if (f == NULL)
        return ERR_SYSTEM;
    enum err e = write_study(s, o, f, log);
    if (fclose(f) != 0)
        e = ERR_SYSTEM;
    if (e == ERR_OK)
        e = study_load(&s->study, s->path, log);
    return e == ERR_OK && o->seals ? add_sealing(s, log) : e;
}

enum err support_copy(const char *from, const char *to)
{
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = -1;
    while (in >= 0 && out >= 0 && (n = sendfile(out, in, NULL, (size_t)1 << 30)) > 0)
        ;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return n == 0 ? ERR_OK : ERR_SYSTEM;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    return remove(path);
}

void support_remove(const char *folder)
{
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS); /* there may be none */
    assert_int_not_equal(access(folder, F_OK), 0);
}

struct support_study support_study_of(const struct study_options *o, struct log *log)
{
    struct support_study s;
    OK(support_study_new(&s, o, log));
    return s;
}

void support_study_free(struct support_study *s)
{
    study_free(&s->study);
    if (s->folder[0] != '\0')
        nftw(s->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

enum err support_units(struct table *t)
{
    if (t->domain->series == NULL)
        return ERR_OK;
    if (t->weight == NULL)
        TRY(memory_new(&t->weight, t->capacity));
    memset(t->weight, (int)series_units(t->domain), t->rows);
    return ERR_OK;
}

enum err support_table(struct table **t, const struct domain *d, size_t rows, uint64_t seed)
{
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    TRY(table_new(t, d, rows));
    for (size_t i = 0; i < rows; i++) {
        uint64_t common = three_random(&seed);
        for (size_t a = 0; a < d->attributes; a++) {
            /* half of the time a column follows the row's common number */
            uint64_t r = three_random(&seed);
            uint64_t v = r >> 63 ? common % 1000 : (r & 0xffff) * (r >> 16 & 0xffff) >> 20;
            codes[a] = (uint16_t)(v % d->attribute[a].size);
        }
        TRY(table_append(*t, codes));
    }
    return support_units(*t);
}

enum err support_csv(const char *path, const struct domain *d, size_t rows, uint64_t seed)
{
    struct table *t CLEAN(table_free) = NULL;
    TRY(support_table(&t, d, rows, seed));
    return table_write_csv(path, t, NULL, 1, NULL, NULL);
}

struct ask support_selection(uint32_t candidates, uint32_t *query, uint64_t *estimate)
{
    return (struct ask){.kind = ASK_SELECT,
                        .queries = candidates,
                        .query = query,
                        .estimate = estimate,
                        .epsilon = 0.1,
                        .sigma = 10,
                        .multiplier = 1000};
}
