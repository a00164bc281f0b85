#include "parties/exchange/message.h"

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
