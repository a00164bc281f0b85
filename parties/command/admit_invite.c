/* Invitations, for whoever has their links (parties/command/admit.h). */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/command/admit.h"
#include "parties/command/command.h"

#include <sodium.h>
#include <string.h>

#define PAGE_MOST 200

/* An address goes before a '#' in one line of mail: nothing in it may end it, or be markup. */
static bool is_address(const char *text)
{
    static const char more[] = "-._~:/?@!$&()*+,;=%[]";
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!(text[i] >= '0' && text[i] <= '9') &&
            !((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') && strchr(more, text[i]) == NULL)
            return false;
    return n <= PAGE_MOST &&
           (strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0);
}

enum err admit_check_invites(struct admit *a)
{
    if ((a->invites > 0) != (a->until != NULL) || (a->invites > 0) != (a->links != NULL) ||
        (a->invites == 0 && a->page != NULL))
        return log_fail(a->log, ERR_USAGE,
                        "invitations need --invite N, --until DATE and --links FILE, and may have "
                        "--page; leave out all or none");
    if (a->until != NULL)
        TRY(command_until(a->until, &a->last_day, a->log));
    if (a->page != NULL && !is_address(a->page))
        return log_fail(a->log, ERR_USAGE,
                        "--page is an address such as https://share.example.org/, without '#' and "
                        "of at most %d characters",
                        PAGE_MOST);
    if (a->links != NULL && file_is_there(a->links))
        return log_fail(a->log, ERR_USAGE,
                        "%s is there already, and may have links that nobody can make again; name "
                        "a new file",
                        a->links);
    return ERR_OK;
}

static void put_link(const struct admit *a, const struct invite *i, const uint8_t *seed,
                     struct bytes *links)
{
    char text[INVITE_TEXT_SIZE];
    invite_link(i, seed, text);
    text_put(links, "%s%s%s\n", a->page != NULL ? a->page : "", a->page != NULL ? "#" : "", text);
    sodium_memzero(text, sizeof text);
}

enum err admit_make_invites(struct admit *a, uint32_t next, struct bytes *links)
{
    uint8_t seed[INVITE_SEED_SIZE];
    if ((uint64_t)a->invites + next > a->study->open.most)
        return log_fail(a->log, ERR_RANGE,
                        "the study admits %zu owners that it does not list (open_owners.max), and "
                        "the register has %u; nothing was written",
                        a->study->open.most, next);
    for (int64_t k = 0; k < a->invites; k++) {
        struct admit_entry *entry;
        TRY(memory_room(&a->entry, &a->room, a->count + 1));
        entry = &a->entry[a->count++];
        *entry = (struct admit_entry){.token = {.number = next++, .invited = true}};
        TRY(invite_make(&entry->token.by, seed, a->study, a->issuer, entry->token.number,
                        a->last_day));
        memcpy(entry->token.sign, entry->token.by.key, sizeof entry->token.sign);
        put_link(a, &entry->token.by, seed, links);
    }
    sodium_memzero(seed, sizeof seed);
    return bytes_ok(links);
}
