/* aim/digest.h - the BLAKE2b-256 at the end of a file: it shows whether the file is whole. */
#ifndef TREFOIL_AIM_DIGEST_H
#define TREFOIL_AIM_DIGEST_H

#include "base/bytes.h"

#define DIGEST_SIZE 32

/* Appends the digest of all that is there. */
void digest_append(struct bytes *out);
/* Takes it off the end of what is left to read; ERR_FORMAT if it does not fit the rest. */
enum err digest_check(struct reader *r) MUST_CHECK;

#endif
