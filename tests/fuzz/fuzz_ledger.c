/* A stored privacy ledger, one line of fractions: what is accepted is written back as it was. */
#include "aim/budget/ledger.h"
#include "base/memory.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text CLEAN(memory_release) = memory_array(size + 1, 1);
    char *back CLEAN(memory_release) = NULL;
    struct ledger *l CLEAN(ledger_free) = NULL;
    never(text == NULL);
    if (size > 0)
        memcpy(text, data, size);
    never(ledger_parse(&l, text, NULL) == ERR_OK &&
          (ledger_text(l, &back) != ERR_OK || strcmp(text, back) != 0 || ledger_remaining(l) < 0));
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    const struct ledger_limits limits = {.rho = 0.03, .epsilon_slack = 1e-4, .delta_slack = 1e-9};
    struct ledger *l CLEAN(ledger_free) = NULL;
    char *text;
    mpq_t cost;
    never(ledger_new(&l, &limits, NULL) != ERR_OK);
    mpq_init(cost);
    ledger_measure_cost(cost, 4096, 2);
    for (int i = 0; i < 2; i++) {
        never(ledger_text(l, &text) != ERR_OK);
        put(self, text, strlen(text));
        memory_free(&text);
        never(ledger_debit(l, cost, NULL) != ERR_OK ||
              ledger_slack(l, 1e-6, 1e-12, NULL) != ERR_OK);
    }
    mpq_clear(cost);
}
