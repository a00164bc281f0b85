/*
 * netio/crowd.h - whom connections belong to, and who has the most of something.
 *
 * A name is an address or a key: all connections that share it count as one crowd.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct crowd_name {
    uint8_t bytes[16];
};

struct crowd_pile {
    struct crowd_name name;
    uint64_t weight;
};

struct crowd_name crowd_of_key(uint32_t user);
struct crowd_name crowd_of_host(const struct sockaddr_storage *address);
bool crowd_same(const struct crowd_name *a, const struct crowd_name *b);

/* The name whose weights add up to most, and their sum. Sorts the piles. */
struct crowd_pile crowd_heaviest(struct crowd_pile *pile, size_t count);
