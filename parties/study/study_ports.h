/* parties/study/study_ports.h - which ports a server has, and where others reach them. */
#pragma once

#include "parties/study/study.h"

#define STUDY_ENDPOINT_SIZE 280 /* "tcp://" host ":" port, with the NUL */

/* What listens at the endpoint's port + the number. PREV and NEXT say who dials in. */
enum study_port {
    STUDY_GATE = 0,         /* owners, analysts, neighbours: CURVE */
    STUDY_CONTROL_PREV = 1, /* server i-1's control link: CURVE */
    STUDY_CONTROL_NEXT = 2, /* server i+1's */
    STUDY_BULK_PREV = 3,    /* server i-1's bulk link: bare, sealed by netio/net.h */
    STUDY_BULK_NEXT = 4,
    STUDY_PORTS = 5 /* and two more for each lane beyond the first, if there are several */
};

/* Lanes compute side by side. This is the bulk port of lane k, for one of the two links. */
#define STUDY_LANES_MAX 16
static inline unsigned study_bulk(enum study_port port, unsigned lane)
{
    return (unsigned)port + 2 * lane;
}

/*
 * Where others reach a server's port: "tcp://host:port". A server dials the next one at
 * STUDY_CONTROL_PREV, and the previous one at STUDY_CONTROL_NEXT.
 */
void study_endpoint(const struct study *study, size_t server, unsigned port,
                    char text[STUDY_ENDPOINT_SIZE]);
/* Whether this is the host of the server's endpoint, or of one of its ranks, as it is written. */
bool study_has_host(const struct study *study, size_t server, const char *host);
/*
 * Where the server itself listens, which differs if a router forwards ports: from port `first` on,
 * or its endpoint's if 0; on `host`, or on all addresses if NULL.
 */
void study_listen(const struct study *study, size_t server, unsigned port, const char *host,
                  uint16_t first, char text[STUDY_ENDPOINT_SIZE]);
/*
 * The most lanes of a server that listens from `first` on: its ports end before those of the next
 * server on the same host.
 */
unsigned study_lanes_most(const struct study *study, uint16_t first);
