#include "parties/command/methods.h"

#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/display/assess_words.h"
#include "parties/display/report.h"
#include "parties/exchange/bounds.h"

void methods_clear(struct methods_made *made)
{
    aim_result_free(&made->model);
    copula_result_free(&made->copula);
    train_result_free(&made->trained);
    replies_free(&made->replies);
}

static enum err run_aim(struct methods_made *made, const struct methods_run *r)
{
    struct aim_options options;
    TRY(release_loop_options(r->study, r->bounds, &options, r->log));
    options.progress = r->progress != NULL ? progress_round : NULL;
    options.self = r->progress;
    options.wish = r->wish;
    if (r->remote != NULL) {
        options.state_file = r->remote->state->loop_path;
        options.resume = true;
        options.stop_when_spent = true;
    } else {
        options.noise_by = NOISE_BY_ALL; /* who has the rows adds it once */
    }
    TRY(aim_run(&made->model, &options, &r->backend, r->log));
    if (r->progress != NULL)
        progress_assess(r->progress, made->model);
    return ERR_OK;
}

/* The others keep no state of their own, but what servers answered. */
static enum err keep_replies(struct methods_made *made, const struct methods_run *r)
{
    if (r->remote == NULL)
        return ERR_OK;
    TRY(replies_open(&made->replies, r->remote->state->loop_path, r->study, r->remote->state->run,
                     r->log));
    r->remote->replies = made->replies;
    return ERR_OK;
}

static enum err run_copula(struct methods_made *made, const struct methods_run *r)
{
    struct copula_options options;
    TRY(release_copula_options(r->study, r->bounds, &options, r->log));
    if (r->remote == NULL)
        options.noise_by = NOISE_BY_ALL;
    TRY(keep_replies(made, r));
    TRY(copula_run(&made->copula, &options, &r->backend, r->log));
    if (r->progress != NULL)
        progress_copula(r->progress, made->copula);
    return ERR_OK;
}

static enum err run_train(struct methods_made *made, const struct methods_run *r)
{
    struct train_options options;
    TRY(release_train_options(r->study, r->bounds, &options, r->log));
    options.progress = r->progress != NULL ? progress_step : NULL;
    options.self = r->progress;
    TRY(keep_replies(made, r));
    return train_run(&made->trained, &options, &r->backend, r->log);
}

/* What servers tell an analyst in other ways. */
static enum err say_central(const struct methods_made *made, struct progress *progress)
{
    struct bytes words CLEAN(bytes_clear) = {0};
    if (made->copula != NULL)
        progress_say(progress, "budget: rho %.4g of %.4g is spent", made->copula->round[1].spent,
                     progress->rho);
    if (made->model == NULL || made->model->assess == NULL)
        return ERR_OK;
    assess_words(made->model->assess, &words);
    bytes_put_u8(&words, 0);
    TRY(bytes_ok(&words));
    progress_paragraphs(stdout, (const char *)words.data);
    return ERR_OK;
}

enum err methods_central(struct methods_made *made, const struct study *study,
                         const struct table *table, const struct plaintext_noise *noise,
                         struct progress *progress, struct log *log)
{
    struct methods_run r = {.study = study, .progress = progress, .log = log};
    struct bounds *bounds CLEAN(bounds_free) = NULL;
    struct plaintext *plaintext CLEAN(plaintext_free) = NULL;
    struct slope *rows CLEAN(slope_free) = NULL;
    struct random fresh CLEAN(random_wipe);
    const struct plaintext_noise own = central_noise(&fresh);
    random_fresh(&fresh);
    TRY(bounds_new(&bounds, study, log));
    TRY(plaintext_new(&plaintext, study->workload, table, noise != NULL ? noise : &own, log));
    if (study->features != NULL) {
        TRY(slope_new(&rows, study->features, table));
        plaintext_train(plaintext, rows);
    }
    r.bounds = bounds;
    r.backend = plaintext_backend(plaintext);
    TRY(methods_of(study)->run(made, &r));
    if (rows != NULL && slope_wrapped(rows) > 0)
        log_warn(log, "weights grew so large that scores wrapped; set a lower rate");
    return progress != NULL ? say_central(made, progress) : ERR_OK;
}

void methods_stats(const struct methods_made *made, struct run_stats *stats)
{
    if (made->model != NULL)
        run_stats_aim(stats, made->model);
    else if (made->copula != NULL)
        run_stats_copula(stats, made->copula);
    else
        run_stats_train(stats, made->trained);
}

enum err methods_release(const struct methods_made *made, const struct release_terms *t)
{
    struct classifier *c CLEAN(classifier_free) = NULL;
    if (made->model != NULL)
        return release_write(t, made->model);
    if (made->copula != NULL)
        return release_copula(t, made->copula);
    TRY(release_classifier(&c, t->study, made->trained, t->rho));
    TRY(release_train(t->folder, c, made->trained, t->log));
    return report_train(t->folder, t->study, made->trained, c, t->log);
}

static const struct methods methods[] = {
    [STUDY_AIM] = {.run = run_aim, .plan = plan_aim, .errors = true, .rows = true},
    [STUDY_COPULA] = {.run = run_copula, .plan = plan_copula, .rows = true},
    [STUDY_TRAIN] = {.run = run_train, .plan = plan_train},
};
_Static_assert(sizeof methods / sizeof *methods == STUDY_METHODS, "each method can be run");

const struct methods *methods_of(const struct study *study)
{
    return &methods[study->method];
}
