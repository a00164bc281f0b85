#include "netio/gcm_ipsec.h"

#include "base/memory.h"
#include "base/processor.h"

#include <intel-ipsec-mb.h>

struct gcm_ipsec {
    struct gcm_key_data key;
    aes_gcm_enc_dec_t run;
};

static bool usable(void)
{
    return processor_best(NULL) == PROCESSOR_AVX512 && processor_has_wide_ciphers();
}

enum err gcm_ipsec_new(struct gcm_ipsec **gcm, bool seals, const uint8_t key[GCM_KEY])
{
    *gcm = NULL;
    if (!usable())
        return ERR_OK;
    IMB_MGR *manager = alloc_mb_mgr(0);
    struct gcm_ipsec *g = memory_words(1, sizeof *g);
    if (manager == NULL || g == NULL) {
        free_mb_mgr(manager);
        memory_free(&g);
        return ERR_NOMEM;
    }
    init_mb_mgr_avx512(manager);
    IMB_AES128_GCM_PRE(manager, key, &g->key);
    g->run = seals ? manager->gcm128_enc : manager->gcm128_dec;
    free_mb_mgr(manager);
    *gcm = g;
    return ERR_OK;
}

void gcm_ipsec_free(struct gcm_ipsec **gcm)
{
    memory_wipe_free(gcm, sizeof **gcm);
}

void gcm_ipsec_run(const struct gcm_ipsec *gcm, const uint8_t nonce[GCM_NONCE], const void *ad,
                   size_t ad_size, const void *in, size_t n, void *out, uint8_t tag[GCM_TAG])
{
    struct gcm_context_data context;
    gcm->run(&gcm->key, &context, out, in, n, nonce, ad, ad_size, tag, GCM_TAG);
}

const char *gcm_ipsec_version(void)
{
    return usable() ? "libipsec-mb " IMB_VERSION_STR : NULL;
}
