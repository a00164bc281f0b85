/*
 * parties/exchange: what one party reads from another. Whatever does not fit is refused, in words
 * where people read them, and is never mistaken for something else.
 */
#include "harness/cmocka.h"

#include "aim/budget/forms.h"
#include "harness/study.h"
#include "parties/exchange/failures.h"
#include "parties/exchange/head.h"
#include "parties/exchange/receipt.h"
#include "parties/exchange/request.h"
#include "parties/exchange/statement.h"
#include "parties/exchange/upload_entry.h"

struct exchange_desk {
    struct support_study s;
    struct identity *server[STUDY_SERVERS_MOST];
    struct receipt receipt;
};

static char words[2048];

static struct exchange_desk desk_new(void)
{
    struct exchange_desk d = {.s = STUDY(&quiet, .owners = 2)};
    d.receipt = (struct receipt){.owner = 1, .state = RECEIPT_HELD, .digest = {7}};
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(identity_load(&d.server[i], support_path(&d.s, "s%u.key", i), &quiet));
        OK(receipt_sign(d.s.study, d.server[i], &d.receipt, &d.receipt.part[i]));
    }
    return d;
}

static void desk_free(struct exchange_desk *d)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        identity_free(&d->server[i]);
    support_study_free(&d->s);
}

static void listen_from_here(void)
{
    words[0] = '\0';
    quiet.buffer = words;
    quiet.buffer_size = sizeof words;
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * A text of lines "word value": gives the first line with this word another value, or ends the text
 * there if the value is NULL.
 */
struct edit {
    const char *word, *value;
    enum err e;
    const char *says;
};

static void rewrite(const struct bytes *text, const struct edit *edit, struct bytes *out)
{
    const char *all = (const char *)text->data, *end = all + text->size, *at = all;
    size_t n = strlen(edit->word);
    bytes_clear(out);
    while (end - at > (ptrdiff_t)n && (memcmp(at, edit->word, n) != 0 || at[n] != ' '))
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    assert_true(end - at > (ptrdiff_t)n);
    bytes_put(out, all, (size_t)(at - all));
    if (edit->value == NULL)
        return;
    bytes_put(out, at, n + 1);
    bytes_put(out, edit->value, strlen(edit->value));
    at = memchr(at, '\n', (size_t)(end - at));
    bytes_put(out, at, (size_t)(end - at));
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define LONG ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS ZEROS

static const struct edit receipts[] = {
    {"format", NULL, ERR_FORMAT, "paper ends where the line \"format ...\" should follow"},
    {"format", "trefoil-receipt-2", ERR_FORMAT,
     "paper is of a later trefoil: its format is trefoil-rec"},
    {"format", "", ERR_FORMAT, "paper:3: \"format trefoil-receipt-1\" should stand"},
    {"study", NULL, ERR_FORMAT, "paper ends where the line \"study ...\" should follow"},
    {"study", "another", ERR_MISMATCH, "paper:4: the receipt is of another study"},
    {"terms", NULL, ERR_FORMAT, "ends where the line \"terms ...\" should follow"},
    {"terms", ZEROS, ERR_MISMATCH, "paper:5: the receipt is of this study with other terms"},
    {"terms", "12", ERR_FORMAT, "paper:5: 64 hexadecimal digits should stand here"},
    {"owner", NULL, ERR_FORMAT, "ends where the line \"owner ...\" should follow"},
    {"owner", "nobody", ERR_MISMATCH, "paper:6: the study has no owner of this name"},
    {"upload", NULL, ERR_FORMAT, "ends where the line \"upload ...\" should follow"},
    {"upload", ZEROS "0", ERR_FORMAT, "paper:7: 64 hexadecimal digits should stand here"},
    {"upload", "G000000000000000000000000000000000000000000000000000000000000000", ERR_FORMAT,
     "paper:7: 64 hexadecimal digits should stand here"},
    {"state", NULL, ERR_FORMAT, "ends where the line \"state ...\" should follow"},
    {"state", "lost", ERR_FORMAT, "paper:8: the state should be held or withdrawn"},
    {"server", NULL, ERR_FORMAT, "ends where the line \"server ...\" should follow"},
    {"server", "s0", ERR_FORMAT, "paper:9: a name, a time and a signature should stand here"},
    {"server", "s0 now", ERR_FORMAT, "paper:9: a name, a time and a signature should stand here"},
    {"server", "s1 now x", ERR_MISMATCH, "paper:9: the study has another server in this place"},
    {"server", "s0 now x", ERR_FORMAT, "paper:9: a time such as 2026-12-01T18:00:00Z should"},
    {"server", "s0 2026-12-01T18:00:00Z x", ERR_FORMAT, "paper:9: a signature, trefoil-sig1-"},
};

static enum err parse(struct exchange_desk *d, const struct bytes *text)
{
    struct receipt r;
    listen_from_here();
    TRY(receipt_parse(&r, d->s.study, "paper", text->data, text->size, &quiet));
    assert_memory_equal(&r.digest, &d->receipt.digest, sizeof r.digest);
    quiet.buffer = NULL;
    return ERR_OK;
}

static void expect(enum err e, enum err expected, const char *says, const char *what)
{
    if (e != expected || strstr(words, says) == NULL)
        fail_msg("%s: %s, not %s; said: %s", what, error_text(e), error_text(expected), words);
}

static void saved_receipt(struct exchange_desk *d, struct bytes *text)
{
    const char *path = support_path(&d->s, "receipt");
    OK(receipt_save(path, d->s.study, &d->receipt, &quiet));
    OK(file_read(path, RECEIPT_FILE_MAX, text, &quiet));
}

TEST(a_receipt_that_is_none_is_told_where)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    struct bytes text CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    saved_receipt(&d, &text);
    expect(parse(&d, &text), ERR_OK, "", "whole");
    for (size_t k = 0; k < sizeof receipts / sizeof *receipts; k++) {
        rewrite(&text, &receipts[k], &other);
        expect(parse(&d, &other), receipts[k].e, receipts[k].says, receipts[k].word);
    }
    /* line ends of another system, blank lines, and no end of the last line */
    bytes_clear(&other);
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] == '\n')
            bytes_put(&other, "\r\n", 2);
        bytes_put_u8(&other, text.data[i]);
    }
    expect(parse(&d, &other), ERR_OK, "", "line ends");
    bytes_put(&other, "\r\n\nmore", 7);
    expect(parse(&d, &other), ERR_FORMAT, "nothing should follow the last server", "more");
    /* words, one of which is cut or contains what no text does */
    bytes_set(&other, text.data, text.size);
    *strstr((char *)other.data, " trefoil-receipt-1") = '\0';
    expect(parse(&d, &other), ERR_FORMAT, "the line \"format ...\" should stand here", "NUL");
    *strchr(strstr((char *)other.data, "format"), '\0') = ' ';
    strstr((char *)other.data, "trefoil-receipt-1")[3] = '\0';
    expect(parse(&d, &other), ERR_FORMAT, "\"format trefoil-receipt-1\" should stand here", "NUL");
    expect(parse(&d, &(struct bytes){0}), ERR_FORMAT, "paper ends where the line \"format", "none");
}

TEST(a_receipt_needs_three_signatures)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    OK(receipt_verify(d.s.study, &d.receipt, &quiet));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct receipt r = d.receipt;
        char named[64];
        r.part[i].signature[9] ^= 1;
        listen_from_here();
        snprintf(named, sizeof named, "server %u (s%u) has not signed this", i, i);
        expect(receipt_verify(d.s.study, &r, &quiet), ERR_AUTH, named, "signature");
        r.part[i] = d.receipt.part[(i + 1) % STUDY_SERVERS_MOST];
        expect(receipt_verify(d.s.study, &r, &quiet), ERR_AUTH, named, "another's");
        quiet.buffer = NULL;
    }
    for (unsigned k = 0; k < 4; k++) { /* each is of one owner, state, upload and time */
        struct receipt r = d.receipt;
        r.owner ^= k == 0;
        r.state = k == 1 ? RECEIPT_WITHDRAWN : r.state;
        r.digest[31] ^= k == 2;
        r.part[0].time += k == 3;
        assert_int_equal(receipt_verify(d.s.study, &r, &quiet), ERR_AUTH);
    }
}

#define ID "00000000000000000000000000000000"

static const struct edit statements[] = {
    {"study", NULL, ERR_FORMAT,
     "paper:2: this is not a line of a statement of trefoil serve --purge"},
    {"study", LONG, ERR_MISMATCH, "paper is about another study: its name or terms differ"},
    {"terms", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"terms", ZEROS, ERR_MISMATCH, "paper is about another study: its name or terms differ"},
    {"server", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"server", "one", ERR_FORMAT, "this is not a line of a statement"},
    {"server", "3 s3", ERR_FORMAT, "this is not a line of a statement"},
    {"server", "1 s2", ERR_FORMAT, "this is not a line of a statement"},
    {"server", "2 s2", ERR_AUTH, "paper is not signed by the key of server 2 (s2), or was changed"},
    {"time", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"time", "soon", ERR_FORMAT, "this is not a line of a statement"},
    {"time", "2026-12-01T18:00:00Z", ERR_AUTH, "is not signed by the key of server 1 (s1)"},
    {"uploads", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"uploads", "few", ERR_FORMAT, "this is not a line of a statement"},
    {"uploads", "3", ERR_FORMAT, "this is not a line of a statement"},
    {"uploads", "2", ERR_FORMAT, "this is not a line of a statement"},
    {"upload", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "o1", ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "o1 id " ID " digest " ZEROS " and", ERR_FORMAT,
     "this is not a line of a statement"},
    {"upload", "o1 id " ID " digest 00", ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "o1 id 00 digest " ZEROS, ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "o1 id G0000000000000000000000000000000 digest " ZEROS, ERR_FORMAT, "is not"},
    {"upload", "o1 id " ID " digest G" ZEROS, ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "nobody id " ID " digest " ZEROS, ERR_FORMAT, "this is not a line of a statement"},
    {"upload", "o0 id " ID " digest " ZEROS, ERR_AUTH, "is not signed by the key of server 1"},
    {"signature", NULL, ERR_FORMAT, "this is not a line of a statement"},
    {"signature", "x", ERR_FORMAT, "this is not a line of a statement"},
};

static enum err read_statement(struct exchange_desk *d, const struct bytes *text)
{
    struct statement s CLEAN(statement_clear);
    listen_from_here();
    enum err e = statement_read(&s, d->s.study, "paper", text->data, text->size, &quiet);
    quiet.buffer = NULL;
    return e;
}

TEST(a_statement_that_was_changed_is_none)
{
    struct upload_name upload = {.owner = 1, .id = {3}, .digest = {4}};
    const struct statement s = {.server = 1, .time = 1790000000, .uploads = 1, .upload = &upload};
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    struct bytes text CLEAN(bytes_clear) = {0}, other CLEAN(bytes_clear) = {0};
    OK(statement_write(&s, d.s.study, d.server[1], &text));
    expect(read_statement(&d, &text), ERR_OK, "", "whole");
    for (size_t k = 0; k < sizeof statements / sizeof *statements; k++) {
        rewrite(&text, &statements[k], &other);
        expect(read_statement(&d, &other), statements[k].e, statements[k].says,
               statements[k].value != NULL ? statements[k].value : statements[k].word);
    }
    for (size_t n = 0; n < text.size; n++) {
        const struct bytes part = {.data = text.data, .size = n};
        expect(read_statement(&d, &part), ERR_FORMAT, "a statement of trefoil serve --purge",
               "cut");
    }
    text.data[20] = '\0';
    expect(read_statement(&d, &text), ERR_FORMAT, "this is not a line of a statement", "NUL");
    bytes_put(&text, "more\n", 5);
    expect(read_statement(&d, &text), ERR_FORMAT, "this is not a line of a statement", "more");
}

/* --- messages --------------------------------------------------------------------------------- */

/* Of queries 1 and 2: other versions, other kinds, too many queries, an unknown one, one twice. */
static const struct {
    size_t at;
    uint8_t value;
} changes[] = {{0, REQUEST_VERSION + 1},
               {1, 0},
               {1, ASK_SCORES + 1},
               {1, ASK_MEASURE},
               {26, 255},
               {30, 200},
               {30, 2}};

TEST(a_request_that_is_cut_or_changed_is_none)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    uint32_t query[] = {1, 2};
    struct request r = {.ask = {.kind = ASK_SELECT, .queries = 2, .query = query}}, back;
    struct bytes text CLEAN(bytes_clear) = {0};
    const struct workload *w = d.s.study->workload;
    r.ask.estimates = w->query[1].cells + w->query[2].cells;
    r.ask.estimate = memory_array(r.ask.estimates, sizeof *r.ask.estimate);
    OK(request_write(&r, &text));
    assert_in_range(text.size, 1, request_longest(w));
    OK(request_read(&back, d.s.study->domain, w, text.data, text.size));
    assert_int_equal(back.ask.query[1], 2);
    request_clear(&back);
    for (size_t n = 0; n < text.size; n++)
        assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, n), ERR_FORMAT);
    const struct request measure = {.ask = {.kind = ASK_MEASURE, .queries = 2, .query = query}};
    struct bytes other CLEAN(bytes_clear) = {0};
    OK(request_write(&measure, &other));
    for (size_t n = 0; n < other.size; n++)
        assert_int_equal(request_read(&back, d.s.study->domain, w, other.data, n), ERR_FORMAT);
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        uint8_t was = text.data[changes[k].at];
        text.data[changes[k].at] = changes[k].value;
        assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, text.size),
                         ERR_FORMAT);
        text.data[changes[k].at] = was;
    }
    bytes_put_u8(&text, 0);
    assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, text.size), ERR_FORMAT);
    assert_int_equal(request_version(NULL, 0), 0);
    memory_free(&r.ask.estimate);
}

/* A measured set has a multiplier for each of its marginals, and none for all. */
TEST(a_request_of_a_set_comes_back)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    uint32_t query[] = {1, 2};
    int64_t multiplier[] = {300, 1 << 20, 7};
    struct request r = {.ask = {.kind = ASK_MEASURE,
                                .queries = 2,
                                .query = query,
                                .weights = 2,
                                .weight = multiplier}},
                   back;
    const struct workload *w = d.s.study->workload;
    for (unsigned k = 0; k < 4; k++) {
        struct bytes text CLEAN(bytes_clear) = {0};
        r.ask.weights = k == 2 ? 1 : k == 3 ? 3 : 2;
        r.ask.multiplier = k == 1 ? 300 : 0;
        OK(request_write(&r, &text));
        assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, text.size),
                         k == 0 ? ERR_OK : ERR_FORMAT);
        if (k == 0)
            assert_true(ask_multiplier(&back.ask, 0) == 300 &&
                        ask_multiplier(&back.ask, 1) == 1 << 20 && ask_alike(&back.ask, &r.ask));
        request_clear(&back);
    }
}

/* For attribute `a`: the codes of `of` below `first` are one group, the others another. */
static void put_merged(struct bytes *out, size_t a, const struct domain_attribute *of,
                       uint32_t first)
{
    bytes_put_u16(out, (uint16_t)a);
    for (uint32_t code = 0; code < of->size; code++)
        bytes_put_u32(out, code >= of->values ? 2 : code >= first);
}

/* Writes a request that merges nothing, with these bytes in the place of the merges. */
static void write_merged(const struct request *r, const struct bytes *merges, struct bytes *out)
{
    const size_t at = 2 + REQUEST_RUN_SIZE + 4;
    struct bytes plain CLEAN(bytes_clear) = {0};
    OK(request_write(r, &plain));
    bytes_put(out, plain.data, at);
    bytes_put_block(out, merges->data, merges->size);
    bytes_put(out, plain.data + at + 4, plain.size - at - 4);
    OK(bytes_ok(out));
}

/* Reads a request for the first marginal with these merges, and writes it again. */
static enum err read_merged_as(const struct exchange_desk *d, const struct request *r,
                               const struct bytes *merges, struct request *back)
{
    struct bytes text CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    write_merged(r, merges, &text);
    enum err e = request_read(back, d->s.study->domain, d->s.study->workload, text.data, text.size);
    if (e != ERR_OK)
        return e;
    OK(request_write(back, &again));
    SAME_BYTES(&again, text.data, text.size);
    assert_true(text.size <= request_longest(d->s.study->workload));
    return ERR_OK;
}

static enum err read_merged(const struct exchange_desk *d, const struct bytes *merges,
                            struct request *back)
{
    uint32_t query = 0;
    const struct request r = {.ask = {.kind = ASK_MEASURE, .queries = 1, .query = &query}};
    return read_merged_as(d, &r, merges, back);
}

TEST(merges_of_a_request_are_checked)
{
    static const struct request others[] = {{.kind = REQUEST_OPEN},
                                            {.kind = REQUEST_CLOSE},
                                            {.ask.kind = ASK_FORMS},
                                            {.ask.kind = ASK_LOOK}};
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    struct bytes merges CLEAN(bytes_clear) = {0};
    struct request back, same, none;
    const size_t ordered = 0;
    const struct {
        size_t attribute;
        uint32_t first;
    } bad[] = {{ordered, 0}, {1, 1}, {UINT16_MAX, 1}}; /* no group 0; of other codes; of none */
    const struct domain *domain = d.s.study->domain;
    bytes_put_u16(&merges, 1);
    put_merged(&merges, ordered, &domain->attribute[ordered], 1);
    OK(read_merged(&d, &merges, &back));
    OK(read_merged(&d, &(struct bytes){0}, &none));
    OK(read_merged(&d, &merges, &same));
    assert_true(ask_alike(&back.ask, &same.ask));
    assert_false(ask_alike(&back.ask, &none.ask) || ask_alike(&none.ask, &back.ask));
    request_clear(&same);
    bytes_clear(&merges);
    bytes_put_u16(&merges, 1);
    put_merged(&merges, ordered, &domain->attribute[ordered], 2);
    OK(read_merged(&d, &merges, &same));
    assert_false(ask_alike(&back.ask, &same.ask));
    request_clear(&same);
    request_clear(&back);
    request_clear(&none);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        assert_int_equal(read_merged_as(&d, &others[k], &merges, &back), ERR_REFUSED);
    merges.data[0] = 2; /* attributes, one of which is missing, or occurs twice */
    assert_int_equal(read_merged(&d, &merges, &back), ERR_REFUSED);
    put_merged(&merges, ordered, &domain->attribute[ordered], 1);
    assert_int_equal(read_merged(&d, &merges, &back), ERR_REFUSED);
    merges.data[0] = 1; /* and something left over */
    assert_int_equal(read_merged(&d, &merges, &back), ERR_REFUSED);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        bytes_clear(&merges);
        bytes_put_u16(&merges, 1);
        put_merged(&merges, bad[k].attribute, &domain->attribute[ordered], bad[k].first);
        if (read_merged(&d, &merges, &back) != ERR_REFUSED)
            fail_msg("merges %zu are taken", k);
    }
    bytes_clear(&merges);
    bytes_put_u16(&merges, 0); /* what merges nothing has none */
    assert_int_equal(read_merged(&d, &merges, &back), ERR_REFUSED);
}

TEST(a_selection_has_an_estimate_for_each_merged_cell)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    struct bytes merges CLEAN(bytes_clear) = {0};
    uint64_t estimate[4] = {0};
    uint32_t query = 0; /* an attribute that has an order, alone */
    const struct workload *w = d.s.study->workload;
    const struct domain *domain = d.s.study->domain;
    while (!domain_has_order(&domain->attribute[w->query[query].clique.attribute[0]]))
        query++;
    assert_in_range(query, 0, w->one_ways - 1);
    bytes_put_u16(&merges, 1);
    put_merged(&merges, w->query[query].clique.attribute[0],
               &domain->attribute[w->query[query].clique.attribute[0]], 1);
    for (size_t n = 0; n < 4; n++) {
        const struct request r = {.ask = {.kind = ASK_SELECT,
                                          .queries = 1,
                                          .query = &query,
                                          .estimates = n,
                                          .estimate = estimate}};
        struct bytes text CLEAN(bytes_clear) = {0};
        struct request back CLEAN(request_clear);
        write_merged(&r, &merges, &text);
        assert_int_equal(request_read(&back, domain, w, text.data, text.size),
                         n == 2 ? ERR_OK : ERR_FORMAT);
    }
}

/* Forms name no marginals: each code has a factor and a group. */
TEST(a_request_of_forms_comes_back)
{
    struct exchange_desk d CLEAN(desk_free) = desk_new();
    uint32_t query[] = {1};
    struct request r = {.ask = {.kind = ASK_FORMS, .query = query}}, back;
    struct bytes text CLEAN(bytes_clear) = {0}, named CLEAN(bytes_clear) = {0};
    const struct workload *w = d.s.study->workload;
    r.ask.weights = 2 * workload_one_way_cells(w);
    r.ask.weight = memory_array(w->cells + r.ask.weights, sizeof *r.ask.weight);
    r.ask.weight[r.ask.weights - 1] = -7;
    OK(request_write(&r, &text));
    assert_in_range(text.size, 1, request_longest(w));
    OK(request_read(&back, d.s.study->domain, w, text.data, text.size));
    assert_int_equal(back.ask.weights, r.ask.weights);
    assert_memory_equal(back.ask.weight, r.ask.weight, r.ask.weights * sizeof *r.ask.weight);
    assert_int_equal(back.ask.estimates, 0);
    request_clear(&back);
    for (size_t n = 0; n < text.size; n++)
        assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, n), ERR_FORMAT);
    text.data[1] = ASK_SELECT; /* other sizes */
    assert_int_equal(request_read(&back, d.s.study->domain, w, text.data, text.size), ERR_FORMAT);
    r.ask.queries = 1;
    r.ask.weights = w->query[1].cells;
    OK(request_write(&r, &named));
    assert_int_equal(request_read(&back, d.s.study->domain, w, named.data, named.size), ERR_FORMAT);
    memory_free(&r.ask.weight);
}

TEST(an_answer_that_is_cut_says_nothing)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct reply r;
    OK(reply_write(7, ERR_BUDGET, "it is spent", "payload", 7, &text));
    OK(reply_read(&r, &text));
    assert_true(r.kind == 7 && r.status == ERR_BUDGET && r.size == 7);
    for (size_t n = 0; n < text.size; n++) {
        const struct bytes part = {.data = text.data, .size = n};
        assert_int_equal(reply_read(&r, &part), ERR_FORMAT);
        assert_true(r.text[0] == '\0' && r.size == 0);
    }
    text.data[2] = ERR_COUNT;
    assert_int_equal(reply_read(&r, &text), ERR_FORMAT);
    assert_true(r.text[0] == '\0' && r.size == 0);
}

TEST(what_is_held_is_one_of_four_things)
{
    for (unsigned state_of = 0; state_of < 256; state_of++) {
        uint8_t text[1 + 16 + 32] = {(uint8_t)state_of, 9};
        struct reader in = reader_of(text, sizeof text), cut = reader_of(text, sizeof text - 1);
        struct upload_entry entry;
        upload_entry_read(&in, &entry);
        assert_int_equal(in.failed, state_of > UPLOAD_WITHDRAWN);
        assert_int_equal(entry.state, in.failed ? UPLOAD_NOTHING : state_of);
        assert_true(entry.time == (entry.state == UPLOAD_NOTHING ? 0 : 9));
        upload_entry_read(&cut, &entry);
        assert_int_equal(cut.failed, state_of != UPLOAD_NOTHING);
    }
}

/* A server could sign one, but what is kept of it as text would be another statement. */
TEST(a_time_that_has_no_date_is_none)
{
    static const int64_t time[] = {0, INT64_C(253402300799), INT64_C(253402300800), -1};
    for (unsigned i = 0; i < 4; i++) {
        uint8_t text[1 + 8 * 64] = {UPLOAD_COMPLETE}, *from = text + 1;
        struct reader in[] = {reader_of(from, 512), reader_of(from, 512), reader_of(text, 513)};
        for (unsigned k = 0; k < 64; k++)
            integer_put(from + 8 * k, (uint64_t)time[i], 8);
        head_read(&in[0], &(struct head){0});
        receipt_part_read(&(struct receipt_part){0}, &in[1]);
        upload_entry_read(&in[2], &(struct upload_entry){0});
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(in[k].failed, i > 1);
    }
}

/* Failures that are alike are told once, with how many servers the study has. */
TEST(all_servers_are_as_many_as_there_are)
{
    static const enum err failed[STUDY_SERVERS_MOST] = {ERR_BUSY, ERR_BUSY, ERR_BUSY};
    static const char *const said[] = {[2] = "both servers: ", [3] = "all three servers: "};
    for (unsigned servers = 2; servers <= 3; servers++) {
        const struct study study = {.servers = servers};
        const struct reply reply[STUDY_SERVERS_MOST] = {0};
        LOG_INTO(log, text, LOG_ERROR);
        assert_int_equal(failures_tell(&study, 0, failed, reply, ERR_BUSY, &log), ERR_BUSY);
        support_says(text, said[servers]);
    }
}

/* One server's report of a failed check is passed on, whatever ended the others. */
TEST(a_failed_check_says_most)
{
    static const enum err others[] = {ERR_OK, ERR_PEER, ERR_TIMEOUT, ERR_MISMATCH, ERR_SYSTEM};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_true(failures_say_more(ERR_CHEAT, others[i]));
        assert_true(others[i] == ERR_OK || !failures_say_more(others[i], ERR_CHEAT));
    }
    assert_true(failures_say_more(ERR_TIMEOUT, ERR_OK));
    assert_false(failures_say_more(ERR_PEER, ERR_TIMEOUT));
    /* a session that ended at one server, whichever answers first */
    assert_true(failures_say_more(ERR_MISMATCH, ERR_MISUSE));
    assert_false(failures_say_more(ERR_MISUSE, ERR_MISMATCH));
    assert_false(failures_say_more(ERR_TIMEOUT, ERR_MISUSE));
}
