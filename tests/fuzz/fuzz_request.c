/*
 * What programs and gates say to each other: a request as servers read it, an answer and the
 * servers' counters as an analyst does. What is accepted is written back byte for byte, except that
 * text is tamed.
 */
#include "parties/exchange/cost.h"
#include "parties/exchange/message.h"
#include "parties/exchange/request.h"
#include "tests/fuzz/fuzz.h"

static struct workload *make_workload(struct domain **d)
{
    static const char *const names[] = {"a", "b", "c"};
    struct workload *w;
    never(domain_new(d) != ERR_OK);
    for (int i = 0; i < 3; i++)
        never(domain_add_integer(*d, names[i], 0, i + 1, NULL, DOMAIN_REJECT, NULL) != ERR_OK);
    never(workload_all(&w, *d, 2, NULL) != ERR_OK);
    return w;
}

static void same(const struct bytes *b, const uint8_t *data, size_t size)
{
    never(bytes_ok(b) != ERR_OK || b->size != size || memcmp(b->data, data, size) != 0);
}

static void as_request(const uint8_t *data, size_t size)
{
    struct domain *d CLEAN(domain_free) = NULL;
    struct workload *w CLEAN(workload_free) = make_workload(&d);
    struct request r CLEAN(request_clear);
    struct bytes back CLEAN(bytes_clear) = {0};
    if (request_read(&r, d, w, data, size) == ERR_OK) {
        never(request_write(&r, &back) != ERR_OK);
        same(&back, data, size);
    }
}

static void as_reply(const uint8_t *data, size_t size)
{
    struct bytes message CLEAN(bytes_clear) = {0}, back CLEAN(bytes_clear) = {0};
    struct reply r;
    struct net_counters stats[NET_PHASES];
    bytes_put(&message, data, size);
    if (reply_read(&r, &message) == ERR_OK) {
        (void)!cost_read(stats, r.payload, r.size);
        never(reply_write(r.kind, r.status, r.text, r.payload, r.size, &back) != ERR_OK);
        if (r.signature != NULL)
            bytes_put(&back, r.signature, IDENTITY_SIGNATURE_SIZE);
        for (size_t i = 0; i < size && back.size == size; i++) /* where the text was tamed */
            if (back.data[i] == '?')
                back.data[i] = data[i];
        same(&back, data, size);
    }
}

/* The first byte chooses the message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 2 == 0)
        as_request(data + 1, size - 1);
    else if (size > 0)
        as_reply(data + 1, size - 1);
    return 0;
}

static void put_request(fuzz_put put, void *self, const struct request *r)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    bytes_put_u8(&b, 0);
    never(request_write(r, &b) != ERR_OK);
    put(self, b.data, b.size);
}

void fuzz_seeds(fuzz_put put, void *self)
{
    uint32_t query[] = {0, 1, 2, 4}; /* 2 + 3 + 4 + 8 cells */
    uint64_t estimate[17] = {1024, 5};
    /* the last two codes of b, the first three of c */
    static const uint8_t merges[] = {2, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2,
                                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
    int64_t weight[18] = {-3, 5, [10] = 1};
    uint8_t payload[NET_PHASES * 48] = {1};
    struct bytes b CLEAN(bytes_clear) = {0};
    struct request r = {.kind = REQUEST_OPEN};
    struct domain *d CLEAN(domain_free) = NULL;
    struct workload *w CLEAN(workload_free) = make_workload(&d);
    struct merges m CLEAN(merges_clear);
    struct reader in = reader_of(merges, sizeof merges);
    never(merges_read(&m, d, &in) != ERR_OK);
    put_request(put, self, &r);
    r = (struct request){
        .sequence = 1,
        .ask = {.kind = ASK_MEASURE, .queries = 3, .query = query, .multiplier = 4096}};
    put_request(put, self, &r);
    r.ask.merges = &m;
    put_request(put, self, &r);
    r = (struct request){.sequence = 2,
                         .ask = {.kind = ASK_SELECT,
                                 .queries = 4,
                                 .query = query,
                                 .multiplier = 4096,
                                 .epsilon = 0.5,
                                 .sigma = 20,
                                 .estimates = 17,
                                 .estimate = estimate}};
    put_request(put, self, &r);
    r = (struct request){.sequence = 2,
                         .ask = {.kind = ASK_FORMS, .weights = 18, .weight = weight}};
    put_request(put, self, &r);
    r = (struct request){.ask = {.kind = ASK_LOOK, .multiplier = 4096}};
    put_request(put, self, &r);
    r = (struct request){.kind = REQUEST_CLOSE, .sequence = 3};
    put_request(put, self, &r);
    bytes_put_u8(&b, 1);
    never(reply_write(MESSAGE_REQUEST, ERR_OK, "", payload, sizeof payload, &b) != ERR_OK);
    put(self, b.data, b.size);
    b.size = 1;
    never(reply_write(MESSAGE_STATUS, ERR_REFUSED, "no", NULL, 0, &b) != ERR_OK);
    put(self, b.data, b.size);
    b.size = 1;
    never(reply_write(MESSAGE_STATUS, ERR_REFUSED, "\x1b[2Jno\xff", NULL, 0, &b) != ERR_OK);
    put(self, b.data, b.size);
    b.size = 1;
    never(reply_write(MESSAGE_PARCEL, ERR_OK, "", payload, sizeof payload, &b) != ERR_OK);
    bytes_put(&b, (const uint8_t[IDENTITY_SIGNATURE_SIZE]){1}, IDENTITY_SIGNATURE_SIZE);
    put(self, b.data, b.size);
}
