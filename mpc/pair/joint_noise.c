#include "mpc/pair/joint_noise.h"

#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/circuit.h"
#include "mpc/pair/program.h"
#include "mpc/party/scratch.h"

#include <string.h>

#define BITS 8    /* of z + 128 */
#define COIN 64   /* random bits for each of them */
#define SHIFT 17  /* h = 2^17 */
#define MASKED 47 /* bits of z + 128 + r */
#define MIDDLE 128

const uint64_t joint_threshold[256] = {
    0x0000000000000000, 0x8683c363bce2f56a, 0xfffffffffffff249, 0x00000000000023af,
    0xfffffffffffffff9, 0xfffdb1ec3171a609, 0x00039b8a654aff82, 0x000000000000000c,
    0xfffffffffe9d9107, 0xffffffeab2845065, 0xfffed4d9b2ae3e56, 0xf68618cdd767d0d7,
    0x0ba3e63e8f713919, 0x00018100d3aaf17c, 0x0000001b9173d477, 0x0000000001cb58e1,
    0xfffffc07bc85b072, 0xffffe060ac776085, 0xffff050ce432b52a, 0xfff8450f4e0957cc,
    0xffc3c11aba2eb17d, 0xfe368764bd2e6ed0, 0xf3687bcaed412baa, 0xbc0534b7a8ad48dc,
    0x4a23362f916be688, 0x0e265a02f42f8808, 0x020670cecdc318e3, 0x004473c026ceee73,
    0x0008cae08410081c, 0x00011d95d1c77697, 0x000023ff6a35750c, 0x0000048517c8a36f,
    0xffea68bbd41d14dd, 0xffdbb802b3ac0761, 0xffc30f33f48c9ed7, 0xff99b30e480fbec7,
    0xff5468cb17f4d88e, 0xfee086cf5b84b775, 0xfe1f37fe6aad1a0a, 0xfcde05daef9626fc,
    0xfacb964161a07172, 0xf767f730e1f2d504, 0xf1f20b2cd6730447, 0xe95a10410eac94cb,
    0xdc4e8c43fc649117, 0xc989b35bdc14c182, 0xb07fbcfc0ac3b8a5, 0x923f1f19b778a53b,
    0x71c527e65b76339d, 0x530a9012f6ebd4c0, 0x3940861511f52a79, 0x25b4588d32cb642b,
    0x1801c0f96bc89b1f, 0x0eeea6d9fd2e47a6, 0x0924fb6eb3cad0b8, 0x058b2b220478ae40,
    0x0356bc79eb91c93f, 0x02009eeef647eedd, 0x0132981a1cbef06e, 0x00b709704213b21a,
    0x006d2364847f4e44, 0x004104ffab060e56, 0x0026b6491f314263, 0x001709def241a30e,
    0xfbd919521b241ec9, 0xfb4844dc5bccf65d, 0xfaa423b2f2b68b7c, 0xf9ea432859d84cf7,
    0xf917ea163afcf12a, 0xf82a13866320fffe, 0xf71d69bd101415ef, 0xf5ee41f245dacacd,
    0xf498991d3eefb777, 0xf318124d6fd72e7c, 0xf167f7276a1c2b44, 0xef833b38056c500b,
    0xed6482eba33f15d0, 0xeb062f0f27101b7a, 0xe8626dd0223807b9, 0xe57352341ec1f82b,
    0xe232f2ecf8697784, 0xde9b9141d6c53c0b, 0xdaa7c8715be1b8d0, 0xd652c572af54c76c,
    0xd198864bd259cf89, 0xcc761f551474a2fb, 0xc6ea03bca7082d95, 0xc0f44d85e3b17627,
    0xba970035850e1416, 0xb3d64089909bdf3b, 0xacb87b32b708afd7, 0xa54674b651a0a388,
    0x9d8b3d90c316a912, 0x9594076c7e3dcb0f, 0x8d6fdab4522a89c3, 0x852f2eb2d6a21280,
    0x7ce36975a1d48cdb, 0x749e4f56992ae7b7, 0x6c716bf0b5abb03f, 0x646d7f0c996f8ac2,
    0x5ca1f79900ea71b5, 0x551c8520de31987e, 0x4de8c5ada7d1136a, 0x4710130ad16e9a8d,
    0x40996f63bf090f63, 0x3a898e9db7039e0f, 0x34e2f7e1d0646739, 0x2fa639a73ddf7a33,
    0x2ad22a2fdd7a3b5b, 0x26642eafa8ed312c, 0x225884148bc209e9, 0x1eaa8564e4225018,
    0x1b54ecc288441724, 0x18520d2bf5a14739, 0x159c03feafcfe580, 0x132ce1f942d3402e,
    0x10fecc061c69876f, 0x0f0c1475cf097ae2, 0x0d4f4d861302f323, 0x0bc3562b280a4344,
    0x0a636213346bfe50, 0x092afdce240d26a5, 0x08160fee4938e7de, 0x0720d7db2a71a756,
    0x0647eaf3c0f176d5, 0x0588308223730a10, 0x04dedce985543a08, 0x04496c614551909b,
    0xe372b138bf6ad705, 0xe29c9b95c02f3df3, 0xe1c116307f54e197, 0xe0e00a421199ede8,
    0xdff96163ab68c8dd, 0xdf0d059c5c2a8bf4, 0xde1ae16f530d9309, 0xdd22dfeaaa430ccd,
    0xdc24ecb6b4e02bb1, 0xdb20f425caac718f, 0xda16e3448c37054d, 0xd906a7ea9891a96c,
    0xd7f030cbad098996, 0xd6d36d892625a00e, 0xd5b04ec3d8190e5f, 0xd486c62e33b6c7fe,
    0xd356c69eabcce67c, 0xd22044224da2b1d6, 0xd0e3340f7e26cf79, 0xcf9f8d18cc2d5a61,
    0xce55475fc6f246e5, 0xcd045c87c6ee03e9, 0xcbacc7c895eb9907, 0xca4e8600e23b8d81,
    0xc8e995c867d8d7f7, 0xc77df781b9604132, 0xc60bad6b91da710f, 0xc492bbb19790cdb0,
    0xc313287c7778f97b, 0xc18cfc014035a52e, 0xc000408fe3412131, 0xbe6d02a0c2920fa5,
    0xbcd350e130f020a3, 0xbb333c3ecb40fd21, 0xb98cd7f19157552b, 0xb7e03984a54201a2,
    0xb62d78dd98c18913, 0xb474b0423168e95e, 0xb2b5fc5c8d04a243, 0xb0f17c3d91316d8c,
    0xaf27515d929314f6, 0xad579f9b21db0894, 0xab828d37eec4b063, 0xa9a842d3b3593750,
    0xa7c8eb651c2b4f22, 0xa5e4b430a4ca0728, 0xa3fbccbd62646744, 0xa20e66c7b97987aa,
    0xa01cb631fe7516c4, 0x9e26f0f30438cabe, 0x9c2d4f029ec9a487, 0x9a300a44239d309d,
    0x982f5e6ef44fa530, 0x962b88f523d80c5d, 0x9424c8e849937e24, 0x921b5edc98b3860e,
    0x900f8cca55b5da7e, 0x8e0195edc68443c1, 0x8bf1bea5bcaae007, 0x89e04c50dbb10aaf,
    0x87cd8529c006adff, 0x85b9b0222d1dd070, 0x83a514bd6b288768, 0x818ffae9fe889f78,
    0x7f7aaadae4439017, 0x7d656ce07fbeec99, 0x7b50894166a4a2e3, 0x793c4813381126bc,
    0x7728f113ac175e56, 0x7516cb8208370418, 0x73061df9249b89fa, 0x70f72e4a2cddaf92,
    0x6eea415845943e4a, 0x6cdf9af53e44fc06, 0x6ad77dbf7542f70b, 0x68d22b0110c0b645,
    0x66cfe290adda277c, 0x64d0e2b3a3a27d0e, 0x62d56801f55d2a5b, 0x60ddad4c0bfec687,
    0x5ee9eb824beb01ff, 0x5cfa599e98a85aba, 0x5b0f2c8fd4f922e7, 0x592897276a7bed6f,
    0x5746ca08e0ab824d, 0x5569f39b87d7bda9, 0x53923ffe39846aff, 0x51bfd8fd2c88050d,
    0x4ff2e609d850718e, 0x4e2b8c34dfe4e381, 0x4c69ee29fa96ef04, 0x4aae2c2dcdddbbe6,
    0x48f8641da990a87c, 0x4748b17115a55e5e, 0x459f2d3d1eba68fd, 0x43fbee394d142caf,
    0x425f08c63047605f, 0x40c88ef56899f78f, 0x3f389093162936af, 0x3daf1b3095206586,
    0x3c2c3a306dbda6dc, 0x3aaff6d35e87e3f6, 0x393a584666ef0ca7, 0x37cb63b1b8946be3,
    0x36631c4875a8790d, 0x35018359232324b8, 0x33a6985eb617c057, 0x325259122402cb9e,
    0x3104c17c5eaa99f1, 0x2fbdcc08a5005477, 0x2e7d71971359d11c, 0x2d43a98f5e5a934c,
    0x2c1069f3a4efb29a, 0x2ae3a77346dc193f, 0x29bd557dae757ad7, 0x289d6654fd5ba321,
    0x2783cb208d209501, 0x267073ff3605dfcc, 0x256350194f204659, 0x245c4db25c5c3946,
    0x235b5a3a6001dcda, 0x2260625ec674b258, 0x216b521ae40011b4, 0x207c14c7fd8d2d1f,
    0x1f92952cd6204fe8, 0x1eaebd8cbbf091ab, 0x1dd077b610d69f38, 0x1cf7ad104aabff06,
};

/* A portion is as many samples as gates make ANDs together. */
static size_t samples_of(const struct pair_joint *j, size_t portion)
{
    const size_t left = j->n - portion * GATES_LANES;
    return left < GATES_LANES ? left : GATES_LANES;
}

static struct program_size size(const void *self, size_t portion)
{
    const size_t n = samples_of(self, portion);
    return (struct program_size){{(BITS * COIN + MASKED) * n, BITS * COIN * n}, MASKED * n};
}

/* Coins, prefixes, and the mask's adder. */
static uint64_t ands_of(const void *self, size_t portion)
{
    return (BITS * COIN + (1 << (BITS - 1)) - 2 + MASKED - 1) * samples_of(self, portion);
}

/* Number i of n, from wire `from` on, of MASKED bits. */
static uint64_t number(const uint64_t *bits, size_t from, size_t n, size_t i)
{
    uint64_t v = 0;
    for (unsigned b = 0; b < MASKED; b++) {
        const size_t at = from + b * n + i;
        v |= (bits[at / 64] >> (at % 64) & 1) << b;
    }
    return v;
}

static enum err enter(void *self, size_t portion, enum pair_end end, uint64_t *bits)
{
    const struct pair_joint *j = self;
    const size_t n = samples_of(j, portion), coins = BITS * COIN * n;
    uint64_t *out = j->out + portion * GATES_LANES;
    secret_random(bits, (size(j, portion).bits[end] + 63) / 64 * sizeof *bits);
    for (size_t i = 0; i < n && end == PAIR_PROVIDER; i++)
        out[i] -= (MIDDLE + number(bits, coins, n, i)) << SHIFT;
    return ERR_OK;
}

static enum err took(void *self, size_t portion, const uint64_t *bits)
{
    const struct pair_joint *j = self;
    const size_t n = samples_of(j, portion);
    uint64_t *out = j->out + portion * GATES_LANES;
    for (size_t i = 0; i < n; i++)
        out[i] += number(bits, 0, n, i) << SHIFT;
    return ERR_OK;
}

/* Bit b, negated, of the threshold of the prefix that came. */
static void threshold_bit(const struct pair_gates *g, struct pair_wire *out,
                          const struct pair_wire *came, size_t prefixes, unsigned b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = g->one;
    for (size_t p = 0; p < prefixes; p++)
        for (size_t i = 0; i < n && (joint_threshold[prefixes + p] >> b & 1) != 0; i++)
            out[i] = wire_xor(out[i], came[p * n + i]);
}

/* next[2 p + bit] = came[p] and the bit is that; of the empty prefix, which always came, no AND. */
static void lengthen(struct pair_gates *g, struct pair_wire *next, const struct pair_wire *came,
                     size_t prefixes, const struct pair_wire *bit, size_t n)
{
    for (size_t p = 0; p < prefixes; p++) {
        struct pair_wire *zero = next + 2 * p * n, *one = zero + n;
        if (prefixes == 1)
            memcpy(one, bit, n * sizeof *bit);
        else
            pair_gates_and(g, one, came + p * n, bit, n);
        for (size_t i = 0; i < n; i++)
            zero[i] = wire_xor(came[p * n + i], one[i]);
    }
}

/* z + 128: bit k is plane k of z. */
static enum err sample(struct pair_gates *g, const struct pair_wire *const in[2],
                       struct pair_wire *z, size_t n)
{
    struct pair_wire *coin, *bound, *came, *next, *one;
    TRY(scratch_array(g->scratch, &coin, COIN * n));
    TRY(scratch_array(g->scratch, &bound, COIN * n));
    TRY(scratch_array(g->scratch, &came, n));
    TRY(scratch_array(g->scratch, &one, n));
    for (size_t i = 0; i < n; i++)
        one[i] = came[i] = g->one;
    for (unsigned k = 0; k < BITS; k++, came = next) {
        const size_t from = k * COIN * n, prefixes = (size_t)1 << k;
        struct pair_wire *bit = z + (BITS - 1 - k) * n;
        for (size_t i = 0; i < COIN * n; i++)
            coin[i] = wire_xor(in[0][from + i], in[1][from + i]);
        for (unsigned b = 0; b < COIN; b++)
            threshold_bit(g, bound + b * n, came, prefixes, b, n);
        circuit_add(g, NULL, bit, coin, bound, one, COIN, n); /* whether coin - threshold >= 0 */
        circuit_not(g, bit, bit, n);
        TRY(scratch_array(g->scratch, &next, 2 * prefixes * n));
        if (k + 1 < BITS)
            lengthen(g, next, came, prefixes, bit, n);
    }
    return ERR_OK;
}

static enum err compute(const void *self, size_t portion, struct pair_gates *g,
                        const struct pair_wire *const in[2], struct pair_wire *out)
{
    const size_t n = samples_of(self, portion);
    memset(out, 0, MASKED * n * sizeof *out);
    TRY(sample(g, in, out, n));
    circuit_add(g, out, NULL, out, in[PAIR_PROVIDER] + BITS * COIN * n, NULL, MASKED, n);
    return ERR_OK;
}

static void joint_free(void *self)
{
    memory_release(&self);
}

static const struct pair_program joint_program = {.size = size,
                                                  .ands = ands_of,
                                                  .enter = enter,
                                                  .compute = compute,
                                                  .took = took,
                                                  .free = joint_free};

enum err pair_joint_new(struct pair_run **run, struct pair *pair, const struct pair_joint *joint)
{
    struct pair_joint *j;
    if (joint->n == 0)
        return ERR_RANGE;
    TRY(memory_new(&j, 1));
    *j = *joint;
    return program_run(run, pair, &joint_program, j, (j->n + GATES_LANES - 1) / GATES_LANES);
}
