#include "parties/audit.h"

#include "base/date.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct audit {
    int fd;
    char path[4096];
    struct log *log;
};

enum err audit_open(struct audit **audit, const char *folder, struct log *log)
{
    struct audit *a = memory_array(1, sizeof *a);
    *audit = a;
    if (a == NULL)
        return ERR_NOMEM;
    a->log = log;
    a->fd = -1;
    if (snprintf(a->path, sizeof a->path, "%s/audit.log", folder) < (int)sizeof a->path)
        a->fd = open(a->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (a->fd < 0) {
        log_error(log, "cannot open %s: %s", a->path, strerror(errno));
        audit_close(audit);
        return ERR_SYSTEM;
    }
    return ERR_OK;
}

void audit_close(struct audit **audit)
{
    if (*audit != NULL && (*audit)->fd >= 0)
        close((*audit)->fd);
    memory_free(audit);
}

enum err audit_write(struct audit *a, uint32_t round, const char *reason, size_t values,
                     const uint8_t request[32], double spent)
{
    char line[256], stamp[DATE_SIZE], digest[17];
    int n;
    date_text(date_now(), stamp);
    for (unsigned i = 0; i < 8; i++)
        snprintf(digest + 2 * i, 3, "%02x", request[i]);
    n = snprintf(line, sizeof line, "%s round %u reason %s values %zu request %s spent %.9g\n",
                 stamp, round, reason, values, digest, spent);
    if (write(a->fd, line, (size_t)n) != n || fdatasync(a->fd) != 0) {
        log_error(a->log, "cannot write %s: %s; nothing is opened without it", a->path,
                  strerror(errno));
        return ERR_SYSTEM;
    }
    return ERR_OK;
}
