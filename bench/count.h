/*
 * bench/count.h - what counting a table's records costs the three servers: processes over sealed
 * links on loopback, random codes, all marginals of the table's workload.
 */
#pragma once

#include "bench/data.h"

struct count_result {
    double cpu_s; /* of all three */
    double bytes; /* that server 0 sends, without headers */
    double rounds;
    double peak_rss_mib; /* of server 0 */
};

/*
 * `owners` batches of `records` each, all columns; with `proved` under a check, its last flush
 * included. False, with a message on stderr, if it fails.
 */
bool count_table(const struct bench_data *data, size_t owners, size_t records, bool proved,
                 struct count_result *result);
