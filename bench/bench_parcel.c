/*
 * bench/bench_parcel.c - what sealed uploads cost servers, and others whom strangers crowd.
 *
 *   bench_parcel [--json FILE] [--smoke] [--owners N] [--records N] [--shares N]
 *
 * Three real servers on loopback, and N owners (6) who each upload so many records (2,000,000)
 * twice: by `share` in a study without sealing keys, then by `share --to` and `send` in one that
 * has them:
 *
 *   curve_cpu_s, parcel_cpu_s   CPU of all servers, from the first upload to the last receipt
 *   parcel_over_curve           the ratio
 *
 * Then strangers bring server 0 as many blocks as it takes: fresh keys all the time, four blocks of
 * 256 KiB each, sealed so that all of them have to be opened. Meanwhile N others (30) share 600
 * bytes by links of their own:
 *
 *   share_alone_s, share_crowded_s   the slowest of them, without strangers and with them
 *   strangers_s, strangers_mib_s     how long these were at it, and what they brought a second
 *
 * --smoke: 2 owners of 4,000 records, 2 others.
 */
#include "base/clock.h"
#include "base/secret.h"
#include "bench/cast.h"
#include "bench/cpu.h"
#include "bench/figures.h"
#include "harness/process.h"
#include "parties/exchange/dials.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 2
#define BLOCKS 4
#define TICK_S 0.01 /* the system counts CPU in such steps: a smoke run may have none */

struct parcel_bench {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

static const char **parts(unsigned owners, unsigned records, char lines[64])
{
    const char **part = calloc(owners, sizeof *part);
    cast_must(part != NULL, "memory");
    snprintf(lines, 64, "    max_rows: 400\n    as: records\n    pad_to: %u\n", records);
    for (unsigned i = 0; i < owners; i++)
        part[i] = lines;
    return part;
}

static void begin(struct parcel_bench *b, unsigned owners, unsigned records, bool seals)
{
    char lines[64];
    const char **part = parts(owners, records, lines);
    memset(b, 0, sizeof *b);
    cast_done(support_study_new(&b->s,
                                OPTIONS(.owners = owners, .part = (const char *const *)part,
                                        .seals = seals, .lanes = 1),
                                &cast_log),
              "the study");
    free(part);
    for (unsigned i = 0; i < owners; i++)
        cast_done(support_csv(file(b, "o%u.csv", i), b->s.study->domain, 400, i), "rows");
    cast_must(support_serve_all(&b->s, b->s.path, b->server), "the servers");
}

static void end(struct parcel_bench *b)
{
    cast_must(support_stop_all(b->server), "stopping the servers");
    support_study_free(&b->s);
}

static double servers_cpu(const struct parcel_bench *b)
{
    double sum = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        sum += cpu_of(b->server[i]);
    return sum;
}

#define MUST(b, ...) cast_must(COMMAND(file(b, "said.log"), 600, __VA_ARGS__) == 0, "a command")

/* Of servers alone: whoever shares or carries is another process. */
static double uploads(unsigned owners, unsigned records, bool parcels)
{
    struct parcel_bench b;
    double cpu;
    begin(&b, owners, records, parcels);
    for (unsigned i = 0; i < owners && parcels; i++)
        MUST(&b, "share", b.s.path, file(&b, "o%u.csv", i), "--key", file(&b, "o%u.key", i), "--to",
             file(&b, "%u.parcel", i));
    cpu = servers_cpu(&b);
    for (unsigned i = 0; i < owners; i++)
        if (parcels)
            MUST(&b, "send", b.s.path, file(&b, "%u.parcel", i));
        else
            MUST(&b, "share", b.s.path, file(&b, "o%u.csv", i), "--key", file(&b, "o%u.key", i));
    cpu = servers_cpu(&b) - cpu;
    end(&b);
    return cpu;
}

/* --- strangers -------------------------------------------------------------------------------- */

struct parcel_crowd {
    const struct parcel_bench *b;
    struct netio *netio;
    struct bytes block; /* the message */
    atomic_bool stop;
    atomic_ullong bytes;
    pthread_t thread[THREADS];
};

/* A block that only its owner's key in it betrays. */
static void make_block(struct parcel_crowd *c)
{
    static uint8_t plain[MESSAGE_PART_MAX - crypto_box_SEALBYTES - 1];
    const size_t n = sizeof plain + crypto_box_SEALBYTES;
    uint8_t *to;
    secret_random(plain, sizeof plain);
    bytes_put_u8(&c->block, MESSAGE_PARCEL);
    to = bytes_extend(&c->block, n);
    cast_must(to != NULL && crypto_box_seal(to, plain, sizeof plain,
                                            c->b->s.study->server[0].sealing.key) == 0,
              "a block");
}

static void *crowd(void *self)
{
    struct parcel_crowd *c = self;
    while (!atomic_load(&c->stop)) {
        struct identity *id;
        struct dial *dial;
        cast_done(identity_new(&id, &cast_log), "a key");
        cast_done(dials_new(&dial, c->netio, c->b->s.study, id, 0, NULL), "a connection");
        for (unsigned k = 0; k < BLOCKS && !atomic_load(&c->stop); k++)
            if (dial_send(dial, false, c->block.data, c->block.size, clock_now_ms() + 1000) ==
                ERR_OK)
                atomic_fetch_add(&c->bytes, c->block.size);
        dial_free(&dial);
        identity_free(&id);
    }
    return NULL;
}

/* Of the owners from `first` on, who have sent nothing yet. */
static double slowest(const struct parcel_bench *b, unsigned first, unsigned shares)
{
    double most = 0;
    for (unsigned i = first; i < first + shares; i++) {
        const double from = clock_now_s();
        MUST(b, "share", b->s.path, file(b, "o%u.csv", i), "--key", file(b, "o%u.key", i));
        most = fmax(most, clock_now_s() - from);
    }
    return most;
}

static void crowded(struct figures *f, unsigned shares)
{
    struct parcel_crowd c = {.stop = false};
    struct parcel_bench b;
    double from, seconds, mib;
    begin(&b, 2 * shares, 400, true);
    c.b = &b;
    make_block(&c);
    cast_done(netio_new(&c.netio, &cast_log), "a context");
    figures_put(f->out, slowest(&b, 0, shares), "share_alone_s");
    from = clock_now_s();
    for (unsigned k = 0; k < THREADS; k++)
        cast_must(pthread_create(&c.thread[k], NULL, crowd, &c) == 0, "a thread");
    figures_put(f->out, slowest(&b, shares, shares), "share_crowded_s");
    seconds = clock_now_s() - from;
    atomic_store(&c.stop, true);
    for (unsigned k = 0; k < THREADS; k++)
        pthread_join(c.thread[k], NULL);
    mib = (double)atomic_load(&c.bytes) / 0x1p20;
    figures_put(f->out, seconds, "strangers_s");
    figures_put(f->out, mib / seconds, "strangers_mib_s");
    netio_free(&c.netio);
    bytes_clear(&c.block);
    end(&b);
}

int main(int argc, char **argv)
{
    unsigned owners = 0, records = 0, shares = 0;
    struct figures f;
    const struct figures_option options[] = {{.name = "owners", .count = &owners},
                                             {.name = "records", .count = &records},
                                             {.name = "shares", .count = &shares}};
    double curve, parcel;
    figures_begin(&f, argc, argv, options, 3);
    cast_begin();
    owners = owners > 0 ? owners : f.smoke ? 2 : 6;
    records = records > 0 ? records : f.smoke ? 4000 : 2000000;
    shares = shares > 0 ? shares : f.smoke ? 2 : 30;
    curve = uploads(owners, records, false);
    parcel = uploads(owners, records, true);
    figures_put(f.out, curve, "curve_cpu_s");
    figures_put(f.out, parcel, "parcel_cpu_s");
    figures_put(f.out, parcel / fmax(curve, TICK_S), "parcel_over_curve");
    crowded(&f, shares);
    for (const char *const *key =
             (const char *const[]){"curve_cpu_s", "parcel_cpu_s", "parcel_over_curve",
                                   "share_alone_s", "share_crowded_s", "strangers_s",
                                   "strangers_mib_s", NULL};
         *key != NULL; key++)
        printf("%s %.4g\n", *key, json_number_value(json_object_get(f.out, *key)));
    return figures_end(&f, false);
}
