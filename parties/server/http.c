#include "parties/server/http_private.h"

#include "base/memory.h"
#include "base/text.h"
#include "parties/display/html.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/*
 * A connection is for one request. If there are more than AT_EASE, the one that came first is cut
 * off for each that comes; the daemon takes no more while there are CONNECTIONS. So who dawdles
 * never keeps others out, and needs no deadline.
 */
#define AT_EASE 16
#define CONNECTIONS (2 * AT_EASE)
#define CONNECTION_MEMORY ((size_t)16 << 10)

struct http {
    struct MHD_Daemon *daemon;
    const struct status *status;
    bool local;          /* on the loopback address */
    int fd[CONNECTIONS]; /* in the order in which they came; only the daemon's thread uses them */
    size_t connections;
};

/* --- how many --------------------------------------------------------------------------------- */

static void come(struct http *h, int fd)
{
    if (h->connections == CONNECTIONS)
        return;
    h->fd[h->connections++] = fd;
    if (h->connections > AT_EASE) /* those before it were cut off when others came */
        (void)shutdown(h->fd[h->connections - AT_EASE - 1], SHUT_RDWR);
}

static void go(struct http *h, int fd)
{
    size_t i = 0;
    while (i < h->connections && h->fd[i] != fd)
        i++;
    if (i < h->connections)
        memmove(h->fd + i, h->fd + i + 1, (--h->connections - i) * sizeof *h->fd);
}

/* Called before a connection's first byte is read, and before its descriptor is closed. */
static void on_connection(void *self, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    (void)context;
    if (info != NULL)
        (code == MHD_CONNECTION_NOTIFY_STARTED ? come : go)(self, info->connect_fd);
}

/* --- answers ---------------------------------------------------------------------------------- */

enum MHD_Result http_answer(struct MHD_Connection *connection, unsigned code, const char *policy,
                            const struct http_header *header, size_t headers, const void *body,
                            size_t n)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)body,
                                                             MHD_RESPMEM_MUST_COPY);
    enum MHD_Result done = r != NULL ? MHD_YES : MHD_NO;
    char all[1024];
    snprintf(all, sizeof all, "%s; frame-ancestors 'none'", policy);
    for (size_t i = 0; i < headers && done == MHD_YES; i++)
        done = MHD_add_response_header(r, header[i].name, header[i].value);
    if (done == MHD_YES)
        done = MHD_add_response_header(r, "Content-Security-Policy", all);
    if (done == MHD_YES)
        done = MHD_queue_response(connection, code, r);
    if (r != NULL)
        MHD_destroy_response(r);
    return done;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const struct bytes *body)
{
    const struct http_header header[] = {{"Content-Type", type},
                                         {"Connection", "close"},
                                         {"Cache-Control", "no-store"},
                                         {"X-Content-Type-Options", "nosniff"}};
    return http_answer(connection, code, HTML_POLICY, header, sizeof header / sizeof *header,
                       body->data, body->size);
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *text)
{
    struct bytes body CLEAN(bytes_clear) = {0};
    text_put(&body, "%s\n", text);
    if (bytes_ok(&body) != ERR_OK)
        return MHD_NO;
    return answer(connection, code, "text/plain; charset=utf-8", &body);
}

static enum MHD_Result page(struct MHD_Connection *connection, const struct status *status,
                            enum err (*make)(const struct status *, struct bytes *),
                            const char *type)
{
    struct bytes body CLEAN(bytes_clear) = {0};
    if (make(status, &body) != ERR_OK)
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "not enough memory");
    return answer(connection, MHD_HTTP_OK, type, &body);
}

/*
 * Whether a request is for this machine by a name that no other can give it. A page from elsewhere
 * whose name was made to point here (DNS rebinding) has a browser ask for that name.
 */
static bool is_local_name(const char *host)
{
    static const char digits[] = "0123456789";
    size_t n = 0;
    if (strncmp(host, "127.", 4) == 0)
        n = strspn(host, "0123456789.");
    else if (strncmp(host, "[::1]", 5) == 0)
        n = 5;
    else if (strncasecmp(host, "localhost", 9) == 0)
        n = 9;
    if (n > 0 && host[n] == ':')
        n += 1 + strspn(host + n + 1, digits);
    return n > 0 && host[n] == '\0';
}

static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **connection_state)
{
    const struct http *h = self;
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    char why[STATUS_WHY_SIZE];
    bool healthy;
    (void)version;
    (void)upload;
    (void)upload_size;
    (void)connection_state;
    if (h->local && host != NULL && !is_local_name(host))
        return say(connection, MHD_HTTP_MISDIRECTED_REQUEST,
                   "these pages are for this machine alone: ask for localhost, 127.0.0.1 or [::1]");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    if (strcmp(url, "/metrics") == 0)
        return page(connection, h->status, status_metrics,
                    "text/plain; version=0.0.4; charset=utf-8");
    if (strcmp(url, "/") == 0)
        return page(connection, h->status, status_page, "text/html; charset=utf-8");
    if (strcmp(url, "/healthz") != 0)
        return say(connection, MHD_HTTP_NOT_FOUND, "there are /, /metrics and /healthz");
    healthy = status_healthy(h->status, why);
    return say(connection, healthy ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, why);
}

/* --- where ------------------------------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr_storage *a)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)a;
    return a->ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
                                   : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

void http_ignore(void *self, const char *format, va_list args)
{
    (void)self;
    (void)format;
    (void)args;
}

enum err http_start(struct http **http, const char *where, const struct status *status,
                    struct log *log)
{
    struct sockaddr_storage address = {0};
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG;
    struct http *h CLEAN(http_stop) = NULL;
    *http = NULL;
    TRY(http_address(where, "status", &address, log));
    TRY(memory_new(&h, 1));
    h->status = status;
    h->local = is_loopback(&address);
    if (!h->local)
        log_warn(log, "the status pages have no password; %s may be reached by others", where);
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    h->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, h, MHD_OPTION_EXTERNAL_LOGGER,
                                 http_ignore, NULL, MHD_OPTION_SOCK_ADDR, &address,
                                 MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
                                 MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (h->daemon == NULL)
        return log_fail(
            log, ERR_SYSTEM,
            "cannot show the status on %s: is the port in use, or the address another machine's?",
            where);
    return memory_hand_over(http, &h);
}

void http_stop(struct http **http)
{
    struct http *h = *http;
    if (h == NULL)
        return;
    if (h->daemon != NULL)
        MHD_stop_daemon(h->daemon);
    memory_free(http);
}
