/* What a classifier's run publishes. */
#include "aim/run/trajectory.h"
#include "base/file.h"
#include "parties/analyst/release.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"

enum err release_train_options(const struct study *study, const struct bounds *bounds,
                               struct train_options *options, struct log *log)
{
    struct price_steps s;
    TRY(price_steps(study, &s, log));
    *options = (struct train_options){
        .features = study->features,
        .workload = study->workload,
        .bounds = bounds->counts,
        .slack = price_slack(study),
        .steps = s.steps,
        .rate = study->train_rate,
    };
    TRY(price_limits(study, &options->limits, log));
    return price_look(study, &options->limits, &options->look, log);
}

enum err release_classifier(struct classifier **c, const struct study *study,
                            const struct train_result *r, double rho)
{
    TRY(classifier_new(c, study->features, r->weight));
    if (r->test.value != NULL)
        TRY(tested_new(&(*c)->tested, study->features, r->test.multiplier, r->test.value));
    (*c)->epsilon = study->epsilon;
    (*c)->delta = study->delta;
    (*c)->rho = rho;
    (*c)->rows_per_person = study->rows_per_person;
    (*c)->sigma = measure_sigma(r->step[r->steps - 1].multiplier, NOISE_BY_ALL);
    return ERR_OK;
}

enum err release_train(const char *folder, const struct classifier *c, const struct train_result *r,
                       struct log *log)
{
    char path[FILE_PATH];
    TRY(file_path(path, log, "%s/classifier.json", folder));
    TRY(classifier_save(path, c, log));
    TRY(file_path(path, log, "%s/trajectory.json", folder));
    return trajectory_save(path, r, c->features, log);
}
