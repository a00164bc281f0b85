/*
 * parties/audit/audit.c, audit_file.c and audit_compare.c: a log cannot be altered, cut or written anew without a check of
 * one or of all three noticing.
 */
#include "tests/support_cmocka.h"

#include "base/bytes.h"
#include "base/file.h"
#include "parties/audit/audit.h"
#include "parties/audit/audit_compare.h"
#include "tests/support_study.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    struct support_study s;
    struct identity *server[STUDY_SERVERS];
    struct audit *audit[STUDY_SERVERS];
};

static struct log quiet = {.level = LOG_ERROR};

static void path_of(const struct bench *b, unsigned i, char path[SUPPORT_PATH])
{
    char name[32];
    snprintf(name, sizeof name, "server%u", i);
    support_study_file(&b->s, name, path);
    assert_int_equal(file_folder(path, &quiet), ERR_OK);
}

static enum err open_log(struct bench *b, unsigned i)
{
    char path[SUPPORT_PATH];
    path_of(b, i, path);
    return audit_open(&b->audit[i], path, b->s.study, b->server[i], i, &quiet);
}

static void log_path(const struct bench *b, unsigned i, char path[SUPPORT_PATH])
{
    size_t n;
    path_of(b, i, path);
    n = strlen(path);
    snprintf(path + n, SUPPORT_PATH - n, "/audit.log");
}

static void bench_new(struct bench *b)
{
    const struct support_options o = {.owners = 2};
    memset(b, 0, sizeof *b);
    assert_int_equal(support_study_new(&b->s, &o, &quiet), ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        char name[16], path[SUPPORT_PATH];
        snprintf(name, sizeof name, "s%u.key", i);
        support_study_file(&b->s, name, path);
        assert_int_equal(identity_load(&b->server[i], path, &quiet), ERR_OK);
        assert_int_equal(open_log(b, i), ERR_OK);
    }
}

static void bench_free(struct bench *b)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        audit_close(&b->audit[i]);
        identity_free(&b->server[i]);
    }
    support_study_free(&b->s);
}

/* Each signs what the two others have. */
static void sign_all(struct bench *b)
{
    struct audit_head head[STUDY_SERVERS];
    uint8_t signature[STUDY_SERVERS][STUDY_SERVERS][64]; /* by, of */
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        audit_head(b->audit[i], &head[i]);
    for (unsigned by = 0; by < STUDY_SERVERS; by++)
        for (unsigned of = 0; of < STUDY_SERVERS; of++)
            if (by != of)
                assert_int_equal(audit_see(b->audit[by], of, &head[of], signature[by][of]), ERR_OK);
    for (unsigned of = 0; of < STUDY_SERVERS; of++)
        for (unsigned by = 0; by < STUDY_SERVERS; by++)
            if (by != of)
                assert_int_equal(audit_keep(b->audit[of], by, &head[of], signature[by][of]),
                                 ERR_OK);
}

static void open_one(struct bench *b, unsigned i, uint32_t round, const char *reason)
{
    struct audit_opening o = {.round = round,
                              .values = 10 + round,
                              .cost = 0.25,
                              .spent = 0.25 * (round + 1),
                              .what = strcmp(reason, "NOISY_MARGINAL") == 0 ? "sex*age,ward" : "-"};
    snprintf(o.reason, sizeof o.reason, "%s", reason);
    memset(o.request, (int)round, sizeof o.request);
    assert_int_equal(audit_write(b->audit[i], &o), ERR_OK);
}

/* Two rounds at all three, signed around each. */
static void fill(struct bench *b)
{
    for (uint32_t round = 0; round < 2; round++) {
        sign_all(b);
        for (unsigned i = 0; i < STUDY_SERVERS; i++) {
            if (round > 0)
                open_one(b, i, round, "SELECTED_INDEX");
            open_one(b, i, round, "NOISY_MARGINAL");
        }
    }
    sign_all(b);
}

static enum err compare(struct bench *b, unsigned count, char *words, size_t size)
{
    struct audit_file *files[STUDY_SERVERS] = {NULL};
    FILE *out = fmemopen(words, size, "w");
    enum err e = ERR_OK;
    assert_non_null(out);
    for (unsigned i = 0; e == ERR_OK && i < count; i++) {
        char path[SUPPORT_PATH];
        log_path(b, i, path);
        e = audit_file_read(&files[i], path, &quiet);
        if (e == ERR_OK && (files[i]->torn > 0 || files[i]->entries == 0))
            e = ERR_DATA;
        if (e == ERR_OK)
            e = audit_is_of(files[i], b->s.study, &quiet);
    }
    if (e == ERR_OK)
        e = audit_compare(files, count, out, &quiet);
    for (unsigned i = 0; i < count; i++)
        audit_file_free(&files[i]);
    fclose(out);
    return e;
}

static void logs_hold_alone_and_together(void **state)
{
    struct bench b;
    struct audit_file *f = NULL;
    char words[4096] = "", path[SUPPORT_PATH];
    (void)state;
    bench_new(&b);
    fill(&b);
    assert_int_equal(compare(&b, 1, words, sizeof words), ERR_OK);
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_OK);
    assert_string_equal(words, ""); /* not even a note */
    log_path(&b, 1, path);
    assert_int_equal(audit_file_read(&f, path, &quiet), ERR_OK);
    assert_int_equal(f->entries, 1 + 3 * 4 + 3);
    assert_int_equal(f->server, 1);
    assert_string_equal(f->entry[5].opening.what, "sex*age,ward");
    audit_file_free(&f);
    /* and goes on after a restart */
    audit_close(&b.audit[1]);
    assert_int_equal(open_log(&b, 1), ERR_OK);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        open_one(&b, i, 2, "NOISY_MARGINAL");
    sign_all(&b);
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_OK);
    bench_free(&b);
}

static void write_file(const char *path, const struct bytes *b, size_t n)
{
    FILE *f = fopen(path, "wb"); /* thousands of times: not through file_write(), which syncs */
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Every byte, changed in two ways; every byte left out; every length. */
static void no_byte_can_be_changed(void **state)
{
    struct bench b;
    struct bytes whole = {0};
    char path[SUPPORT_PATH], words[4096];
    size_t step = getenv("TREFOIL_LONG") != NULL ? 1 : 7, newline;
    (void)state;
    bench_new(&b);
    fill(&b);
    log_path(&b, 0, path);
    assert_int_equal(file_read(path, 1 << 20, &whole, &quiet), ERR_OK);
    for (size_t k = 0; k < whole.size; k += step) {
        uint8_t was = whole.data[k];
        struct bytes less = {0};
        whole.data[k] = was ^ 1;
        write_file(path, &whole, whole.size);
        assert_int_equal(compare(&b, 1, words, sizeof words), ERR_DATA);
        whole.data[k] = was ^ 0x20; /* the other case of a letter */
        write_file(path, &whole, whole.size);
        assert_int_equal(compare(&b, 1, words, sizeof words), ERR_DATA);
        whole.data[k] = was;
        bytes_put(&less, whole.data, k);
        bytes_put(&less, whole.data + k + 1, whole.size - k - 1);
        write_file(path, &less, less.size);
        assert_int_equal(compare(&b, 1, words, sizeof words), ERR_DATA);
        bytes_clear(&less);
    }
    /* cut anywhere but at a line's end one log alone shows it; cut there, a neighbour's does */
    newline = whole.size - 1;
    for (size_t n = whole.size - 1; n > 0; n -= n < step ? n : step) {
        write_file(path, &whole, n);
        assert_int_equal(compare(&b, 1, words, sizeof words),
                         whole.data[n - 1] == '\n' ? ERR_OK : ERR_DATA);
    }
    for (unsigned lines = 0; lines < 8; lines++) {
        while (whole.data[--newline] != '\n')
            ;
        write_file(path, &whole, newline + 1);
        assert_int_equal(compare(&b, 1, words, sizeof words), ERR_OK);
        /* the last four lines are the signatures of the last exchange, which nobody has seen */
        assert_int_equal(compare(&b, 3, words, sizeof words), lines < 4 ? ERR_OK : ERR_DATA);
    }
    bytes_clear(&whole);
    bench_free(&b);
}

/* A server that writes its log anew, with a chain that holds, has not got the others' signatures of it. */
static void a_log_written_anew_is_not_what_was_seen(void **state)
{
    struct bench b;
    char path[SUPPORT_PATH], words[4096];
    (void)state;
    bench_new(&b);
    fill(&b);
    log_path(&b, 2, path);
    audit_close(&b.audit[2]);
    assert_int_equal(remove(path), 0);
    assert_int_equal(open_log(&b, 2), ERR_OK);
    for (uint32_t round = 0; round < 9; round++) /* as long, but of other openings */
        open_one(&b, 2, round, "NOISY_MARGINAL");
    assert_int_equal(compare(&b, 2, words, sizeof words), ERR_OK); /* the two others */
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_DATA);
    bench_free(&b);
}

static void a_foreign_signature_is_not_kept(void **state)
{
    struct bench b;
    struct audit_head head;
    uint8_t signature[64];
    (void)state;
    bench_new(&b);
    audit_head(b.audit[0], &head);
    assert_int_equal(audit_see(b.audit[1], 0, &head, signature), ERR_OK);
    assert_int_equal(audit_keep(b.audit[0], 2, &head, signature), ERR_AUTH); /* not server 2's */
    head.entries++;
    assert_int_equal(audit_keep(b.audit[0], 1, &head, signature), ERR_AUTH); /* not of this head */
    head.entries--;
    assert_int_equal(audit_keep(b.audit[0], 1, &head, signature), ERR_OK);
    bench_free(&b);
}

static void half_a_line_of_a_crash_is_cut_off(void **state)
{
    struct bench b;
    struct bytes whole = {0};
    char path[SUPPORT_PATH], words[4096];
    (void)state;
    bench_new(&b);
    fill(&b);
    audit_close(&b.audit[0]);
    log_path(&b, 0, path);
    assert_int_equal(file_read(path, 1 << 20, &whole, &quiet), ERR_OK);
    bytes_put(&whole, "16 2026-11-20T", 14);
    write_file(path, &whole, whole.size);
    assert_int_equal(compare(&b, 1, words, sizeof words), ERR_DATA);
    assert_int_equal(open_log(&b, 0), ERR_OK);
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_OK);
    /* a line that was altered is not mended: the server does not start */
    audit_close(&b.audit[0]);
    whole.data[whole.size / 2] ^= 1;
    write_file(path, &whole, whole.size - 14);
    assert_int_equal(open_log(&b, 0), ERR_DATA);
    /* nor is another server's log taken */
    log_path(&b, 1, path);
    assert_int_equal(file_read(path, 1 << 20, &whole, &quiet), ERR_OK);
    log_path(&b, 0, path);
    write_file(path, &whole, whole.size);
    assert_int_equal(open_log(&b, 0), ERR_MISMATCH);
    bytes_clear(&whole);
    bench_free(&b);
}

/* A recovery explains why lines are missing that neighbours have seen; nothing else does. */
static void a_recovery_explains_lost_lines(void **state)
{
    struct bench b;
    struct bytes before = {0};
    char path[SUPPORT_PATH], words[4096] = "";
    (void)state;
    bench_new(&b);
    sign_all(&b);
    log_path(&b, 0, path);
    assert_int_equal(file_read(path, 1 << 20, &before, &quiet), ERR_OK);
    fill(&b);
    audit_close(&b.audit[0]);
    write_file(path, &before, before.size); /* the backup */
    assert_int_equal(open_log(&b, 0), ERR_OK);
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_DATA);
    assert_int_equal(audit_recovered(b.audit[0], 1, 2), ERR_OK);
    assert_int_equal(compare(&b, 3, words, sizeof words), ERR_OK);
    assert_non_null(strstr(words, "was recovered since"));
    bytes_clear(&before);
    bench_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_hold_alone_and_together),
        cmocka_unit_test(no_byte_can_be_changed),
        cmocka_unit_test(a_log_written_anew_is_not_what_was_seen),
        cmocka_unit_test(a_foreign_signature_is_not_kept),
        cmocka_unit_test(half_a_line_of_a_crash_is_cut_off),
        cmocka_unit_test(a_recovery_explains_lost_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
