#include "parties/command/methods.h"

#include "parties/analyst/central.h"
#include "parties/analyst/release.h"
#include "parties/display/assess_words.h"
#include "parties/display/report.h"

void methods_clear(struct methods_made *made)
{
    aim_result_free(&made->model);
    copula_result_free(&made->copula);
    train_result_free(&made->trained);
    replies_free(&made->replies);
}

static enum err run_aim(struct methods_made *made, const struct methods_run *r)
{
    const struct aim_backend backend = remote_backend(r->remote);
    struct aim_options options;
    TRY(release_loop_options(r->study, r->bounds, &options, r->log));
    options.progress = progress_round;
    options.self = r->progress;
    options.wish = r->wish;
    options.state_file = r->state->loop_path;
    options.resume = true;
    options.stop_when_spent = true;
    TRY(aim_run(&made->model, &options, &backend, r->log));
    progress_assess(r->progress, made->model);
    return ERR_OK;
}

static enum err central_aim(struct methods_made *made, const struct study *study,
                            const struct table *table, const struct plaintext_noise *noise,
                            struct progress *progress, struct log *log)
{
    struct bytes words CLEAN(bytes_clear) = {0};
    TRY(central_run(&made->model, study, table, noise, progress_round, progress, log));
    if (made->model->assess == NULL)
        return ERR_OK;
    progress_assess(progress, made->model);
    assess_words(made->model->assess, &words);
    bytes_put_u8(&words, 0);
    TRY(bytes_ok(&words));
    progress_paragraphs(stdout, (const char *)words.data);
    return ERR_OK;
}

/* The others keep no state of their own, but what was answered. */
static enum err keep_replies(struct methods_made *made, const struct methods_run *r)
{
    TRY(replies_open(&made->replies, r->state->loop_path, r->study, r->state->run, r->log));
    r->remote->replies = made->replies;
    return ERR_OK;
}

static enum err run_copula(struct methods_made *made, const struct methods_run *r)
{
    const struct aim_backend backend = remote_backend(r->remote);
    struct copula_options options;
    TRY(release_copula_options(r->study, r->bounds, &options, r->log));
    TRY(keep_replies(made, r));
    TRY(copula_run(&made->copula, &options, &backend, r->log));
    progress_copula(r->progress, made->copula);
    return ERR_OK;
}

static enum err copula_of(struct methods_made *made, const struct study *study,
                          const struct table *table, const struct plaintext_noise *noise,
                          struct progress *progress, struct log *log)
{
    TRY(central_copula(&made->copula, study, table, noise, log));
    progress_copula(progress, made->copula);
    progress_say(progress, "budget: rho %.4g of %.4g is spent", made->copula->round[1].spent,
                 progress->rho);
    return ERR_OK;
}

static enum err run_train(struct methods_made *made, const struct methods_run *r)
{
    const struct aim_backend backend = remote_backend(r->remote);
    struct train_options options;
    TRY(release_train_options(r->study, r->bounds, &options, r->log));
    options.progress = progress_step;
    options.self = r->progress;
    TRY(keep_replies(made, r));
    return train_run(&made->trained, &options, &backend, r->log);
}

static enum err train_of(struct methods_made *made, const struct study *study,
                         const struct table *table, const struct plaintext_noise *noise,
                         struct progress *progress, struct log *log)
{
    return central_train(&made->trained, study, table, noise, progress_step, progress, log);
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
    [STUDY_AIM] =
        {.run = run_aim, .central = central_aim, .plan = plan_aim, .errors = true, .rows = true},
    [STUDY_COPULA] = {.run = run_copula, .central = copula_of, .plan = plan_copula, .rows = true},
    [STUDY_TRAIN] = {.run = run_train, .central = train_of, .plan = plan_train},
};
_Static_assert(sizeof methods / sizeof *methods == STUDY_METHODS, "each method can be run");

const struct methods *methods_of(const struct study *study)
{
    return &methods[study->method];
}
