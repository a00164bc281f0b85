#include "tests/support/pair_ends.h"

#include "base/memory.h"
#include "base/secret.h"

static enum err introduce(struct pair *end[2])
{
    uint8_t id[PAIR_ID_SIZE], hello[PAIR_HELLO_SIZE], choices[PAIR_CHOICES_SIZE];
    TRY(secret_start());
    secret_random(id, sizeof id);
    TRY(pair_new(&end[PAIR_PROVIDER], PAIR_PROVIDER, id));
    TRY(pair_new(&end[PAIR_KEEPER], PAIR_KEEPER, id));
    TRY(pair_hello(end[PAIR_KEEPER], hello));
    TRY(pair_choose(end[PAIR_PROVIDER], hello, choices));
    return pair_chosen(end[PAIR_KEEPER], choices);
}

enum err pair_ends_new(struct pair *end[2])
{
    end[0] = end[1] = NULL;
    return introduce(end);
}

void pair_ends_free(struct pair *(*end)[2])
{
    pair_free(&(*end)[0]);
    pair_free(&(*end)[1]);
}

void pair_runs_free(struct pair_run *(*run)[2])
{
    pair_run_free(&(*run)[0]);
    pair_run_free(&(*run)[1]);
}

typedef enum err (*produce)(void *run, size_t offset, uint8_t *out, size_t n);
typedef enum err (*consume)(void *run, size_t offset, const uint8_t *in, size_t n);

static enum err hand_over(struct pair_run *from, produce make, struct pair_run *to, consume take,
                          size_t size, size_t tile)
{
    uint8_t *bytes CLEAN(memory_release) = NULL;
    TRY(memory_new(&bytes, tile));
    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < tile ? size - at : tile;
        TRY(make(from, at, bytes, n));
        TRY(take(to, at, bytes, n));
    }
    return ERR_OK;
}

enum err pair_ends_matrix(struct pair_run *run[2], size_t tile)
{
    return hand_over(run[PAIR_KEEPER], pair_send_matrix, run[PAIR_PROVIDER], pair_take_matrix,
                     pair_run_matrix(run[PAIR_PROVIDER]), tile);
}

enum err pair_ends_tables(struct pair_run *run[2], size_t tile)
{
    return hand_over(run[PAIR_PROVIDER], pair_send_tables, run[PAIR_KEEPER], pair_take_tables,
                     pair_run_tables(run[PAIR_KEEPER]), tile);
}
