#include "parties/setting/judge.h"

#include "parties/study/method.h"

enum err judge_kind(const struct study *study, const struct ask *a, struct log *log)
{
    const struct method *method = method_of(study);
    const bool sweeps = study->sweeps > 0;
    if (a->kind == ASK_LOOK && study->link.min_linked == 0)
        return log_fail(log, ERR_REFUSED, "a study without min_linked takes no look");
    if (a->kind == ASK_SCORES && !sweeps && !(study->assess > 0))
        return log_fail(log, ERR_REFUSED,
                        "a study without rounds: sweeps and without assess opens no scores");
    if (a->kind == ASK_SELECT && sweeps)
        return log_fail(log, ERR_REFUSED, "a study with rounds: sweeps has no selections");
    if ((a->kind != ASK_FORMS || method->forms) && (a->kind != ASK_SELECT || method->selects))
        return ERR_OK;
    return log_fail(log, ERR_REFUSED, "a study of method: %s has no %s", method->word,
                    a->kind == ASK_FORMS ? "forms" : "selections");
}

static enum err judge_multiplier(const struct ask *a, uint64_t multiplier, unsigned bits,
                                 struct log *log)
{
    if ((a->queries > 0 || a->kind == ASK_LOOK) && multiplier >= SCORE_MULTIPLIER_MIN &&
        multiplier <= SCORE_MULTIPLIER_MAX && multiplier >> (62 - bits) == 0)
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "a multiplier of %llu over %u marginals is outside what servers permit",
                    (unsigned long long)multiplier, a->queries);
}

enum err judge_multipliers(const struct ask *a, unsigned bits, struct log *log)
{
    if (a->weights != a->queries || a->queries == 0)
        TRY(judge_multiplier(a, a->multiplier, bits, log));
    for (uint32_t k = 0; k < a->queries; k++)
        TRY(judge_multiplier(a, ask_multiplier(a, k), bits, log));
    return ERR_OK;
}

enum err judge_candidates(const struct study *study, const struct ask *a, struct log *log)
{
    const size_t most = study_candidates_most(study);
    if (!ask_estimates(a) || a->queries <= most)
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "the request has %u candidates; with security: %s %zu are allowed", a->queries,
                    study_security_words[study->security], most);
}

enum err judge_merges(const struct study *study, const struct score_bounds *counts,
                      const struct merges *merges, struct score_bounds *merged, struct log *log)
{
    if (!method_of(study)->selects)
        return log_fail(log, ERR_REFUSED, "a study of method: %s merges no values",
                        method_of(study)->word);
    TRY(score_merged(merged, counts, study->workload, merges));
    if (merged->bits <= counts->room)
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "merged cells could count up to 2^%u, and scores of this study have room for "
                    "2^%u; the request merges too many values",
                    merged->bits, counts->room);
}
