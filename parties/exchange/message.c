#include "parties/exchange/message.h"

enum {
    FROM_SERVERS = 1 << ROLE_SERVER,
    FROM_OWNERS = 1 << ROLE_OWNER,
    FROM_ANALYSTS = 1 << ROLE_ANALYST,
    FROM_ALL = FROM_SERVERS | FROM_OWNERS | FROM_ANALYSTS,
    ANYWHERE = 0
};

static const struct {
    uint8_t from, way; /* the latter: which the server has to take */
} rules[MESSAGE_KINDS] = {
    [MESSAGE_UPLOAD] = {FROM_OWNERS, ANYWHERE},
    [MESSAGE_FORWARD] = {FROM_SERVERS, MESSAGE_PASSED},
    [MESSAGE_STATUS] = {FROM_ALL, ANYWHERE},
    [MESSAGE_REQUEST] = {FROM_ANALYSTS, ANYWHERE},
    [MESSAGE_REPLACE] = {FROM_OWNERS, ANYWHERE},
    [MESSAGE_PART] = {FROM_OWNERS, MESSAGE_GIVEN},
    [MESSAGE_WITHDRAW] = {FROM_OWNERS, ANYWHERE},
    [MESSAGE_LEDGER] = {FROM_SERVERS, ANYWHERE},
    [MESSAGE_ALIVE] = {FROM_ANALYSTS, ANYWHERE},
    [MESSAGE_HEAD] = {FROM_ALL, ANYWHERE},
    [MESSAGE_PIECE] = {FROM_ANALYSTS, ANYWHERE},
};

bool message_allowed(uint8_t kind, enum study_role role, unsigned ways)
{
    return kind < MESSAGE_KINDS && (rules[kind].from >> role & 1) != 0 &&
           (rules[kind].way & ~ways) == 0;
}
