#include "tests/support/parse.h"

struct bytes with_keys(const struct parse_fixture *f, const char *text)
{
    struct bytes b = {0};
    for (; *text != '\0'; text++)
        if (text[0] == '@' && text[1] >= '0' && text[1] <= '9') {
            const char *key = f->key[*++text - '0'];
            bytes_put(&b, key, strlen(key));
        } else
            bytes_put_u8(&b, (uint8_t)*text);
    OK(bytes_ok(&b));
    return b;
}

struct bytes edited(const char *text, const char *find, const char *replace)
{
    struct bytes b = {0};
    const char *at = strstr(text, find);
    assert_non_null(at);
    assert_null(strstr(at + 1, find));
    if (at > text)
        bytes_put(&b, text, (size_t)(at - text));
    if (*replace != '\0')
        bytes_put(&b, replace, strlen(replace));
    bytes_put(&b, at + strlen(find), strlen(at + strlen(find)) + 1);
    OK(bytes_ok(&b));
    return b;
}

enum err parse_text(struct parse_fixture *f, const char *text, struct study **study)
{
    struct bytes b CLEAN(bytes_clear) = with_keys(f, text);
    f->sink[0] = '\0';
    return study_parse(study, "t.yaml", b.data, b.size, &f->log);
}

enum err parse_edit(struct parse_fixture *f, const char *find, const char *replace,
                    struct study **study)
{
    struct bytes b CLEAN(bytes_clear) = edited(base_text, find, replace);
    return parse_text(f, (const char *)b.data, study);
}

int setup(void **state)
{
    struct parse_fixture *f = calloc(1, sizeof *f);
    if (f == NULL || secret_start() != ERR_OK)
        return 1;
    *state = f;
    f->log = (struct log){.buffer = f->sink, .buffer_size = sizeof f->sink, .level = LOG_INFO};
    for (int i = 0; i < KEYS; i++) {
        if (identity_new(&f->identity[i], NULL) != ERR_OK)
            return 1;
        public_identity_text(&f->identity[i]->public, f->key[i]);
    }
    return parse_text(f, base_text, &f->base) == ERR_OK ? 0 : 1;
}

int teardown(void **state)
{
    struct parse_fixture *f = *state;
    study_free(&f->base);
    for (int i = 0; i < KEYS; i++)
        identity_free(&f->identity[i]);
    free(f);
    return 0;
}

bool same_roster(const struct study *a, const struct study *b)
{
    return memcmp(a->roster, b->roster, sizeof a->roster) == 0;
}

void differing(const struct study *a, const struct study *b, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < a->terms.parts; i++)
        if (memcmp(a->terms.part[i].digest, b->terms.part[i].digest, 32) != 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "",
                                     a->terms.part[i].name);
    if (!same_roster(a, b))
        snprintf(text + used, size - used, "%sroster", used > 0 ? " " : "");
}
