/* The frame header's parser: what it accepts, it writes back byte for byte. */
#include "netio/frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t session[FRAME_SESSION] = {0};
    struct frame_header h;
    uint8_t back[FRAME_HEADER];

    (void)frame_is_foreign(data, size, session);
    if (frame_parse(&h, data, size, 16) != ERR_OK)
        return 0;
    frame_encode(&h, back);
    if (memcmp(back, data, FRAME_HEADER) != 0 || size != FRAME_HEADER + h.length + 16)
        abort();
    return 0;
}
