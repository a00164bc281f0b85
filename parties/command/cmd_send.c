#include "base/file.h"
#include "parties/command/command.h"
#include "parties/owner/courier.h"
#include "parties/owner/parcel.h"
#include "parties/study/roster.h"
#include "parties/study/study_setting.h"

static const char help[] =
    "usage: trefoil send STUDY PARCEL [--retries N]\n"
    "\n"
    "Brings a parcel, which an owner made with share --to, to the servers. Anybody\n"
    "may do that, without a key: whoever carries a parcel sees how long it is, and\n"
    "can neither read nor alter it. What the servers answer goes to PARCEL.answers,\n"
    "for the owner (share --keep).\n"
    "\n"
    "Running the command again is safe: it goes on where it was cut off, and servers\n"
    "that have answered are left alone.\n"
    "\n"
    "  --retries N    how often to retry when a server fails, after longer and longer\n"
    "                 pauses; default 6, which takes half a minute\n"
    "\n"
    "example:\n"
    "  trefoil send study.yaml a.parcel\n";

struct send {
    const char *path;
    int64_t retries;
    struct study *study;
    struct identity *stranger; /* a key for this time alone */
    struct parcel parcel;
    struct parcel_answers answers;
    char answers_path[FILE_PATH];
    struct progress progress;
    struct courier *courier;
    struct log *log;
};

static void clear(struct send *s)
{
    courier_free(&s->courier);
    parcel_answers_clear(&s->answers);
    parcel_clear(&s->parcel);
    identity_free(&s->stranger);
    study_free(&s->study);
}

/* Answers that cannot be used are asked for again. */
static enum err load_answers(struct send *s)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    TRY(file_path(s->answers_path, s->log, "%s.answers", s->path));
    if (!file_is_there(s->answers_path))
        return ERR_OK;
    TRY(file_read(s->answers_path, PARCEL_MAX, &file, s->log));
    if (parcel_answers_read(&s->parcel, &s->answers, file.data, file.size) == ERR_OK)
        return ERR_OK;
    parcel_answers_clear(&s->answers);
    s->answers = (struct parcel_answers){0};
    log_warn(s->log, "%s is damaged, or of another parcel: it is written anew", s->answers_path);
    return ERR_OK;
}

static enum err load(struct send *s, const char *study)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    TRY(study_load(&s->study, study, s->log));
    TRY(roster_check(s->study, s->log));
    TRY(roster_servers_current(s->study, s->log));
    TRY(file_read(s->path, PARCEL_MAX, &file, s->log));
    TRY(parcel_parse(&s->parcel, s->study, s->path, &file, s->log));
    TRY(load_answers(s));
    return identity_new(&s->stranger, s->log);
}

static enum err save_answers(const struct send *s)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    TRY(parcel_answers_write(&s->parcel, &s->answers, &file));
    return file_write(s->answers_path, 0644, file.data, file.size, s->log);
}

/* A server that is passed the vector answers when it has that: its giver comes first. */
static enum err carry_all(struct send *s)
{
    const struct courier_options o = {.study = s->study,
                                      .me = s->stranger,
                                      .retries = (unsigned)s->retries,
                                      .progress = &s->progress,
                                      .log = s->log};
    TRY(courier_new(&s->courier, &o));
    for (unsigned i = 0; i < s->study->servers; i++) {
        const bool had = s->answers.of[i].act.size > 0;
        if (!had) {
            TRY(courier_carry(s->courier, &s->parcel, i, &s->answers));
            TRY(save_answers(s));
        }
        progress_say(&s->progress, "server %u (%s) %s taken it%s", i, s->study->server[i].name,
                     had ? "had" : "has", had ? " before" : "");
    }
    return ERR_OK;
}

static enum err run_send(int argc, char **argv, struct log *log)
{
    struct send s CLEAN(clear) = {.retries = 6, .log = log};
    const char *files[2];
    enum err e;
    const struct command_option options[] = {
        {.name = "retries", .number = &s.retries, .most = 1000},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 2, 2, NULL, log));
    s.path = files[1];
    TRY(load(&s, files[0]));
    s.progress = progress_start(stdout, s.study, 0);
    progress_attach(&s.progress, log);
    e = carry_all(&s);
    progress_detach(&s.progress, log);
    if (e == ERR_OK)
        printf("%s servers have taken the parcel; their answers are in %s,\nfor its owner: "
               "trefoil share STUDY --key KEY --keep %s\n",
               study_setting(s.study)->all, s.answers_path, s.path);
    return e;
}

DEFINE_COMMAND(send, help, "bring an owner's sealed parcel to the servers");
