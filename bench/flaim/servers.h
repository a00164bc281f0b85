/*
 * bench/flaim/servers.h - DistAIM for real: three `trefoil serve` processes on loopback, a `trefoil
 * share` for each client that takes part, one `trefoil run`; what they sent and how long it took.
 * $TREFOIL names the program.
 *
 * Simplification: clients upload one after the other before the run, though a study may let them
 * join during it (`late_uploads: join`); a client's bytes are the same. Each client's max_rows is
 * its number of rows, which FLAIM also takes as public.
 */
#pragma once

#include "bench/flaim/split.h"

struct servers_terms {
    const struct workload *workload;
    const struct flaim_split *split;
    const bool *here; /* which clients upload */
    double epsilon, delta;
    unsigned rounds;
    unsigned model_mib;
    bool counts; /* clients send counts, not records: more for them, less for servers */
    bool proved; /* servers prove what they compute: `security: abort` */
};

struct servers_figures {
    double uploads;
    /*
     * Bytes of the messages of one client that uploads, mean; as FLAIM's, without the transport's.
     * (CURVE's three handshakes are some 2 kB more: bench_e2e counts them.)
     */
    double sent, received;
    double vector;            /* the part that is the records or counts themselves */
    double records;           /* share of clients that sent records, not counts */
    double server_bytes;      /* between the servers, all three together, as on the wire */
    double noise_bytes;       /* of these, to make noise */
    double exchanges;         /* rounds of communication, all phases */
    double analyst_bytes;     /* sent and received */
    double mpc_s, estimate_s; /* wall time */
    double busiest_s;         /* processor seconds of the busiest server during the run */
    double l1;                /* of the rows that came out, against all training rows */
};

enum err servers_run(const struct servers_terms *terms, struct servers_figures *figures,
                     struct log *log) MUST_CHECK;
