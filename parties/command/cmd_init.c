#include "parties/command/command.h"
#include "parties/study/outline.h"
#include "parties/study/study_text.h"

static const char help[] =
    "usage: trefoil init [FILE] [--columns CODEBOOK.csv | --header DATA.csv |\n"
    "                    --from PUBLIC.csv | --sql CONNECTION --table T\n"
    "                    [--lookup TABLES]] [--provider] [--force]\n"
    "\n"
    "Writes a commented example of a study file to FILE, or to study.yaml. Edit it\n"
    "until trefoil plan is content; neither plan nor check needs keys. Columns may\n"
    "come from what there is already, which the file then says, and check repeats.\n"
    "FILL-IN is left where that does not say enough.\n"
    "\n"
    "  --columns CODEBOOK.csv   a line for each column. Its header has name, and what\n"
    "                    there is of kind (categorical, integer, numeric ..), values\n"
    "                    (a|b|c, 1=male|2=female, a range 0-120, or file:icd10.txt),\n"
    "                    min, max, missing (texts, or the word empty), label, bins\n"
    "                    and step; or a data dictionary of REDCap\n"
    "  --header DATA.csv   the names and their order; nothing else is read\n"
    "  --from PUBLIC.csv   kinds and values of rows that are published or invented,\n"
    "                    never owners': a domain taken from data tells about them\n"
    "  --sql CONNECTION, --table T   the schema of a table, no rows: types, CHECK,\n"
    "                    ENUM\n"
    "  --lookup TABLES   with --sql: tables of public codes, such as wards,units,\n"
    "                    that foreign keys refer to; their keys become values\n"
    "  --provider        an example with two servers, a provider and a keeper, in the\n"
    "                    place of three\n"
    "  --force           overwrite FILE\n"
    "\n"
    "example:\n"
    "  trefoil init study.yaml --columns codebook.csv\n";

static enum err run_init(int argc, char **argv, struct log *log)
{
    struct outline outline CLEAN(outline_clear) = {0};
    struct database_source sql = {0};
    const char *file = "study.yaml", *columns = NULL, *header = NULL, *rows = NULL, *lookup = NULL;
    bool provider = false, force = false;
    const struct command_option options[] = {
        {.name = "columns", .value = &columns},  {.name = "header", .value = &header},
        {.name = "from", .value = &rows},        {.name = "sql", .value = &sql.connection},
        {.name = "table", .value = &sql.table},  {.name = "lookup", .value = &lookup},
        {.name = "provider", .flag = &provider}, {.name = "force", .flag = &force},
    };
    TRY(command_options(argc, argv, COUNTED(options), &file, 0, 1, NULL, log));
    TRY(command_sql(&sql, log));
    if ((columns != NULL) + (header != NULL) + (rows != NULL) + (sql.connection != NULL) > 1)
        return log_fail(log, ERR_USAGE,
                        "--columns, --header, --from and --sql each say what the columns are; "
                        "give one of them");
    if (lookup != NULL && sql.connection == NULL)
        return log_fail(log, ERR_USAGE, "--lookup names tables of a database; give --sql, too");
    if (columns != NULL)
        TRY(outline_codebook(&outline, columns, log));
    if (header != NULL)
        TRY(outline_header(&outline, header, log));
    if (rows != NULL)
        TRY(outline_rows(&outline, rows, log));
    if (sql.connection != NULL)
        TRY(outline_schema(&outline, &sql, lookup, log));
    TRY(study_write_template(file, outline.count > 0 ? &outline : NULL, provider, force, log));
    log_info(log, "wrote %s: edit it, then run trefoil check %s", file, file);
    return ERR_OK;
}

DEFINE_COMMAND(init, help, "write a study file to begin with");
