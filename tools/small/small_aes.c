/*
 * What base/prg.c asks of OpenSSL, for small sets: AES-128-CTR without a cipher library, without
 * tables and without branches on the key: bit-sliced,
 * 64 blocks at a time. Bit b of byte p of all blocks is one word, plane[p][b]; b = 0 is the lowest.
 */
#include "base/secret.h"

#include "tools/small/libraries/openssl/evp.h"
#include <stdlib.h>
#include <string.h>

#define LANES 64
#define BLOCK 16
#define BATCH ((size_t)LANES * BLOCK)

struct evp_cipher_ctx_st {
    uint8_t round[11][BLOCK];
    uint64_t block; /* the next one's counter */
};

/*
 * The S-box of 64 bytes in place, as the circuit of Boyar and Peralta (2012): 32 ANDs. The names
 * are theirs; x0 is the highest bit.
 */
static void substitute(uint64_t v[8])
{
    const uint64_t x0 = v[7], x1 = v[6], x2 = v[5], x3 = v[4], x4 = v[3], x5 = v[2], x6 = v[1],
                   x7 = v[0];
    const uint64_t y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2,
                   y1 = t0 ^ x7, y4 = y1 ^ x3, y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6,
                   y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1, y6 = y15 ^ x7,
                   y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8,
                   y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
    const uint64_t t2 = y12 & y15, t4 = (y3 & y6) ^ t2, t6 = (y4 & x7) ^ t2, t7 = y13 & y16,
                   t9 = (y5 & y1) ^ t7, t11 = (y2 & y7) ^ t7, t12 = y9 & y11,
                   t14 = (y14 & y17) ^ t12, t16 = (y8 & y10) ^ t12;
    const uint64_t t21 = t4 ^ t14 ^ y20, t22 = t6 ^ t16 ^ y19, t23 = t9 ^ t14 ^ y21,
                   t24 = t11 ^ t16 ^ y18, t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26,
                   t29 = (t25 & t27) ^ t22, t33 = ((t22 ^ t26) & (t23 ^ t24)) ^ t24,
                   t36 = t24 & (t27 ^ t33), t37 = t36 ^ t23 ^ t33, t40 = t25 ^ (t29 & (t27 ^ t36)),
                   t41 = t40 ^ t37, t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37,
                   t45 = t42 ^ t41;
    const uint64_t z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1,
                   z5 = t29 & y7, z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12,
                   z10 = t37 & y3, z11 = t33 & y4, z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2,
                   z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
    const uint64_t t46 = z15 ^ z16, t48 = z5 ^ z13, t53 = z0 ^ z3, t54 = z6 ^ z7,
                   t57 = z2 ^ z12 ^ t53, t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57,
                   t62 = z7 ^ z8 ^ t58, t63 = z9 ^ z10 ^ t58, t64 = z4 ^ t59, t65 = z14 ^ t57 ^ t62,
                   t66 = z1 ^ t63, s3 = t53 ^ t66;
    v[7] = t59 ^ t63;
    v[6] = t64 ^ ~s3;
    v[5] = z16 ^ z17 ^ ~(t64 ^ t65);
    v[4] = s3;
    v[3] = z2 ^ z5 ^ t66;
    v[2] = z10 ^ z11 ^ t65;
    v[1] = z12 ^ t48 ^ ~t62;
    v[0] = t48 ^ ~t60;
}

/* Four bytes of the key schedule, in lanes 0 to 3. */
static void substitute_word(uint8_t w[4])
{
    uint64_t v[8] = {0};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned b = 0; b < 8; b++)
            v[b] |= (uint64_t)(w[i] >> b & 1) << i;
    substitute(v);
    for (unsigned i = 0; i < 4; i++) {
        w[i] = 0;
        for (unsigned b = 0; b < 8; b++)
            w[i] |= (uint8_t)((v[b] >> i & 1) << b);
    }
    secret_wipe(v, sizeof v);
}

static void schedule(uint8_t round[11][BLOCK], const uint8_t key[BLOCK])
{
    uint8_t power = 1;
    memcpy(round[0], key, BLOCK);
    for (unsigned r = 1; r <= 10; r++) {
        const uint8_t *from = round[r - 1];
        uint8_t w[4] = {from[13], from[14], from[15], from[12]};
        substitute_word(w);
        w[0] ^= power;
        power = (uint8_t)(power << 1 ^ (power >> 7) * 0x1b);
        for (unsigned i = 0; i < BLOCK; i++)
            round[r][i] = from[i] ^ (i < 4 ? w[i] : round[r][i - 4]);
    }
}

static void add_key(uint64_t p[16][8], const uint8_t key[BLOCK])
{
    for (unsigned i = 0; i < 16; i++)
        for (unsigned b = 0; b < 8; b++)
            p[i][b] ^= 0 - (uint64_t)(key[i] >> b & 1);
}

/* Row i of the state, whose bytes are columns, moves i places; a byte's planes move together. */
static void shift_rows(uint64_t p[16][8])
{
    uint64_t from[16][8];
    memcpy(from, p, sizeof from);
    for (unsigned i = 0; i < 16; i++)
        memcpy(p[i], from[(i + 4 * (i % 4)) % 16], sizeof *from);
}

/* Each byte becomes 2 a ^ 3 b ^ c ^ d, of it and the three below it: 2 (a ^ b) ^ b ^ c ^ d. */
static void mix_column(uint64_t p[4][8])
{
    uint64_t from[4][8], all[8];
    memcpy(from, p, sizeof from);
    for (unsigned b = 0; b < 8; b++)
        all[b] = from[0][b] ^ from[1][b] ^ from[2][b] ^ from[3][b];
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t *a = from[i], *next = from[(i + 1) % 4], high = a[7] ^ next[7];
        for (unsigned b = 0; b < 8; b++) {
            const uint64_t lower = b > 0 ? a[b - 1] ^ next[b - 1] : 0;
            p[i][b] = all[b] ^ a[b] ^ lower ^ (0x1b >> b & 1 ? high : 0);
        }
    }
}

/* Planes of the counters `from` to from + 63, big-endian; `from` is a multiple of 32. */
static void count(uint64_t p[16][8], uint64_t from)
{
    static const uint64_t low[5] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
                                    0xff00ff00ff00ff00, 0xffff0000ffff0000};
    memset(p, 0, 16 * sizeof *p);
    for (unsigned b = 0; b < 64; b++)
        p[15 - b / 8][b % 8] = b < 5 ? low[b]
                                     : (0 - (from >> b & 1)) >> 32 | (0 - ((from + 32) >> b & 1))
                                                                         << 32;
}

/* Bit j of byte b goes to bit b of byte j. */
static uint64_t transpose(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aa;
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & 0x0000cccc0000cccc;
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & 0x00000000f0f0f0f0;
    return x ^ t ^ t << 28;
}

/* XORs a byte of `blocks` blocks, from its planes. */
static void put(const uint64_t v[8], size_t blocks, uint8_t *out, const uint8_t *in)
{
    for (size_t lane = 0; lane < blocks; lane += 8) {
        uint64_t x = 0;
        for (unsigned b = 0; b < 8; b++)
            x |= (v[b] >> lane & 0xff) << 8 * b;
        x = transpose(x);
        for (size_t i = BLOCK * lane; i < BLOCK * (lane + 8); i += BLOCK, x >>= 8)
            out[i] = (uint8_t)x ^ in[i];
    }
}

static void encrypt(uint64_t p[16][8], const struct evp_cipher_ctx_st *c)
{
    count(p, c->block);
    add_key(p, c->round[0]);
    for (unsigned r = 1; r <= 10; r++) {
        for (unsigned i = 0; i < BLOCK; i++)
            substitute(p[i]);
        shift_rows(p);
        for (unsigned i = 0; i < BLOCK && r < 10; i += 4)
            mix_column(&p[i]);
        add_key(p, c->round[r]);
    }
}

/* --- as OpenSSL has it ------------------------------------------------------------------------ */

EVP_CIPHER_CTX *EVP_CIPHER_CTX_new(void)
{
    return calloc(1, sizeof(EVP_CIPHER_CTX));
}

void EVP_CIPHER_CTX_free(EVP_CIPHER_CTX *c)
{
    if (c != NULL)
        secret_wipe(c, sizeof *c);
    free(c);
}

const EVP_CIPHER *EVP_aes_128_ctr(void)
{
    return NULL;
}

/* Counters of whole chunks of base/prg.c alone: multiples of 32 below 2^64. */
int EVP_EncryptInit_ex(EVP_CIPHER_CTX *c, const EVP_CIPHER *type, void *engine, const uint8_t *key,
                       const uint8_t *counter)
{
    (void)type;
    (void)engine;
    if (key != NULL)
        schedule(c->round, key);
    c->block = 0;
    for (size_t i = 8; i < BLOCK && counter != NULL; i++)
        c->block = c->block << 8 | counter[i];
    return c->block % (LANES / 2) == 0;
}

int EVP_EncryptUpdate(EVP_CIPHER_CTX *c, uint8_t *out, int *written, const uint8_t *in, int n)
{
    uint64_t p[16][8];
    if ((size_t)n % (BATCH / 2) != 0)
        return 0;
    *written = n;
    for (size_t left = (size_t)n, k; left > 0; left -= k) {
        k = left < BATCH ? left : BATCH;
        encrypt(p, c);
        for (unsigned i = 0; i < BLOCK; i++)
            put(p[i], k / BLOCK, out + i, in + i);
        c->block += k / BLOCK;
        out += k;
        in += k;
    }
    secret_wipe(p, sizeof p);
    return 1;
}
