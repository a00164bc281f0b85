/* Which columns say whose a row is, and whether servers enforce rows_per_person. */
#include "parties/study/study_parse.h"

#include <string.h>

static bool known(const struct study_person *p, const char *name)
{
    for (size_t k = 0; k < p->columns; k++)
        if (strcmp(p->column[k], name) == 0)
            return true;
    return false;
}

static enum err read_columns(struct study_reading *r, const yaml_node_t *node)
{
    struct study_person *p = &r->study->person;
    size_t count;
    TRY(yaml_list(r->file, node, "columns", 1, PERSON_COLUMNS_MAX, &count));
    for (size_t k = 0; k < count; k++) {
        const yaml_node_t *item = yaml_item(r->file, node, k);
        const char *name;
        size_t n;
        TRY(yaml_text(r->file, item, "a column", &name));
        n = strlen(name);
        if (n == 0 || n >= STUDY_COLUMN_SIZE || strchr(name, ',') != NULL || name[0] == ' ' ||
            name[n - 1] == ' ')
            return yaml_error(r->file, item,
                              "a column that says whose a row is has a name of 1 to %d bytes, "
                              "without commas and without spaces around it",
                              STUDY_COLUMN_SIZE - 1);
        if (known(p, name))
            return yaml_error(r->file, item, "%s comes twice; name each column once", name);
        memcpy(p->column[p->columns++], name, n + 1);
    }
    return ERR_OK;
}

static enum err read_normalise(struct study_reading *r, const yaml_node_t *node)
{
    static const char *const words[] = {"nfc", "case", "spaces"};
    struct unicode_form *form = &r->study->person.form;
    bool *const part[] = {&form->composed, &form->caseless, &form->spaceless};
    size_t count;
    TRY(yaml_list(r->file, node, "normalise", 0, 3, &count));
    for (size_t k = 0; k < count; k++) {
        const yaml_node_t *item = yaml_item(r->file, node, k);
        size_t word = 0;
        TRY(yaml_choice(r->file, item, "normalise", COUNTED(words), &word));
        if (*part[word])
            return yaml_error(r->file, item, "%s comes twice; write it once", words[word]);
        *part[word] = true;
    }
    return ERR_OK;
}

enum err study_read_person(struct study_reading *r, const yaml_node_t *enforce)
{
    const yaml_node_t *person = r->at.person;
    const yaml_node_t *columns, *normalise;
    const struct yaml_key keys[] = {{"columns", true, &columns}, {"normalise", false, &normalise}};
    TRY(study_read_flag(r, enforce, "enforce_person", &r->study->enforce_person));
    if (person == NULL && r->study->enforce_person)
        return yaml_error(r->file, enforce,
                          "servers can bound a person's rows only where the study says whose a row "
                          "is; add person: {columns: [..]}");
    if (person == NULL && r->study->link.on)
        return yaml_error(r->file, r->at.link,
                          "owners are linked by whose their rows are, and the study does not say "
                          "it; add person: {columns: [..]}");
    if (person == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, person, "person", COUNTED(keys)));
    TRY(read_columns(r, columns));
    TRY(read_normalise(r, normalise));
    if (!r->study->enforce_person && !r->study->link.on)
        return yaml_error(r->file, person,
                          "nothing in the study needs to know whose a row is: add link for the "
                          "owners of a batch, or enforce_person: true to the budget; or leave this "
                          "out");
    return ERR_OK;
}

/* Takes the first name off a list. */
static const char *next_name(char **names)
{
    char *name = *names, *comma = strchr(name, ',');
    size_t n = comma != NULL ? (size_t)(comma - name) : strlen(name);
    *names = comma != NULL ? comma + 1 : name + n;
    name[n] = '\0';
    while (n > 0 && name[n - 1] == ' ')
        name[--n] = '\0';
    return name + strspn(name, " ");
}

enum err study_person_rule(const struct study *study, char *names, struct person_rule *rule,
                           struct log *log)
{
    const struct study_person *p = &study->person;
    size_t given = 1;
    *rule = (struct person_rule){.columns = p->columns, .form = p->form};
    memcpy(rule->secret, study->terms.digest, sizeof rule->secret);
    for (const char *c = names; c != NULL && *c != '\0'; c++)
        given += *c == ',';
    if (names != NULL && given != p->columns)
        return log_fail(log, ERR_USAGE,
                        "--person names %zu %s, and the study says whose a row is by %zu: name as "
                        "many columns of your own, in the study's order, with commas between them",
                        given, given == 1 ? "column" : "columns", p->columns);
    for (size_t k = 0; k < p->columns; k++) {
        rule->column[k] = names != NULL ? next_name(&names) : p->column[k];
        for (size_t i = 0; i < k; i++)
            if (strcmp(rule->column[i], rule->column[k]) == 0)
                return log_fail(log, ERR_USAGE, "--person names %s twice; name each column once",
                                rule->column[k]);
    }
    return ERR_OK;
}
