#include "parties/exchange/failures.h"

#include "parties/study/study_setting.h"

#include <stdio.h>
#include <string.h>

bool failures_say_more(enum err e, enum err than)
{
    const bool silent = e == ERR_PEER || e == ERR_TIMEOUT;
    return e == ERR_CHEAT || than == ERR_OK || than == ERR_PEER ||
           (than == ERR_TIMEOUT && e != ERR_PEER) || (than == ERR_MISUSE && !silent);
}

/* Once a server has refused, others that are silent or time out add no information. */
static bool is_consequence(enum err e, enum err of)
{
    return (e == ERR_TIMEOUT || e == ERR_PEER) && !failures_say_more(ERR_TIMEOUT, of);
}

/* One message for all servers that failed alike. */
static void tell_failure(const struct study *study, unsigned i, const enum err failed[],
                         const struct reply reply[], struct log *log)
{
    char names[STUDY_SERVERS_MOST * (STUDY_NAME_SIZE + 24)] = "";
    unsigned count = 0;
    for (unsigned k = 0; k < study->servers; k++) {
        size_t n = strlen(names);
        if (failed[k] != failed[i] || strcmp(reply[k].text, reply[i].text) != 0)
            continue;
        if (k < i)
            return; /* logged with that one */
        snprintf(names + n, sizeof names - n, "%sserver %u (%s)", count++ > 0 ? ", " : "", k,
                 study->server[k].name);
    }
    if (count == study->servers)
        snprintf(names, sizeof names, "%s servers", study_setting(study)->all);
    log_error(log, "%s: %s%s%s", names, error_text(failed[i]),
              reply[i].text[0] == '\0' ? ""
              : count > 1              ? "\n  they say: "
                                       : "\n  it says: ",
              reply[i].text);
}

enum err failures_tell(const struct study *study, unsigned missing, const enum err failed[],
                       const struct reply reply[], enum err worst, struct log *log)
{
    for (unsigned i = 0; i < study->servers; i++)
        if (failed[i] != ERR_OK && !is_consequence(failed[i], worst))
            tell_failure(study, i, failed, reply, log);
    if (worst != ERR_OK) /* the others had only a moment: they may be up and still working */
        return worst;
    for (unsigned i = 0; i < study->servers; i++)
        if (missing >> i & 1)
            log_error(log, "server %u (%s) did not answer; check that it is running", i,
                      study->server[i].name);
    return missing == 0 ? ERR_OK : ERR_TIMEOUT;
}
