/* parties/owner/self.h - which owner has a key: a listed one, or one by a token. */
#pragma once

#include "parties/study/token.h"

struct self {
    struct words_text name;
    size_t owner;  /* as study.h numbers them; any, for an analyst, who may only ask */
    bool admitted; /* by this token: */
    struct token token;
};

/*
 * `path`: a file with the token of this key, or NULL. `asks`: the key may also be an analyst's.
 * ERR_AUTH, logged, if the key has no such part in the study.
 */
enum err self_find(struct self *self, const struct study *study, const struct public_identity *me,
                   const char *path, bool asks, struct log *log) MUST_CHECK;
