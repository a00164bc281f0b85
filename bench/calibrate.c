#include "bench/calibrate.h"

#include "base/clock.h"
#include "base/memory.h"
#include "harness/netio.h"
#include "mpc/kernel/kernel.h"

#include <cblas.h>
#include <openssl/evp.h>
#include <zmq.h>

#define FRAME ((size_t)256 << 10)

static double cipher_speed(const EVP_CIPHER *cipher, double seconds)
{
    static const uint8_t key[16] = {1}, nonce[16] = {2};
    uint8_t *frame = memory_words(FRAME, 1), tag[16];
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    double begin = clock_now_s(), bytes = 0;
    int n;
    while (frame != NULL && c != NULL && clock_now_s() - begin < seconds) {
        EVP_EncryptInit_ex(c, cipher, NULL, key, nonce);
        EVP_EncryptUpdate(c, frame, &n, frame, (int)FRAME);
        EVP_EncryptFinal_ex(c, tag, &n);
        bytes += (double)FRAME;
    }
    EVP_CIPHER_CTX_free(c);
    memory_free(&frame);
    return bytes / (clock_now_s() - begin) / 1e9;
}

static double copy_speed(double seconds)
{
    const size_t size = (size_t)64 << 20;
    uint8_t *from = memory_words(size, 1), *to = memory_words(size, 1);
    double begin = clock_now_s(), bytes = 0;
    while (from != NULL && to != NULL && clock_now_s() - begin < seconds) {
        memcpy(to, from, size);
        __asm__ volatile("" ::"r"(to) : "memory");
        bytes += (double)size;
    }
    memory_free_all(&from, &to);
    return bytes / (clock_now_s() - begin) / 1e9;
}

struct pusher {
    void *socket;
    double seconds;
};

static void *push_frames(void *arg)
{
    struct pusher *p = arg;
    uint8_t *frame = memory_words(FRAME, 1);
    double begin = clock_now_s();
    while (frame != NULL && clock_now_s() - begin < p->seconds)
        zmq_send(p->socket, frame, FRAME, 0);
    zmq_send(p->socket, "", 0, 0);
    memory_free(&frame);
    return NULL;
}

static double zmq_speed(double seconds)
{
    char endpoint[1][ENDPOINT_SIZE];
    void *context = zmq_ctx_new(), *push = zmq_socket(context, ZMQ_PUSH);
    void *pull = zmq_socket(context, ZMQ_PULL);
    struct pusher p = {push, seconds};
    pthread_t thread;
    double bytes = 0, begin;
    free_endpoints(endpoint, 1);
    zmq_bind(pull, endpoint[0]);
    zmq_connect(push, endpoint[0]);
    begin = clock_now_s();
    pthread_create(&thread, NULL, push_frames, &p);
    for (size_t size = 1; size > 0; bytes += (double)size) {
        zmq_msg_t m;
        zmq_msg_init(&m);
        zmq_msg_recv(&m, pull, 0);
        size = zmq_msg_size(&m);
        zmq_msg_close(&m);
    }
    begin = clock_now_s() - begin;
    pthread_join(thread, NULL);
    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(context);
    return bytes / begin / 1e9;
}

/* Multiply-adds a second of the 16-bit kernel and of OpenBLAS on doubles, both exact here. */
static void matrix_speed(size_t n, double seconds, double *own, double *blas)
{
    const double sums = (double)(n * n * n);
    uint16_t *a = memory_words(n * n, sizeof *a), *c = memory_words(n * n, sizeof *c);
    double *x = memory_words(n * n, sizeof *x), *z = memory_words(n * n, sizeof *z);
    const struct kernel *k = kernel_best(NULL);
    double begin = clock_now_s(), runs = 0;
    for (size_t i = 0; i < n * n; i++)
        x[i] = a[i] = (uint16_t)(i * 40503);
    for (; clock_now_s() - begin < seconds; runs++)
        k->matrix16(c, 1, a, a, n, n, n);
    *own = runs * sums / (clock_now_s() - begin);
    begin = clock_now_s();
    for (runs = 0; clock_now_s() - begin < seconds; runs++)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)n, (int)n, 1, x, (int)n,
                    x, (int)n, 0, z, (int)n);
    *blas = runs * sums / (clock_now_s() - begin);
    memory_free_all(&a, &c, &x, &z);
}

struct calibrate_figures calibrate(double seconds)
{
    static const size_t sides[] = {16, 64, 512};
    struct calibrate_figures c = {
        .aes_gcm = cipher_speed(EVP_aes_128_gcm(), seconds),
        .aes_ctr = cipher_speed(EVP_aes_128_ctr(), seconds),
        .memory_copy = copy_speed(seconds),
        .zmq = zmq_speed(seconds),
    };
    printf("one core: AES-128-GCM %.2f, AES-128-CTR %.2f, memory copy %.2f, ZeroMQ %.2f GB/s; "
           "kernel %s\n",
           c.aes_gcm, c.aes_ctr, c.memory_copy, c.zmq, kernel_best(NULL)->name);
    for (int i = 0; i < 3; i++) {
        matrix_speed(sides[i], seconds, &c.matrix16, &c.dgemm);
        printf("%zu x %zu matrices, 10^9 multiply-adds a second of one core: 16-bit kernel %.1f, "
               "OpenBLAS dgemm %.1f\n",
               sides[i], sides[i], c.matrix16 / 1e9, c.dgemm / 1e9);
    }
    return c;
}
