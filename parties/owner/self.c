#include "parties/owner/self.h"

#include "base/date.h"
#include "parties/study/roster.h"

static enum err find_listed(struct self *self, const struct study *study,
                            const struct public_identity *me, bool asks, struct log *log)
{
    const bool analyst = asks && roster_has(study, ROLE_ANALYST, me);
    struct roster_person p;
    TRY(roster_find(study, me, analyst ? ROLE_ANALYST : ROLE_OWNER, &p, log));
    self->owner = p.index;
    snprintf(self->name.text, sizeof self->name.text, "%s", p.name);
    return ERR_OK;
}

enum err self_find(struct self *self, const struct study *study, const struct public_identity *me,
                   const char *path, bool asks, struct log *log)
{
    enum err e;
    *self = (struct self){.admitted = path != NULL};
    if (path != NULL) {
        if (public_identity_expired(me, date_today()))
            return log_fail(log, ERR_AUTH,
                            "the last day of this key, %s, is over: trefoil keygen --renew",
                            date_day_text(me->last_day).text);
        TRY(token_load(&self->token, study, path, me->sign, log));
        self->owner = study->owners + self->token.number;
        self->name = study_owner_name(study, self->owner);
        return ERR_OK;
    }
    e = find_listed(self, study, me, asks, log);
    if (e == ERR_AUTH && study->open.most > 0)
        log_info(log, "an owner that the study does not list needs its token: --token FILE");
    return e;
}
