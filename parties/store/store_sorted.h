/*
 * parties/store/store_sorted.h - whether an upload is sorted by person, once that was opened, and
 * how often its opening was tried (parties/settings/three/round_sorted.h). Or, of encrypted rows,
 * this server's share of their counts (parties/settings/two/rows.h). An upload is named by its
 * digest (upload_digest()), which fixes what is in it. What is known of it goes when its owner
 * replaces or withdraws it, and with a purge. How often rows of an owner were counted is named
 * after the owner, and goes with a purge alone.
 */
#pragma once

#include "parties/store/store.h"

#define SORTED_ATTEMPTS 8

struct store_sorted {
    bool known, sorted;
    uint64_t attempts;
};

/* All zero if nothing is known of it. */
enum err store_sorted(struct store *store, const uint8_t digest[32],
                      struct store_sorted *found) MUST_CHECK;
/* Counts an attempt to open or count it. */
enum err store_try_sorted(struct store *store, const uint8_t digest[32]) MUST_CHECK;
enum err store_put_sorted(struct store *store, const uint8_t digest[32], bool sorted) MUST_CHECK;

/* What was counted of it, sealed on disk; nothing is appended if nothing was. */
enum err store_counted(struct store *store, const uint8_t digest[32],
                       struct bytes *counted) MUST_CHECK;
/* After an attempt: replaces that. */
enum err store_put_counted(struct store *store, const uint8_t digest[32],
                           const struct bytes *counted) MUST_CHECK;
