#include "parties/study/study_ports.h"

#include <string.h>

void study_listen(const struct study *study, size_t server, unsigned port, const char *host,
                  uint16_t first, char text[STUDY_ENDPOINT_SIZE])
{
    unsigned base = first != 0 ? first : study->server[server].port;
    snprintf(text, STUDY_ENDPOINT_SIZE, "tcp://%.253s:%u", host != NULL ? host : "0.0.0.0",
             base + port);
}

void study_endpoint(const struct study *study, size_t server, unsigned port,
                    char text[STUDY_ENDPOINT_SIZE])
{
    study_listen(study, server, port, study->server[server].host, 0, text);
}

bool study_has_host(const struct study *study, size_t server, const char *host)
{
    const struct study_server *s = &study->server[server];
    bool has = strcmp(s->host, host) == 0;
    for (size_t k = 0; k < s->ranks; k++)
        has = has || strcmp(s->rank[k], host) == 0;
    return has;
}

/* How many lanes have their ports from `base` on and before `end`. */
static unsigned room(unsigned base, unsigned end)
{
    const unsigned all = study_bulk(STUDY_BULK_PREV, STUDY_LANES_MAX);
    return end - base < all ? (end - base - STUDY_BULK_PREV) / 2 : STUDY_LANES_MAX;
}

unsigned study_lanes_most(const struct study *study, uint16_t first)
{
    const struct study_server *s = study->server;
    unsigned most = first != 0 ? room(first, 65536) : STUDY_LANES_MAX;
    for (size_t i = 0; i < study->servers; i++) {
        unsigned end = 65536, lanes;
        for (size_t k = 0; k < study->servers; k++)
            if (strcmp(s[i].host, s[k].host) == 0 && s[k].port > s[i].port && s[k].port < end)
                end = s[k].port;
        lanes = room(s[i].port, end);
        most = lanes < most ? lanes : most;
    }
    return most;
}
