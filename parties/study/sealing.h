/*
 * parties/study/sealing.h - the keys that owners seal to what others carry to a server
 * (parties/exchange/sealed.h). docs/formats.md has their text.
 *
 * The server's identity signs the key with the study's terms, so it is good for one study. Its
 * secret half is in a private key file of its own, whose X25519 key it is.
 * Seals do not have forward secrecy: whoever has copies of them and two servers' sealing keys has
 * the rows. So that file is never in a backup, and `serve --purge` deletes it.
 */
#pragma once

#include "parties/study/study.h"

#define SEALING_TEXT_SIZE 146 /* with the NUL */

/*
 * Makes a key for the study's server whose identity this is: the secret half in a new file, the
 * public one as text. ERR_AUTH, logged, if the identity is no server's.
 */
enum err sealing_new(const struct study *study, const struct identity *server, const char *path,
                     char text[SEALING_TEXT_SIZE], struct log *log) MUST_CHECK;
/* ERR_STUDY, logged, unless it is the secret half of the key that the study lists for the server.
 */
enum err sealing_load(struct identity **secret, const struct study *study, unsigned server,
                      const char *path, struct log *log) MUST_CHECK;
/* Overwrites the file and removes it; none is fine. ERR_SYSTEM, logged. */
enum err sealing_destroy(const char *path, struct log *log) MUST_CHECK;
/* Whether that was cut short between the two, which leaves zeros: they are no key any more. */
bool sealing_is_overwritten(const char *path);

/* ERR_FORMAT for any other text, ERR_MISMATCH for a later version; not logged. */
enum err sealing_parse(struct study_sealing *key, const char *text) MUST_CHECK;
/* ERR_AUTH, not logged, unless the server has signed its key with the study's terms. */
enum err sealing_check(const struct study *study, unsigned server) MUST_CHECK;

/* Whether all servers have one: owners then seal whatever changes what servers hold of them. */
bool study_seals(const struct study *study);
