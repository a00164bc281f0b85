/* Replaces gcm_ipsec.c where libipsec-mb is absent: libcrypto seals everything. */
#include "netio/gcm_ipsec.h"

enum err gcm_ipsec_new(struct gcm_ipsec **gcm, bool seals, const uint8_t key[GCM_KEY])
{
    (void)seals;
    (void)key;
    *gcm = NULL;
    return ERR_OK;
}

void gcm_ipsec_free(struct gcm_ipsec **gcm)
{
    *gcm = NULL;
}

void gcm_ipsec_run(const struct gcm_ipsec *gcm, const uint8_t nonce[GCM_NONCE], const void *ad,
                   size_t ad_size, const void *in, size_t n, void *out, uint8_t tag[GCM_TAG])
{
    (void)gcm;
    (void)nonce;
    (void)ad;
    (void)ad_size;
    (void)in;
    (void)n;
    (void)out;
    (void)tag;
}

const char *gcm_ipsec_version(void)
{
    return NULL;
}
