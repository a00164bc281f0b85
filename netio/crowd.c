#include "netio/crowd.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct crowd_name crowd_of_key(uint32_t user)
{
    struct crowd_name n; /* no host has a multicast address */
    memset(&n, 0xff, sizeof n);
    memcpy(n.bytes + 12, &user, sizeof user);
    return n;
}

struct crowd_name crowd_of_host(const struct sockaddr_storage *a)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)a;
    struct crowd_name n = {{0}};
    if (a->ss_family == AF_INET) {
        n.bytes[10] = n.bytes[11] = 0xff;
        memcpy(n.bytes + 12, &four->sin_addr, 4);
    } else /* a subscriber has 64 bits of IPv6 */
        memcpy(n.bytes, &six->sin6_addr, IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? 16 : 8);
    return n;
}

bool crowd_same(const struct crowd_name *a, const struct crowd_name *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static int compare(const void *a, const void *b)
{
    return memcmp(&((const struct crowd_pile *)a)->name, &((const struct crowd_pile *)b)->name,
                  sizeof(struct crowd_name));
}

struct crowd_pile crowd_heaviest(struct crowd_pile *pile, size_t count)
{
    struct crowd_pile best = {.weight = 0}, sum = {.weight = 0};
    qsort(pile, count, sizeof *pile, compare);
    for (size_t i = 0; i < count; i++) {
        if (!crowd_same(&pile[i].name, &sum.name))
            sum = (struct crowd_pile){.name = pile[i].name};
        sum.weight += pile[i].weight;
        if (sum.weight > best.weight)
            best = sum;
    }
    return best;
}
