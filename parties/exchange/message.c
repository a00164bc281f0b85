#include "parties/exchange/message.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define REPLY_VERSION 1u

/* --- who may say what, and to whom ------------------------------------------------------------ */

enum {
    FROM_SERVER_1 = 1, /* no role has bit 0 */
    FROM_SERVERS = 1 << ROLE_SERVER,
    FROM_OWNERS = 1 << ROLE_OWNER,
    FROM_ANALYSTS = 1 << ROLE_ANALYST,
    FROM_ALL = FROM_SERVERS | FROM_OWNERS | FROM_ANALYSTS
};
enum { AT_1 = 1 << 1, AT_2 = 1 << 2, AT_ALL = 7 };

static const struct {
    uint8_t from, at;
} rules[MESSAGE_KINDS] = {
    [MESSAGE_UPLOAD] = {FROM_OWNERS, AT_ALL},   [MESSAGE_FORWARD] = {FROM_SERVER_1, AT_2},
    [MESSAGE_STATUS] = {FROM_ALL, AT_ALL},      [MESSAGE_REQUEST] = {FROM_ANALYSTS, AT_ALL},
    [MESSAGE_REPLACE] = {FROM_OWNERS, AT_ALL},  [MESSAGE_PART] = {FROM_OWNERS, AT_1},
    [MESSAGE_WITHDRAW] = {FROM_OWNERS, AT_ALL}, [MESSAGE_LEDGER] = {FROM_SERVERS, AT_ALL},
    [MESSAGE_ALIVE] = {FROM_ANALYSTS, AT_ALL},  [MESSAGE_HEAD] = {FROM_ALL, AT_ALL},
    [MESSAGE_PIECE] = {FROM_ANALYSTS, AT_ALL},
};

bool message_allowed(uint8_t kind, enum study_role role, size_t who, unsigned at)
{
    const unsigned sender = 1u << role | (role == ROLE_SERVER && who == 1 ? FROM_SERVER_1 : 0);
    return kind < MESSAGE_KINDS && (rules[kind].from & sender) != 0 &&
           (rules[kind].at >> at & 1) != 0;
}

/* --- answers ---------------------------------------------------------------------------------- */

enum err reply_write(uint8_t kind, enum err status, const char *text, const void *payload, size_t n,
                     struct bytes *out)
{
    size_t length = strnlen(text, sizeof((struct reply *)0)->text - 1);
    bytes_put_u8(out, REPLY_VERSION);
    bytes_put_u8(out, kind);
    bytes_put_u8(out, (uint8_t)status);
    bytes_put_block(out, text, length);
    bytes_put_block(out, payload, n);
    return bytes_ok(out);
}

enum err reply_read(struct reply *r, const struct bytes *message)
{
    struct reader in = reader_of(message->data, message->size);
    uint8_t version = reader_u8(&in), status;
    *r = (struct reply){0};
    if (!in.failed && version != REPLY_VERSION) {
        snprintf(r->text, sizeof r->text,
                 "its answer is of version %u, and this trefoil (%s) reads version %u; install the "
                 "version that the servers run",
                 version, TREFOIL_VERSION, REPLY_VERSION);
        return ERR_MISMATCH;
    }
    r->kind = reader_u8(&in);
    status = reader_u8(&in);
    reader_string(&in, r->text, sizeof r->text);
    r->payload = reader_block(&in, &r->size);
    if (reader_done(&in) != ERR_OK || status >= ERR_COUNT) {
        r->text[0] = '\0';
        r->size = 0;
        return ERR_FORMAT;
    }
    text_tame(r->text);
    r->status = (enum err)status;
    return ERR_OK;
}
