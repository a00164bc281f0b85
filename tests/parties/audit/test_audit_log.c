/*
 * parties/audit/audit.c, audit_file.c and audit_compare.c: a log cannot be altered, cut or
 * rewritten unless a check of one log, or of all three, notices.
 */
#include "harness/cmocka.h"

#include "harness/study.h"
#include "parties/audit/audit.h"
#include "parties/audit/audit_compare.h"
#include "parties/exchange/price.h"

#include <signal.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct audit_log_bench {
    struct support_study s;
    struct identity *server[STUDY_SERVERS_MOST];
    struct audit *audit[STUDY_SERVERS_MOST];
    char words[8192]; /* of what was last compared or described */
};

static enum err open_log(struct audit_log_bench *b, unsigned i)
{
    const char *folder = file(b, "server%u", i);
    OK(file_folder(folder, &quiet));
    return audit_open(&b->audit[i], folder, b->s.study, b->server[i], i, &quiet);
}

static const char *log_path(const struct audit_log_bench *b, unsigned i)
{
    return file(b, "server%u/audit.log", i);
}

static struct audit_log_bench bench_new(void)
{
    struct audit_log_bench b = {.s = STUDY(&quiet, .owners = 2)};
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&b.server[i], file(&b, "s%u.key", i), &quiet));
        OK(open_log(&b, i));
    }
    return b;
}

static void bench_free(struct audit_log_bench *b)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        audit_close(&b->audit[i]);
        identity_free(&b->server[i]);
    }
    b->s.study->approvers = (struct study_approvers){0}; /* a test's own */
    support_study_free(&b->s);
}

/* Each signs the heads of the two others. */
static void sign_all(struct audit_log_bench *b)
{
    struct audit_head head[STUDY_SERVERS_MOST];
    uint8_t signature[STUDY_SERVERS_MOST][STUDY_SERVERS_MOST][64]; /* by whom, of whom */
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(audit_head(b->audit[i], &head[i]));
    for (unsigned by = 0; by < STUDY_SERVERS_MOST; by++)
        for (unsigned of = 0; of < STUDY_SERVERS_MOST; of++)
            if (by != of)
                OK(audit_see(b->audit[by], of, &head[of], signature[by][of]));
    for (unsigned of = 0; of < STUDY_SERVERS_MOST; of++)
        for (unsigned by = 0; by < STUDY_SERVERS_MOST; by++)
            if (by != of)
                OK(audit_keep(b->audit[of], by, &head[of], signature[by][of]));
}

/* A line in server i's log. */
#define NOTE(b, i, ...) OK(audit_note((b)->audit[i], &(const struct audit_entry){__VA_ARGS__}))

static void open_one(struct audit_log_bench *b, unsigned i, uint32_t round, const char *reason)
{
    struct audit_opening o = {.round = round,
                              .values = 10 + round,
                              .cost = 0.25,
                              .spent = 0.25 * (round + 1),
                              .what = "-"};
    if (strcmp(reason, "NOISY_MARGINAL") == 0)
        o.what = "sex*age,ward";
    if (strcmp(reason, "NOISY_SCORE") == 0)
        o.what = "290.05:sex*age,ward";
    snprintf(o.reason, sizeof o.reason, "%s", reason);
    memset(o.request, (int)round, sizeof o.request);
    NOTE(b, i, .kind = AUDIT_OPEN, .opening = o);
}

/* Two rounds at all three, with signatures around each. */
static void fill(struct audit_log_bench *b)
{
    for (uint32_t round = 0; round < 2; round++) {
        sign_all(b);
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            if (round > 0)
                open_one(b, i, round, "SELECTED_INDEX");
            open_one(b, i, round, "NOISY_MARGINAL");
        }
    }
    sign_all(b);
}

static enum err compare(struct audit_log_bench *b, unsigned count)
{
    struct audit_file *files[STUDY_SERVERS_MOST] = {NULL};
    FILE *out = fmemopen(b->words, sizeof b->words, "w");
    struct ledger_limits limits;
    enum err e = price_limits(b->s.study, &limits, &quiet);
    assert_non_null(out);
    for (unsigned i = 0; e == ERR_OK && i < count; i++) {
        const char *path = log_path(b, i);
        e = audit_file_read(&files[i], path, &quiet);
        if (e == ERR_OK && (files[i]->torn > 0 || files[i]->entries == 0))
            e = ERR_DATA;
        if (e == ERR_OK)
            e = audit_is_of(files[i], b->s.study, limits.rho, &quiet);
    }
    if (e == ERR_OK)
        e = audit_compare(files, count, out, &quiet);
    for (unsigned i = 0; i < count; i++)
        audit_file_free(&files[i]);
    fclose(out);
    return e;
}

TEST(logs_hold_alone_and_together)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    fill(&b);
    OK(compare(&b, 1));
    OK(compare(&b, 3));
    assert_string_equal(b.words, ""); /* not even a note */
    OK(audit_file_read(&f, log_path(&b, 1), &quiet));
    assert_int_equal(f->entries, 1 + 3 * 4 + 3);
    assert_int_equal(f->server, 1);
    assert_string_equal(f->entry[5].opening.what, "sex*age,ward");
    /* and goes on after a restart */
    audit_close(&b.audit[1]);
    OK(open_log(&b, 1));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        open_one(&b, i, 2, "NOISY_MARGINAL");
    sign_all(&b);
    OK(compare(&b, 3));
}

static void write_file(const char *path, const struct bytes *b, size_t n)
{
    FILE *f = fopen(path, "wb"); /* thousands of times: not through file_write(), which syncs */
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Every byte changed in two ways or left out; every line end replaced; every length. */
TEST(no_byte_can_be_changed)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct bytes whole CLEAN(bytes_clear) = {0};
    size_t step = getenv("TREFOIL_LONG") != NULL ? 1 : 7, newline;
    fill(&b);
    const char *path = log_path(&b, 0);
    OK(file_read(path, 1 << 20, &whole, &quiet));
    for (size_t k = 0; k < whole.size; k += step) {
        uint8_t was = whole.data[k];
        struct bytes less CLEAN(bytes_clear) = {0};
        whole.data[k] = was ^ 1;
        write_file(path, &whole, whole.size);
        assert_int_equal(compare(&b, 1), ERR_DATA);
        whole.data[k] = was ^ 0x20; /* the other case of a letter */
        write_file(path, &whole, whole.size);
        assert_int_equal(compare(&b, 1), ERR_DATA);
        whole.data[k] = was;
        bytes_put(&less, whole.data, k);
        bytes_put(&less, whole.data + k + 1, whole.size - k - 1);
        write_file(path, &less, less.size);
        assert_int_equal(compare(&b, 1), ERR_DATA);
    }
    for (size_t k = 0; k < whole.size; k++) {
        struct bytes more CLEAN(bytes_clear) = {0};
        if (whole.data[k] != '\n')
            continue;
        bytes_put(&more, whole.data, k);
        bytes_put_u8(&more, '\r');
        bytes_put(&more, whole.data + k, whole.size - k);
        write_file(path, &more, more.size);
        assert_int_equal(compare(&b, 1), ERR_DATA);
    }
    /* cut within a line, the log alone shows it; cut at a line's end, a neighbour's log does */
    newline = whole.size - 1;
    for (size_t n = whole.size - 1; n > 0; n -= n < step ? n : step) {
        write_file(path, &whole, n);
        assert_int_equal(compare(&b, 1), whole.data[n - 1] == '\n' ? ERR_OK : ERR_DATA);
    }
    for (unsigned lines = 0; lines < 8; lines++) {
        while (whole.data[--newline] != '\n')
            ;
        write_file(path, &whole, newline + 1);
        OK(compare(&b, 1));
        /* the last four lines are the signatures of the last exchange, which nobody has seen */
        assert_int_equal(compare(&b, 3), lines < 4 ? ERR_OK : ERR_DATA);
    }
}

/*
 * A server that rewrites its log, with a chain that holds, does not have the others' signatures of
 * it.
 */
TEST(a_log_written_anew_is_not_what_was_seen)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    const char *path = log_path(&b, 2);
    audit_close(&b.audit[2]);
    assert_int_equal(remove(path), 0);
    OK(open_log(&b, 2));
    for (uint32_t round = 0; round < 9; round++) /* the same length, but with other openings */
        open_one(&b, 2, round, "NOISY_MARGINAL");
    OK(compare(&b, 2)); /* the two others */
    assert_int_equal(compare(&b, 3), ERR_DATA);
}

TEST(a_foreign_signature_is_not_kept)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_head head;
    uint8_t signature[64];
    OK(audit_head(b.audit[0], &head));
    OK(audit_see(b.audit[1], 0, &head, signature));
    assert_int_equal(audit_keep(b.audit[0], 2, &head, signature), ERR_AUTH); /* not server 2's */
    head.entries++;
    assert_int_equal(audit_keep(b.audit[0], 1, &head, signature), ERR_AUTH); /* not of this head */
    head.entries--;
    OK(audit_keep(b.audit[0], 1, &head, signature));
}

/* Else a server that lost its power would lack lines that others saw, and seem to have cut them. */
TEST(what_is_shown_of_a_log_is_on_disk)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_head shown, lasting;
    sign_all(&b); /* lines that are not synced */
    OK(audit_head(b.audit[0], &shown));
    audit_lasting(b.audit[0], &lasting);
    assert_int_equal(lasting.entries, shown.entries);
    assert_memory_equal(lasting.hash, shown.hash, sizeof shown.hash);
}

TEST(half_a_line_of_a_crash_is_cut_off)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct bytes whole CLEAN(bytes_clear) = {0};
    fill(&b);
    audit_close(&b.audit[0]);
    const char *path = log_path(&b, 0);
    OK(file_read(path, 1 << 20, &whole, &quiet));
    bytes_put(&whole, "16 2026-11-20T", 14);
    write_file(path, &whole, whole.size);
    assert_int_equal(compare(&b, 1), ERR_DATA);
    OK(open_log(&b, 0));
    OK(compare(&b, 3));
    /* an altered line is not repaired: the server does not start */
    audit_close(&b.audit[0]);
    whole.data[whole.size / 2] ^= 1;
    write_file(path, &whole, whole.size - 14);
    assert_int_equal(open_log(&b, 0), ERR_DATA);
    /* nor is another server's log accepted */
    path = log_path(&b, 1);
    OK(file_read(path, 1 << 20, &whole, &quiet));
    path = log_path(&b, 0);
    write_file(path, &whole, whole.size);
    assert_int_equal(open_log(&b, 0), ERR_MISMATCH);
}

/* A recovery explains missing lines that neighbours have seen; nothing else does. */
TEST(a_recovery_explains_lost_lines)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct bytes before CLEAN(bytes_clear) = {0};
    sign_all(&b);
    const char *path = log_path(&b, 0);
    OK(file_read(path, 1 << 20, &before, &quiet));
    fill(&b);
    audit_close(&b.audit[0]);
    write_file(path, &before, before.size); /* the backup */
    OK(open_log(&b, 0));
    assert_int_equal(compare(&b, 3), ERR_DATA);
    NOTE(&b, 0, .kind = AUDIT_RECOVERED, .from = 1, .to = 2);
    OK(compare(&b, 3));
    support_says(b.words, "was recovered since");
}

/* --- logs whose chain holds, and which say what they should not ------------------------------- */

#define RUN "000102030405060708090a0b0c0d0e0f"
#define DIGEST RUN RUN
#define REQUEST " reason NOISY_MARGINAL values 4 request " DIGEST

/* Chains lines, given without hashes, into a log. */
static void forge(const char *path, const char *const *lines, size_t count)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    uint8_t hash[32] = {0};
    char hex[65];
    for (size_t i = 0; i < count; i++) {
        audit_chain(hash, lines[i], strlen(lines[i]));
        sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
        bytes_put(&text, lines[i], strlen(lines[i]));
        bytes_put(&text, " ", 1);
        bytes_put(&text, hex, 64);
        bytes_put(&text, "\n", 1);
    }
    write_file(path, &text, text.size);
}

/* The first line of server 0's log, up to its hash. */
static void first_line(const struct audit_log_bench *b, char line[1024])
{
    struct bytes text CLEAN(bytes_clear) = {0};
    size_t n;
    OK(file_read(log_path(b, 0), 1 << 20, &text, &quiet));
    n = (size_t)((uint8_t *)memchr(text.data, '\n', text.size) - text.data) - 65;
    assert_true(n < 1024);
    memcpy(line, text.data, n);
    line[n] = '\0';
}

static void expect_words(const char *path, const char *words)
{
    LOG_INTO(log, said, LOG_ERROR);
    struct audit_file *f = NULL;
    assert_int_equal(audit_file_read(&f, path, &log), ERR_DATA);
    assert_null(f);
    if (strstr(said, words) == NULL)
        fail_msg("not \"%s\" but: %s", words, said);
}

TEST(every_word_of_a_line_is_checked)
{
    static const char *const wrong[] = {
        "1 now",
        "1 now opened",
        "2 now recovered debits 1 to 2",
        "1x now recovered debits 1 to 2",
        "1 2026-11-20T00:00:00.000Z recovered debits 1 to 2",
        "1 now recovered",
        "1 now recovered debits 1",
        "1 now recovered credits 1 to 2",
        "1 now recovered debits x to 2",
        "1 now recovered debits -1 to 2",
        "1 now recovered debits 1x to 2",
        "1 now recovered debits 1 to 18446744073709551616",
        "1 now recovered debits 1 to 2 ",
        "1 now recovered debits 1 to 2 3",
        "1 now resumed checks 3 left 1",
        "1 now resumed checks 3 left 1 failed 2",
        "1 now resumed checks 3 missed 1 failed 0",
        "1 now dropped debit 4",
        "1 now dropped debit x head " DIGEST,
        "1 now dropped debit 4 head " RUN,
        "1 now dropped debit 4 head " DIGEST " 5",
        "1 now seen server 3 entries 1 head " DIGEST,
        "1 now seen server 1 entries 1 head " RUN,
        "1 now seen server 1 entries 1 head " RUN RUN "00",
        "1 now seen server 1 entries 1 head " RUN "000102030405060708090a0b0c0d0e0g",
        "1 now signed server 1 entries 1 head " DIGEST,
        "1 now open run " RUN " round 4294967296" REQUEST " cost 1 spent 1 what -",
        "1 now open run " RUN
        " round 1 reason A-REASON-OF-MORE-THAN-23-LETTERS values 4 request " DIGEST
        " cost 1 spent 1 what -",
        "1 now open run " RUN " round 1" REQUEST " cost -1 spent 1 what -",
        "1 now open run " RUN " round 1" REQUEST " cost 1 spent nan what -",
        "1 now open run " RUN " round 1" REQUEST " cost 1 spent 1x what -",
        "1 now open run " RUN " round 1" REQUEST " cost  spent 1 what -",
        "1 now open run " RUN " round 1" REQUEST " cost 1 spent 1 what",
        "1 now open run " RUN " round 1" REQUEST " cost 1 spent 1 what \033[2J",
        "1 now open run " RUN " round 1" REQUEST " cost 1 spent 1 what - more",
        "1 now left-out run " RUN,
        "1 now left-out run " RUN " owner",
        "1 now left-out run " RUN " owner a-name-of-more-than-thirty-one-letters",
        "1 now left-out run " RUN " owner Ward*",
        "1 now left-out run " RUN " owner ward more",
        "1 now caught run " RUN " round 1 phase noise",
        "1 now caught run " RUN " round 1 phase a-phase-of-letters check 3",
        "1 now caught run " RUN " round 1 check 3 phase noise",
        "1 now caught run " RUN " round 1 phase noise check 3 more",
    };
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    char first[1024];
    const char *lines[2] = {first, first};
    first_line(&b, first);
    const char *path = support_path(&b.s, "forged.log");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lines[1] = wrong[i];
        forge(path, lines, 2);
        expect_words(path, "log:2: this is not a line of an audit log");
    }
    lines[1] = first; /* it begins twice */
    forge(path, lines, 2);
    expect_words(path, "log:2: this is not a line of an audit log");
    lines[0] = "0 now recovered debits 1 to 2"; /* or not at all */
    forge(path, lines, 1);
    expect_words(path, "log:1: this is not a line of an audit log");
}

/* Words of the first line, each replaced. */
TEST(the_first_line_is_checked)
{
    static const struct {
        const char *find, *by;
    } cases[] = {
        {"trefoil-audit-1", "trefoil-adieu-1"},
        {" study test", " study a-name-of-more-than-thirty-one-letters"},
        {" terms ", " terms 0"},
        {" server 0", " server 3"},
        {" s0=", " s0:"},
        {" s1=", " a-name-of-more-than-thirty-one-letters="},
        {" s2=", " s2=0"},
        {" s2=", " s2=x s3="},
        {" server 0", " security abort server 0"},
    };
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    char first[1024];
    first_line(&b, first);
    const char *path = support_path(&b.s, "forged.log");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[1200];
        const char *at = strstr(first, cases[i].find), *const lines[] = {line};
        assert_non_null(at);
        snprintf(line, sizeof line, "%.*s%s%s", (int)(at - first), first, cases[i].by,
                 at + strlen(cases[i].find));
        forge(path, lines, 1);
        expect_words(path, "log:1: this is not a line of an audit log");
    }
}

static void claim(char line[512], unsigned server, unsigned entries, const char *at,
                  const char *signature)
{
    snprintf(line, 512, "1 now signed server %u entries %u head %s signature %s", server, entries,
             at, signature);
}

/* Signatures of heads that this log never had, or by others; and a total that decreases. */
TEST(what_a_line_claims_is_checked)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_head head;
    uint8_t signature[64];
    char first[1024], line[512], hex[129], at[65];
    const char *const forged[] = {first, line};
    first_line(&b, first);
    const char *path = support_path(&b.s, "forged.log");
    OK(audit_head(b.audit[0], &head));
    OK(audit_see(b.audit[1], 0, &head, signature));
    sodium_bin2hex(hex, sizeof hex, signature, sizeof signature);
    sodium_bin2hex(at, sizeof at, head.hash, sizeof head.hash);
    claim(line, 1, 1, at, hex);
    forge(path, forged, 2);
    {
        struct audit_file *f = NULL; /* this one is correct */
        OK(audit_file_read(&f, path, &quiet));
        audit_file_free(&f);
    }
    claim(line, 2, 1, at, hex);
    forge(path, forged, 2);
    expect_words(path, ":2: this is not a signature of server 2");
    claim(line, 0, 1, at, hex);
    forge(path, forged, 2);
    expect_words(path, ":2: this is not a signature of server 0");
    for (unsigned n = 0; n < 3; n++) {
        claim(line, 1, n, n == 1 ? DIGEST : at, hex);
        forge(path, forged, 2);
        expect_words(path, ":2: server 1 signed another log than this one");
    }
    {
        const char *const lines[] = {
            first, "1 now open run " RUN " round 1" REQUEST " cost 1 spent 2 what -",
            "2 now recovered debits 1 to 2",
            "3 now open run " RUN " round 2" REQUEST " cost 1 spent 1.5 what -"};
        forge(path, lines, 4);
        expect_words(path, ":4: what was spent is less than before");
    }
}

/* Logs that are consistent by themselves, but not with each other. */
TEST(logs_that_do_not_belong_together_are_told)
{
    LOG_INTO(log, said, LOG_ERROR);
    struct audit_file *f[3] = {NULL};
    struct audit_opening o = {.round = 3, .values = 4, .cost = 0, .spent = 9, .what = "sex"};
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_log_bench other CLEAN(bench_free) = bench_new();
    snprintf(o.reason, sizeof o.reason, "NOISY_MARGINAL");
    NOTE(&b, 0, .kind = AUDIT_OPEN, .opening = o);
    o.values = 5;
    NOTE(&b, 1, .kind = AUDIT_OPEN, .opening = o);
    for (unsigned i = 0; i < 3; i++)
        OK(audit_file_read(&f[i], log_path(i < 2 ? &b : &other, i), &quiet));
    said[0] = '\0';
    assert_int_equal(audit_compare(f, 2, stdout, &log), ERR_DATA);
    assert_non_null(
        strstr(said, "servers 0 and 1 tell different things about NOISY_MARGINAL in round 3"));
    said[0] = '\0';
    assert_int_equal(audit_compare(f, 3, stdout, &log), ERR_DATA);
    support_says(said, "logs 1 and 3 are of different studies or servers");
    said[0] = '\0';
    assert_int_equal(audit_is_of(f[2], b.s.study, 1, &log), ERR_MISMATCH);
    support_says(said, "the log of server 2 is not of this study's terms and servers");
    audit_file_free(&f[2]);
    f[2] = f[1];
    said[0] = '\0';
    GIVES(audit_compare(f, 3, stdout, &log), ERR_DATA, said, "logs 2 and 3 are both of server 1");
    audit_file_free(&f[0]);
    audit_file_free(&f[1]);
}

/* Every reason that exists, and one that does not exist yet. */
TEST(openings_are_described)
{
    static const char *const reasons[][2] = {
        {"SELECTED_INDEX", "which of 13 marginals fits worst; with its measurement"},
        {"NOISY_MARGINAL", "13 noisy counts: sex*age,ward"},
        {"NOISY_FORM", "13 noisy sums of counts"},
        {"NOISY_SCORE", "scores of 13 marginals, sigma 290.05: sex*age,ward"},
        {"SORTED", "which of 13 uploads are sorted by key"},
        {"REJECT_BIT", "which of 13 tries for noise are kept"},
        {"SOMETHING", "13 values, SOMETHING"},
    };
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    char words[4096] = "";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        open_one(&b, 0, 3, reasons[i][0]);
    OK(audit_file_read(&f, log_path(&b, 0), &quiet));
    FILE *out = fmemopen(words, sizeof words, "w");
    assert_non_null(out);
    audit_describe(&f, 1, out);
    fclose(out);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        support_says(words, reasons[i][1]);
}

static size_t times(const char *words, const char *text)
{
    size_t n = 0;
    for (const char *at = words; (at = strstr(at, text)) != NULL; at++)
        n++;
    return n;
}

/* All three logs in words. */
static void describe_all(struct audit_log_bench *b)
{
    struct audit_file *files[STUDY_SERVERS_MOST] = {NULL};
    FILE *out = fmemopen(b->words, sizeof b->words, "w");
    assert_non_null(out);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(audit_file_read(&files[i], log_path(b, i), &quiet));
    audit_describe(files, STUDY_SERVERS_MOST, out);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        audit_file_free(&files[i]);
    fclose(out);
}

/* A log that was started again from nothing has another first line, which others may have seen. */
TEST(a_recovery_from_nothing_explains_the_first_line)
{
    struct audit_entry entry[] = {{.kind = AUDIT_LOG}, {.kind = AUDIT_RECOVERED}};
    const struct audit_file f = {.entry = entry, .entries = 2};
    const struct audit_head first = {.entries = 1, .hash = {1}};
    FILE *out = tmpfile();
    assert_non_null(out);
    OK(audit_continues(&f, &first, "that day", out, &quiet));
    entry[1].kind = AUDIT_OPEN;
    assert_int_equal(audit_continues(&f, &first, "that day", out, NULL), ERR_DATA);
    fclose(out);
}

/*
 * Lines that are the same in all logs are listed once; a recovery's explanation once for each log.
 */
TEST(nothing_is_told_twice)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    describe_all(&b);
    assert_int_equal(times(b.words, "the chain holds"), 3);
    assert_int_equal(times(b.words, "10 noisy counts"), 1);
    assert_int_equal(times(b.words, "opened for rho"), 1);
    assert_int_equal(times(b.words, "says the same"), 2);
    audit_close(&b.audit[0]);
    assert_int_equal(remove(log_path(&b, 0)), 0);
    OK(open_log(&b, 0));
    NOTE(&b, 0, .kind = AUDIT_RECOVERED, .from = 1, .to = 2);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        open_one(&b, i, 2, "NOISY_MARGINAL");
    open_one(&b, 2, 3, "NOISY_MARGINAL"); /* which the others did not reach */
    OK(compare(&b, 3));
    assert_int_equal(times(b.words, "recovered since"), 1);
    assert_int_equal(times(b.words, "note:"), 3);
    assert_int_equal(times(b.words, "server 0 (s0) lacks 4 openings, of rounds 0 to 3"), 1);
    assert_int_equal(times(b.words, "server 1 (s1) lacks 1 opening, of round 3, that"), 1);
    describe_all(&b);
    assert_int_equal(times(b.words, "10 noisy counts"), 1);
    assert_int_equal(times(b.words, "12 noisy counts"), 1);
    assert_int_equal(times(b.words, "took over debits 1 to 2"), 1);
    assert_int_equal(times(b.words, "also says, or says differently"), 2);
}

/* --- a disk that fails ------------------------------------------------------------------------ */

/* Those who saw it report it, next to those who did not. */
TEST(a_check_that_failed_is_listed)
{
    const struct audit_entry caught = {
        .kind = AUDIT_CAUGHT, .run = {7}, .round = 4, .phase = "noise", .check = 3};
    static const char told[] = "round 4    check 3 failed, of phase noise: a server departed";
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    OK(audit_note(b.audit[1], &caught));
    describe_all(&b);
    assert_int_equal(times(b.words, told), 1);
    assert_int_equal(times(b.words, "says the same"), 1);
    OK(audit_note(b.audit[0], &caught));
    describe_all(&b);
    assert_int_equal(times(b.words, told), 2);
    OK(compare(&b, 3));
}

/* What a server stated has no phase. */
TEST(a_statement_that_cannot_be_is_listed)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    NOTE(&b, 1, .kind = AUDIT_CAUGHT, .run = {7}, .round = 4, .phase = AUDIT_STATEMENT);
    describe_all(&b);
    assert_int_equal(times(b.words, "round 4    a server stated what cannot be so: it departed"),
                     1);
}

/* A round that is lost, reported once if all say so for the same reason. */
TEST(a_round_that_was_lost_is_listed)
{
    struct audit_entry lost = {
        .kind = AUDIT_LOST, .run = {7}, .round = 4, .server = 2, .why = "other-noise"};
    static const char told[] =
        "round 4    is lost, paid for without an answer: server 2, other-noi";
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(audit_note(b.audit[i], &lost));
    describe_all(&b);
    assert_int_equal(times(b.words, told), 1);
    assert_int_equal(times(b.words, "says the same"), 2);
    lost.round = 5;
    OK(audit_note(b.audit[1], &lost));
    describe_all(&b);
    assert_int_equal(times(b.words, "round 5    is lost"), 1);
    assert_int_equal(times(b.words, "says the same"), 1);
    OK(compare(&b, 3));
}

/* A debit that was dropped is listed, and what was spent may be less after it. */
TEST(a_debit_that_was_dropped_is_listed)
{
    static const char told[] = "trefoil recover dropped debit 4, which no other server had";
    const struct audit_opening less = {.reason = "SORTED", .what = "-"};
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    NOTE(&b, 1, .kind = AUDIT_DROPPED, .head = {4, {7}});
    NOTE(&b, 1, .kind = AUDIT_OPEN, .opening = less);
    describe_all(&b);
    assert_int_equal(times(b.words, told), 1);
}

/* An owner that did not sort, reported once if all three say so. */
TEST(an_upload_that_was_left_out_is_listed)
{
    const struct audit_entry left_out = {.kind = AUDIT_LEFT_OUT, .run = {7}, .owner = "ward-2"};
    static const char told[] = "the upload of ward-2 was left out: it is not sorted by person";
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    fill(&b);
    OK(audit_note(b.audit[1], &left_out));
    describe_all(&b);
    assert_int_equal(times(b.words, told), 1);
    assert_int_equal(times(b.words, "says the same"), 1);
    OK(audit_note(b.audit[0], &left_out));
    OK(audit_note(b.audit[2], &left_out));
    describe_all(&b);
    assert_int_equal(times(b.words, told), 1);
    assert_int_equal(times(b.words, "says the same"), 2);
    OK(compare(&b, 3));
}

/* A log says that its study's servers prove what they compute; it says nothing of others. */
TEST(the_first_line_has_the_security)
{
    static const struct {
        const char *more;
        bool good;
    } cases[] = {{"", true},           {" security abort", true},  {" security semi-honest", false},
                 {" security", false}, {" sekurity abort", false}, {" security abort ", false}};
    char first[1024], line[1200];
    const char *const lines[] = {line};
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    first_line(&b, first);
    const char *path = support_path(&b.s, "forged.log");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct audit_file *f CLEAN(audit_file_free) = NULL;
        snprintf(line, sizeof line, "%s%s", first, cases[i].more);
        forge(path, lines, 1);
        assert_int_equal(audit_file_read(&f, path, &quiet), cases[i].good ? ERR_OK : ERR_DATA);
        if (cases[i].good)
            assert_int_equal(f->security, i == 0 ? STUDY_SEMI_HONEST : STUDY_ABORT);
    }
    path = log_path(&b, 0);
    audit_close(&b.audit[0]);
    assert_int_equal(remove(path), 0);
    b.s.study->security = STUDY_ABORT;
    OK(open_log(&b, 0));
    describe_all(&b);
    assert_int_equal(times(b.words, "study test (security: abort): 1 lines, the chain holds"), 1);
    assert_int_equal(times(b.words, "study test (security: semi-honest): 1 lines"), 2);
}

/*
 * Half a line is removed, so that the next one begins where it did; nothing that has not been
 * written is opened.
 */
TEST(a_line_that_is_not_written_whole_is_taken_back)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct rlimit no, before;
    struct stat st;
    char said[1024] = "";
    struct audit_opening o = {.what = "sex", .reason = "NOISY_MARGINAL"};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const char *path = log_path(&b, 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    no = (struct rlimit){.rlim_cur = (rlim_t)st.st_size + 10, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &no), 0);
    quiet.buffer = said;
    quiet.buffer_size = sizeof said;
    assert_int_equal(
        audit_note(b.audit[0], &(const struct audit_entry){.kind = AUDIT_OPEN, .opening = o}),
        ERR_SYSTEM);
    quiet.buffer = NULL;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    support_says(said, "audit.log: File too large; nothing is opened without it");
    signal(SIGXFSZ, handler);
    open_one(&b, 0, 0, "NOISY_MARGINAL");
    OK(compare(&b, 1));
    /* half a line that could not be removed at once goes before the next line */
    FILE *half = fopen(path, "a");
    assert_non_null(half);
    assert_true(fputs("2 2026-11-20T", half) > 0);
    assert_int_equal(fclose(half), 0);
    assert_int_equal(compare(&b, 1), ERR_DATA);
    open_one(&b, 0, 1, "NOISY_MARGINAL");
    OK(compare(&b, 1));
    audit_close(&b.audit[0]);
    OK(open_log(&b, 0));
    /* and what others have cut off is noticed at once */
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size - 1), 0);
    assert_int_equal(
        audit_note(b.audit[0], &(const struct audit_entry){.kind = AUDIT_OPEN, .opening = o}),
        ERR_DATA);
}

TEST(what_is_no_file_is_no_log)
{
    char said[1024] = "";
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    audit_close(&b.audit[0]);
    const char *path = log_path(&b, 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    quiet.buffer = said;
    quiet.buffer_size = sizeof said;
    assert_int_equal(open_log(&b, 0), ERR_SYSTEM);
    quiet.buffer = NULL;
    support_says(said, "audit.log: Is a directory");
    assert_int_equal(rmdir(path), 0);
}

/* Server i notes a warrant, signed by server 2 as the only approver, for a run. */
static void permit(struct audit_log_bench *b, unsigned i, struct warrant w, uint8_t run)
{
    struct audit_entry line = {.kind = AUDIT_WARRANT, .run = {run}};
    struct bytes text CLEAN(bytes_clear) = {0};
    if (w.signatures == 0)
        OK(warrant_sign(&w, b->s.study, b->server[2], &quiet));
    OK(warrant_write(&w, &text));
    for (size_t k = 0; k < text.size; k++)
        text.data[k] = text.data[k] == '\n' ? '|' : text.data[k];
    bytes_put_u8(&text, 0);
    line.what = (char *)text.data;
    OK(audit_note(b->audit[i], &line));
}

static struct warrant for_approved(struct audit_log_bench *b, struct study_analyst *who)
{
    struct warrant w = {
        .share = WARRANT_ALL, .last_day = 99999, .purpose = "A test, of what is | permitted"};
    *who = (struct study_analyst){.name = "board", .key = b->server[2]->public};
    b->s.study->approvers = (struct study_approvers){.at_least = 1, .count = 1, .who = who};
    memcpy(w.terms, b->s.study->terms.digest, 32);
    assert_int_equal(warrant_sound(&w, &quiet), ERR_DATA);
    *strchr(w.purpose, '|') = '/';
    OK(warrant_sound(&w, &quiet));
    return w;
}

/* Where a study has approvers, what a run opens follows a line with a warrant that they signed. */
TEST(an_opening_without_a_warrant_is_told)
{
    struct audit_log_bench b CLEAN(bench_free) = bench_new();
    struct study_analyst who;
    struct warrant w = for_approved(&b, &who);
    open_one(&b, 0, 0, "REJECT_BIT"); /* of noise, for no run */
    OK(compare(&b, 1));
    open_one(&b, 1, 0, "SORTED");
    assert_int_equal(compare(&b, 2), ERR_DATA);
    for (unsigned i = 0; i < 3; i += 2) {
        permit(&b, i, w, 1); /* another run */
        open_one(&b, i, 0, "NOISY_MARGINAL");
    }
    assert_int_equal(compare(&b, 1), ERR_DATA);
    bench_free(&b);
    b = bench_new();
    w = for_approved(&b, &who);
    OK(warrant_sign(&w, b.s.study, b.server[2], &quiet));
    for (unsigned i = 0; i < 3; i++) {
        w.share -= i == 2; /* which is not what was signed */
        permit(&b, i, w, 0);
        open_one(&b, i, 0, "NOISY_MARGINAL");
    }
    OK(compare(&b, 2));
    assert_int_equal(compare(&b, 3), ERR_DATA);
    describe_all(&b);
    assert_int_equal(times(b.words, "for 100.0000 % of the budget"), 1);
    assert_int_equal(times(b.words, "signed by board"), 2); /* the one that says another share */
}

/* Nor is more debited than the warrant's share, or after its last day. */
TEST(a_debit_beyond_its_warrant_is_told)
{
    static const struct {
        double share; /* .. of all that is spent after round 1 */
        uint32_t last_day;
        const char *words;
    } is[] = {{1, 99999, NULL},
              {0.9999, 99999, "(line 5 of its log) beyond its warrant's share"},
              {0.4, 99999, "(line 3 of its log) beyond its warrant's share"},
              {1, 10000, "(line 3 of its log) after the last day"}};
    for (size_t k = 0; k < sizeof is / sizeof *is; k++) {
        struct audit_log_bench b CLEAN(bench_free) = bench_new();
        struct study_analyst who;
        struct warrant w = for_approved(&b, &who);
        struct ledger_limits limits;
        char said[512] = "";
        b.s.study->epsilon = 10;
        OK(price_limits(b.s.study, &limits, &quiet));
        w.share = (uint32_t)ceil(is[k].share * 0.5 / limits.rho * WARRANT_ALL);
        w.last_day = is[k].last_day;
        permit(&b, 0, w, 0);
        open_one(&b, 0, 0, "NOISY_MARGINAL"); /* 0.25 is spent */
        permit(&b, 0, w, 0);
        open_one(&b, 0, 1, "NOISY_MARGINAL"); /* 0.5 */
        quiet.buffer = said;
        quiet.buffer_size = sizeof said;
        assert_int_equal(compare(&b, 1), is[k].words != NULL ? ERR_DATA : ERR_OK);
        quiet.buffer = NULL;
        if (is[k].words != NULL)
            support_says(said, is[k].words);
    }
}
