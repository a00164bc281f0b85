/*
 * parties/store/store_sorted.h - whether an upload is sorted by person, once that was opened, and
 * how often its opening was tried (parties/settings/three/round_sorted.h). An upload is named by
 * its digest (upload_digest()), which fixes what is in it. What is known of it goes when its owner
 * replaces or withdraws it.
 */
#ifndef TREFOIL_PARTIES_STORE_STORE_SORTED_H
#define TREFOIL_PARTIES_STORE_STORE_SORTED_H

#include "parties/store/store.h"

#define SORTED_ATTEMPTS 8

struct store_sorted {
    bool known, sorted;
    uint64_t attempts;
};

/* All zero if nothing is known of it. */
enum err store_sorted(struct store *store, const uint8_t digest[32],
                      struct store_sorted *found) MUST_CHECK;
/* Counts an attempt to open it. */
enum err store_try_sorted(struct store *store, const uint8_t digest[32]) MUST_CHECK;
enum err store_put_sorted(struct store *store, const uint8_t digest[32], bool sorted) MUST_CHECK;

#endif
