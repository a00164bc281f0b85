/*
 * harness/preload_libraries.c - stands between a program and its libraries: see
 * harness/preload_fault.c.
 */
#include "harness/preload_fault.h"

#include <errno.h>
#include <jansson.h>
#include <microhttpd.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stddef.h>
#include <yaml.h>
#include <zmq.h>

static int with(int code)
{
    errno = code;
    return -1;
}

/* --- ZeroMQ ----------------------------------------------------------------------------------- */

STAND_IN(LINK, NULL, void *, zmq_ctx_new, (void), ())
STAND_IN(LINK, NULL, void *, zmq_socket, (void *context, int type), (context, type))
STAND_IN(LINK, with(EINVAL), int, zmq_setsockopt,
         (void *socket, int option, const void *value, size_t size), (socket, option, value, size))
STAND_IN(LINK, with(EINVAL), int, zmq_getsockopt,
         (void *socket, int option, void *value, size_t *size), (socket, option, value, size))
STAND_IN(LINK, with(EADDRINUSE), int, zmq_bind, (void *socket, const char *at), (socket, at))
STAND_IN(LINK, with(EMFILE), int, zmq_connect, (void *socket, const char *to), (socket, to))
STAND_IN(LINK, with(ENOMEM), int, zmq_msg_init_size, (zmq_msg_t * m, size_t size), (m, size))
STAND_IN(LINK, with(ENOMEM), int, zmq_msg_init_data,
         (zmq_msg_t * m, void *data, size_t size, zmq_free_fn *give_back, void *hint),
         (m, data, size, give_back, hint))

/* Ending a monitor (without an endpoint) takes nothing that could run short. */
int zmq_socket_monitor(void *socket, const char *at, int events)
{
    NEXT(zmq_socket_monitor);
    if (at != NULL && preload_fails_for(LINK, __builtin_return_address(0)))
        return with(EMFILE);
    return real(socket, at, events);
}

/* Waits and messages: broken, or interrupted. */
static bool breaks(const void *caller)
{
    if (preload_fails_for(LINK, caller)) {
        errno = ENOTSOCK;
        return true;
    }
    return preload_fails_for(SIGNAL, caller);
}

#define MESSAGE(name, parameters, arguments)                                                       \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(name);                                                                                \
        return breaks(__builtin_return_address(0)) ? -1 : real arguments;                          \
    }

MESSAGE(zmq_poll, (zmq_pollitem_t * items, int n, long ms), (items, n, ms))
MESSAGE(zmq_msg_send, (zmq_msg_t * m, void *socket, int flags), (m, socket, flags))
MESSAGE(zmq_msg_recv, (zmq_msg_t * m, void *socket, int flags), (m, socket, flags))
MESSAGE(zmq_send, (void *socket, const void *p, size_t n, int flags), (socket, p, n, flags))
MESSAGE(zmq_recv, (void *socket, void *p, size_t n, int flags), (socket, p, n, flags))

/* --- SQLite ----------------------------------------------------------------------------------- */

STAND_IN(SQL, (*db = NULL, SQLITE_IOERR), int, sqlite3_open_v2,
         (const char *path, sqlite3 **db, int flags, const char *vfs), (path, db, flags, vfs))
STAND_IN(SQL, (*statement = NULL, SQLITE_IOERR), int, sqlite3_prepare_v2,
         (sqlite3 * db, const char *sql, int size, sqlite3_stmt **statement, const char **rest),
         (db, sql, size, statement, rest))
STAND_IN(SQL, SQLITE_NOMEM, int, sqlite3_bind_blob64,
         (sqlite3_stmt * statement, int at, const void *p, sqlite3_uint64 n,
          void (*give_back)(void *)),
         (statement, at, p, n, give_back))
STAND_IN(SQL, SQLITE_IOERR, int, sqlite3_step, (sqlite3_stmt * statement), (statement))
STAND_IN(SQL, SQLITE_IOERR, int, sqlite3_exec,
         (sqlite3 * db, const char *sql, int (*row)(void *, int, char **, char **), void *self,
          char **words),
         (db, sql, row, self, words))
STAND_IN(SQL, NULL, sqlite3_backup *, sqlite3_backup_init,
         (sqlite3 * to, const char *to_name, sqlite3 *from, const char *from_name),
         (to, to_name, from, from_name))
STAND_IN(SQL, SQLITE_IOERR, int, sqlite3_backup_step, (sqlite3_backup * backup, int pages),
         (backup, pages))

/* --- OpenSSL ---------------------------------------------------------------------------------- */

STAND_IN(LIBRARY, NULL, EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void), ())
STAND_IN(LIBRARY, 0, int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX * c, int type, int n, void *p),
         (c, type, n, p))
STAND_IN(LIBRARY, 0, int, EVP_CipherInit_ex,
         (EVP_CIPHER_CTX * c, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
          const unsigned char *nonce, int way),
         (c, cipher, engine, key, nonce, way))
STAND_IN(LIBRARY, 0, int, EVP_EncryptInit_ex,
         (EVP_CIPHER_CTX * c, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
          const unsigned char *nonce),
         (c, cipher, engine, key, nonce))
STAND_IN(LIBRARY, 0, int, EVP_DecryptInit_ex,
         (EVP_CIPHER_CTX * c, const EVP_CIPHER *cipher, ENGINE *engine, const unsigned char *key,
          const unsigned char *nonce),
         (c, cipher, engine, key, nonce))
STAND_IN(LIBRARY, 0, int, EVP_EncryptUpdate,
         (EVP_CIPHER_CTX * c, unsigned char *out, int *size, const unsigned char *in, int n),
         (c, out, size, in, n))
STAND_IN(LIBRARY, 0, int, EVP_DecryptUpdate,
         (EVP_CIPHER_CTX * c, unsigned char *out, int *size, const unsigned char *in, int n),
         (c, out, size, in, n))
STAND_IN(LIBRARY, 0, int, EVP_EncryptFinal_ex, (EVP_CIPHER_CTX * c, unsigned char *out, int *size),
         (c, out, size))
STAND_IN(LIBRARY, 0, int, EVP_DecryptFinal_ex, (EVP_CIPHER_CTX * c, unsigned char *out, int *size),
         (c, out, size))
STAND_IN(LIBRARY, 0, int, EVP_Digest,
         (const void *p, size_t n, unsigned char *digest, unsigned *size, const EVP_MD *type,
          ENGINE *engine),
         (p, n, digest, size, type, engine))
STAND_IN(LIBRARY, NULL, unsigned char *, SHA256,
         (const unsigned char *p, size_t n, unsigned char *digest), (p, n, digest))
STAND_IN(LIBRARY, NULL, EVP_KDF *, EVP_KDF_fetch,
         (OSSL_LIB_CTX * library, const char *name, const char *properties),
         (library, name, properties))
STAND_IN(LIBRARY, NULL, EVP_KDF_CTX *, EVP_KDF_CTX_new, (EVP_KDF * kdf), (kdf))
STAND_IN(LIBRARY, 0, int, EVP_KDF_derive,
         (EVP_KDF_CTX * c, unsigned char *key, size_t size, const OSSL_PARAM parameter[]),
         (c, key, size, parameter))

/* --- libsodium -------------------------------------------------------------------------------- */

/* Every program of ours begins with this. */
int sodium_init(void)
{
    NEXT(sodium_init);
    preload_begin();
    return preload_fails_for(LIBRARY, __builtin_return_address(0)) ? -1 : real();
}

STAND_IN(LIBRARY, NULL, void *, sodium_malloc, (size_t n), (n))
STAND_IN(LIBRARY, -1, int, crypto_generichash,
         (unsigned char *out, size_t size, const unsigned char *p, unsigned long long n,
          const unsigned char *key, size_t key_size),
         (out, size, p, n, key, key_size))
STAND_IN(LIBRARY, -1, int, crypto_scalarmult_base, (unsigned char *q, const unsigned char *n),
         (q, n))
STAND_IN(LIBRARY, -1, int, crypto_sign_seed_keypair,
         (unsigned char *public, unsigned char *secret, const unsigned char *seed),
         (public, secret, seed))
STAND_IN(LIBRARY, -1, int, crypto_sign_detached,
         (unsigned char *signature, unsigned long long *size, const unsigned char *p,
          unsigned long long n, const unsigned char *secret),
         (signature, size, p, n, secret))
STAND_IN(LIBRARY, -1, int, crypto_sign_verify_detached,
         (const unsigned char *signature, const unsigned char *p, unsigned long long n,
          const unsigned char *public),
         (signature, p, n, public))
STAND_IN(LIBRARY, -1, int, crypto_aead_xchacha20poly1305_ietf_decrypt,
         (unsigned char *out, unsigned long long *size, unsigned char *none, const unsigned char *p,
          unsigned long long n, const unsigned char *bound, unsigned long long bound_size,
          const unsigned char *nonce, const unsigned char *key),
         (out, size, none, p, n, bound, bound_size, nonce, key))

/* --- Jansson, libyaml, libmicrohttpd ---------------------------------------------------------- */

STAND_IN(LIBRARY, NULL, json_t *, json_object, (void), ())
STAND_IN(LIBRARY, NULL, json_t *, json_array, (void), ())
STAND_IN(LIBRARY, NULL, json_t *, json_string, (const char *text), (text))
STAND_IN(LIBRARY, NULL, json_t *, json_integer, (json_int_t n), (n))
STAND_IN(LIBRARY, NULL, json_t *, json_real, (double x), (x))
/* Take over the value whether or not they succeed, as the real functions do. */
static int let_go(json_t *value)
{
    json_decref(value);
    return -1;
}

STAND_IN(LIBRARY, let_go(value), int, json_object_set_new,
         (json_t * object, const char *key, json_t *value), (object, key, value))
STAND_IN(LIBRARY, let_go(value), int, json_array_append_new, (json_t * array, json_t *value),
         (array, value))
STAND_IN(LIBRARY, (*error = (json_error_t){.text = "cannot be read"}, NULL), json_t *,
         json_load_file, (const char *path, size_t flags, json_error_t *error),
         (path, flags, error))
STAND_IN(LIBRARY, NULL, char *, json_dumps, (const json_t *json, size_t flags), (json, flags))
STAND_IN(LIBRARY, 0, int, yaml_parser_initialize, (yaml_parser_t * parser), (parser))
STAND_IN(LIBRARY, (parser->error = YAML_MEMORY_ERROR, 0), int, yaml_parser_load,
         (yaml_parser_t * parser, yaml_document_t *document), (parser, document))
STAND_IN(LIBRARY, NULL, struct MHD_Response *, MHD_create_response_from_buffer,
         (size_t n, void *p, enum MHD_ResponseMemoryMode mode), (n, p, mode))
STAND_IN(LIBRARY, MHD_NO, enum MHD_Result, MHD_add_response_header,
         (struct MHD_Response * response, const char *header, const char *text),
         (response, header, text))

/* --- threads ---------------------------------------------------------------------------------- */

STAND_IN(LIBRARY, EAGAIN, int, pthread_create,
         (pthread_t *restrict thread, const pthread_attr_t *restrict how, void *(*go)(void *),
          void *restrict self),
         (thread, how, go, self))
STAND_IN(LIBRARY, ENOMEM, int, pthread_mutexattr_init, (pthread_mutexattr_t * how), (how))
STAND_IN(LIBRARY, ENOMEM, int, pthread_mutexattr_settype, (pthread_mutexattr_t * how, int type),
         (how, type))
STAND_IN(LIBRARY, ENOMEM, int, pthread_mutex_init,
         (pthread_mutex_t * mutex, const pthread_mutexattr_t *how), (mutex, how))
STAND_IN(LIBRARY, ENOMEM, int, pthread_cond_init,
         (pthread_cond_t *restrict condition, const pthread_condattr_t *restrict how),
         (condition, how))
