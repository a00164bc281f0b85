/*
 * parties/settings/two/rows.h - how encrypted rows become shares of their counts, once for each
 * upload (mpc/lattice/lattice.h).
 *
 *   each -> other   by upload of encrypted rows that the session adds: the session in which this
 *                   server counted it, or zeros; 32 bytes each, 1 exchange for all
 *   P -> K          for each that they did not count in one session: results, hidden afresh;
 *                   651,264 bytes each, 1 exchange for an upload
 *   K -> P          whether the owner's key opens them: 1 byte, 1 exchange
 *
 * Both keep their shares on disk, with that session: only shares of one session add up. So nothing
 * is counted again unless a server lost what it had, in a crash before both had it or with its
 * disk. The provider notes each attempt before it begins, and makes at most PRICE_COUNTINGS for an
 * owner, whatever it replaces or withdraws: that many are paid for (parties/exchange/price.h). An
 * upload that its key does not open is not counted in any session: that is kept in the same way.
 *
 * LEAKS: which uploads the other has counted; to the keeper, the number of results, which is
 * public; whether each key opens them, as it does if the owner ran trefoil share.
 */
#ifndef TREFOIL_PARTIES_SETTINGS_TWO_ROWS_H
#define TREFOIL_PARTIES_SETTINGS_TWO_ROWS_H

#include "mpc/lattice/lattice.h"
#include "netio/net.h"
#include "parties/setting/upload.h"

struct store;

#define TWO_ROWS_SESSION 32

struct two_rows {
    const struct study *study; /* borrowed, as are the next */
    struct net *net;
    struct store *store;
    struct log *log;
    uint8_t session[TWO_ROWS_SESSION];
    struct lattice_ring *ring; /* NULL until it is needed */
};

void two_rows_free(struct two_rows *rows);

/*
 * kept[k]: both have counted uploads[k], in one session. Only of encrypted rows that are not
 * `counted`, by owner; without any, nothing is sent. The caller frees it.
 */
enum err two_rows_meet(const struct two_rows *rows, const struct upload *uploads, size_t count,
                       const bool *counted, bool **kept) MUST_CHECK;
/*
 * This server's share of the counts of one of those, in the cells of the maximal marginals, if its
 * key `opens` it. ERR_DATA, logged with the owner's name, if the provider holds no ciphertexts.
 */
enum err two_rows_share(struct two_rows *rows, const struct upload *upload, bool kept,
                        uint64_t *word, bool *opens) MUST_CHECK;

#endif
