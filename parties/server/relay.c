#include "parties/server/relay.h"

#include "base/clock.h"
#include "base/memory.h"
#include "parties/exchange/dials.h"
#include "parties/server/http_private.h"

#include <stdatomic.h>
#include <string.h>

#define AT_ONCE 32 /* blocks on their way to a server */
#define CONNECTIONS 256
#define IDLE_S 75
#define WAIT_MS 60000
#define STEP_MS 200 /* how soon a relay ends that waits for a server */
#define BLOCK_MAX (2 * MESSAGE_PART_MAX)

struct relay {
    struct relay_options o;
    struct MHD_Daemon *daemon;
    struct netio *netio;
    atomic_uint on_their_way[STUDY_SERVERS_MOST];
    atomic_bool stopping;
};

/* Who may read the answers: a page from a disk has no origin, so all may. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *policy, const void *body, size_t n)
{
    const struct http_header header[] = {{"Content-Type", type},
                                         {"Cache-Control", "no-store"},
                                         {"X-Content-Type-Options", "nosniff"},
                                         {"Referrer-Policy", "no-referrer"},
                                         {"Access-Control-Allow-Origin", "*"},
                                         {"Access-Control-Allow-Headers", "Content-Type"},
                                         {"Access-Control-Allow-Methods", "GET, POST"}};
    return http_answer(connection, code, policy, header, sizeof header / sizeof *header, body, n);
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *text)
{
    return answer(connection, code, "text/plain; charset=utf-8", "default-src 'none'", text,
                  strlen(text));
}

/* Waits for the server's answer, or, without `answer`, until it admits us, in short steps. */
static enum err wait_for(const struct relay *r, struct dial *dial, struct bytes *answer)
{
    const int64_t end = clock_now_ms() + WAIT_MS / 2;
    int64_t until;
    enum err e;
    do {
        until = clock_now_ms() + STEP_MS;
        until = until < end ? until : end;
        e = answer == NULL ? dial_reach(dial, until) : dial_receive(dial, answer, until);
    } while (e == ERR_TIMEOUT && until < end && clock_now_ms() >= until &&
             !atomic_load(&r->stopping));
    return e;
}

/* As somebody whom the server does not know: a key for this block alone. */
static enum err bring(const struct relay *r, unsigned server, struct bytes *message)
{
    struct log quiet = {.level = LOG_ERROR};
    struct identity *stranger CLEAN(identity_free) = NULL;
    struct dial *dial CLEAN(dial_free) = NULL;
    struct reply reply; /* a refusal is an answer, too */
    TRY(identity_new(&stranger, &quiet));
    TRY(dials_new(&dial, r->netio, r->o.study, stranger, server, &quiet));
    TRY(dial_watch(dial)); /* a server cuts who brings junk */
    TRY(wait_for(r, dial, NULL));
    TRY(dial_send(dial, false, message->data, message->size, clock_now_ms() + WAIT_MS / 2));
    TRY(wait_for(r, dial, message));
    return reply_read(&reply, message);
}

static enum MHD_Result carry(struct relay *r, struct MHD_Connection *connection, unsigned server,
                             const struct bytes *block)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    enum MHD_Result done;
    if (atomic_fetch_add(&r->on_their_way[server], 1) >= AT_ONCE) {
        atomic_fetch_sub(&r->on_their_way[server], 1);
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many at once; try again\n");
    }
    bytes_put_u8(&message, MESSAGE_PARCEL);
    bytes_put(&message, block->data, block->size);
    if (bytes_ok(&message) != ERR_OK || bring(r, server, &message) != ERR_OK)
        done = say(connection, MHD_HTTP_GATEWAY_TIMEOUT, "the server does not answer\n");
    else
        done = answer(connection, MHD_HTTP_OK, "application/octet-stream", "default-src 'none'",
                      message.data, message.size);
    atomic_fetch_sub(&r->on_their_way[server], 1);
    return done;
}

static enum MHD_Result get(const struct relay *r, struct MHD_Connection *connection,
                           const char *url)
{
    if (strcmp(url, "/healthz") == 0)
        return say(connection, MHD_HTTP_OK, "ok\n");
    if (strcmp(url, "/") == 0 && r->o.page->size > 0)
        return answer(connection, MHD_HTTP_OK, "text/html; charset=utf-8", r->o.policy,
                      r->o.page->data, r->o.page->size);
    return say(connection, MHD_HTTP_NOT_FOUND, "there are / and /healthz, and /0 .. to post to\n");
}

/*
 * Called once with a request's head, then with pieces of its body, then without any. What is too
 * long is heard to its end and dropped: whoever is cut before that does not get the answer.
 */
static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    struct relay *r = self;
    struct bytes *body = *state;
    const unsigned server = url[0] == '/' && url[1] >= '0' && url[1] <= '9' && url[2] == '\0'
                                ? (unsigned)(url[1] - '0')
                                : STUDY_SERVERS_MOST;
    (void)version;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return get(r, connection, url);
    if (strcmp(method, "OPTIONS") == 0)
        return say(connection, MHD_HTTP_NO_CONTENT, "");
    if (strcmp(method, "POST") != 0 || server >= r->o.study->servers)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "post blocks to /0, /1 ..\n");
    if (body == NULL)
        return memory_new((struct bytes **)state, 1) == ERR_OK ? MHD_YES : MHD_NO;
    if (*upload_size > 0) {
        if (body->size <= BLOCK_MAX)
            bytes_put(body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    if (body->size > BLOCK_MAX || bytes_ok(body) != ERR_OK)
        return say(connection, MHD_HTTP_CONTENT_TOO_LARGE, "that is too long for a block\n");
    return carry(r, connection, server, body);
}

static void forget(void *self, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode how)
{
    struct bytes *body = *state;
    (void)self;
    (void)connection;
    (void)how;
    if (body != NULL)
        bytes_clear(body);
    memory_free(&body);
    *state = NULL;
}

enum err relay_start(struct relay **relay, const struct relay_options *options)
{
    struct sockaddr_storage address = {0};
    struct relay *r CLEAN(relay_stop) = NULL;
    *relay = NULL;
    TRY(http_address(options->listen, "listen", &address, options->log));
    TRY(memory_new(&r, 1));
    r->o = *options;
    TRY(netio_new(&r->netio, options->log));
    r->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                                     MHD_USE_POLL | MHD_USE_ERROR_LOG |
                                     (address.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
                                 0, NULL, NULL, handle, r, MHD_OPTION_EXTERNAL_LOGGER, http_ignore,
                                 NULL, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
                                 CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
                                 MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_END);
    if (r->daemon == NULL)
        return log_fail(options->log, ERR_SYSTEM,
                        "cannot listen on %s: is the port in use, or the address another "
                        "machine's?",
                        options->listen);
    return memory_hand_over(relay, &r);
}

void relay_stop(struct relay **relay)
{
    struct relay *r = *relay;
    if (r == NULL)
        return;
    atomic_store(&r->stopping, true);
    if (r->daemon != NULL)
        MHD_stop_daemon(r->daemon); /* after all that it carries */
    netio_free(&r->netio);
    memory_free(relay);
}
