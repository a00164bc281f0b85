#include "harness/process.h"

#include "parties/server/server.h"
#include "parties/settings/three/trio.h"
#include "parties/settings/two/duo.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>

_Noreturn void support_serve_here(const struct support_study *s, unsigned i)
{
    FILE *said = fopen(support_path(s, "server%u.log", i), "a");
    struct log log = {.file = said, .level = LOG_INFO};
    atomic_bool stop = false;
    struct identity *me = NULL;
    if (said == NULL || setvbuf(said, NULL, _IONBF, 0) != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        identity_load(&me, support_path(s, "s%u.key", i), &log) != ERR_OK)
        _exit(1);
    _exit(server_run(&(const struct server_options){
              .study = s->study,
              .setting = s->study->servers == 2 ? &duo_setting : &trio_setting,
              .me = me,
              .folder = support_path(s, "server%u", i),
              .listen = s->host,
              .lanes = s->lanes[i],
              .ahead_s = s->ahead[i],
              .stop = &stop,
              .log = &log}) != ERR_OK);
}
