/* aim/digest.h - the BLAKE2b-256 at the end of a file, by which one that was cut or altered is told. */
#ifndef TREFOIL_AIM_DIGEST_H
#define TREFOIL_AIM_DIGEST_H

#include "base/bytes.h"

#define DIGEST_SIZE 32

/* That of all that stands there, behind it. */
void digest_append(struct bytes *out);
/* Takes it off the end of what is left to read. ERR_FORMAT if it does not fit. */
enum err digest_check(struct reader *r) MUST_CHECK;

#endif
