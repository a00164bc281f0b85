/* parties/owner/self.h - which owner has a key: one that is listed, or whom a token makes one. */
#ifndef TREFOIL_PARTIES_OWNER_SELF_H
#define TREFOIL_PARTIES_OWNER_SELF_H

#include "parties/study/token.h"

struct self {
    struct phrase name;
    size_t owner;  /* study.h numbers them; of an analyst, who may only ask, any */
    bool admitted; /* by this: */
    struct token token;
};

/*
 * `path`: a file with the token of this key, or NULL. `asks`: analysts may, too. ERR_AUTH, logged,
 * if the key has no such part in the study.
 */
enum err self_find(struct self *self, const struct study *study, const struct public_identity *me,
                   const char *path, bool asks, struct log *log) MUST_CHECK;

#endif
