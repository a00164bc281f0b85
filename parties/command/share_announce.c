/* What `share` says of an upload before it leaves (parties/command/share.h). */
#include "parties/command/share.h"

#include "aim/table/series.h"
#include "base/words.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"
#include "parties/study/study_uploads.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

/* Says what the guarantee assumes about persons, and how much of it has been checked. */
static void say_persons(const struct share *s)
{
    unsigned most = s->study->rows_per_person;
    const char *rows = most == 1 ? "row" : "rows";
    if (s->study->domain->series != NULL) {
        printf("A person has one unit here, however many events. This assumes that a person is at\n"
               "no more than %u %s, which no owner can check.\n",
               most / series_units(s->study->domain),
               most > series_units(s->study->domain) ? "owners" : "owner");
        return;
    }
    if (study_linked(s->study, s->self.owner)) {
        puts("Rows are sorted by a hash of the person they are about, which is sent too,\n"
             "secret-shared: the servers join them with the rows that the batch's other owners\n"
             "have of the same person, and nobody learns which those are. The number and order\n"
             "of rows may differ; the columns of `person` must be written alike.");
        return;
    }
    if (s->study->enforce_person) {
        printf("Rows are sorted by a hash of the person they are about, which is sent too,\n"
               "secret-shared: the servers count no more than %u %s of a person, at all owners\n"
               "together.\n",
               most, rows);
        return;
    }
    if (s->data.options.rows.person != NULL)
        printf("Nobody has more than %u %s here, by the column %s, which is not sent.\n", most,
               rows, s->data.options.rows.person);
    else
        printf("This assumes that nobody has more than %u %s here; check it with\n"
               "--person COLUMN.\n",
               most, rows);
    puts("A person's rows at other owners count too, which no owner can check.");
}

/* Says which of the batch's rows belong together, if they are joined by position. */
static void say_batch(const struct share *s)
{
    const struct study_owner *owner = study_owner(s->study, s->self.owner);
    if (study_linked(s->study, s->self.owner))
        return;
    puts("Row i belongs to row i of the batch's other owners; a row counts if all of them\n"
         "have it.");
    if (owner->rows > 0)
        printf("Each of them must have %u rows, as this table has.\n", owner->rows);
    else
        printf("Each of them must have %zu rows, as this table has: ask them. The study does\n"
               "not say how many (`rows`), so nothing checks it.\n",
               s->source.rows);
}

/* What a server gets of an owner that makes the noise. */
static struct words_text noise_bytes(const struct share *s, unsigned server)
{
    const struct price_ahead plan = price_ahead(s->study);
    uint64_t bytes = 0;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        bytes += plan.blocks[k] * s->split->noise_bytes(server, plan.samples[k]);
    return words_bytes(bytes);
}

void share_announce(const struct share *s)
{
    const struct study_owner *owner = study_owner(s->study, s->self.owner);
    uint64_t counts = study_counts_bytes(s->study, s->self.owner),
             records = study_form_bytes(s->study, s->self.owner, s->form);
    const char *noun = s->study->domain->series != NULL ? "persons"
                       : s->source.rows == 1            ? "row"
                                                        : "rows";
    char print[65] = "its name is known after the first share";
    if (s->made) {
        uint8_t digest[32];
        upload_digest(&s->parts[0], s->study->terms.digest, digest);
        sodium_bin2hex(print, sizeof print, digest, sizeof digest);
    }
    if (owner->columns < s->study->domain->attributes) {
        printf("%s: %zu %s of %zu columns, padded to %u,\nsent as records: %" PRIu64 " bytes.\n",
               owner->name, s->source.rows, noun, owner->columns, owner->pad_to, records);
        say_batch(s);
    } else if (upload_is_records(s->form)) {
        if (!method_of(s->study)->gradients)
            printf("%s: %zu %s, padded to %u,\nsent as records: %" PRIu64
                   " bytes\n(counts in %" PRIu64 " cells would take %" PRIu64 ").\n",
                   owner->name, s->source.rows, noun, owner->pad_to, records,
                   s->study->workload->maximal_cells, counts);
        else
            printf("%s: %zu %s, padded to %u,\nsent as records: %" PRIu64 " bytes.\n", owner->name,
                   s->source.rows, noun, owner->pad_to, records);
    } else
        printf("%s: %zu %s (at most %u allowed), sent as counts\nin %" PRIu64
               " cells of %u bits: %" PRIu64 " bytes.\n",
               owner->name, s->source.rows, noun, owner->max_rows,
               s->study->workload->maximal_cells, study_counts_form(s->study, s->self.owner),
               counts);
    for (unsigned i = 0; i < s->split->servers; i++)
        printf("  server %u (%s) gets %s%s\n", i, s->study->server[i].name,
               s->split->gets[upload_is_records(s->form)][i],
               i + 1 < s->split->servers ? ";" : ".");
    if (s->study->noise_by == NOISE_BY_OWNER)
        printf("Each also gets shares of fresh noise, which this program makes: %s\n"
               "and %s.\n",
               noise_bytes(s, 0).text, noise_bytes(s, 1).text);
    printf("No server can read any of it; two servers together could. The size depends on\n"
           "what the study says, not on the data.\n"
           "terms: %s\n"
           "upload: %s\n",
           study_fingerprint(s->study).text, print);
    say_persons(s);
}
