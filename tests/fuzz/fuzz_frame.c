/* The frame header's parser: what it accepts, it writes back byte for byte. */
#include "netio/frame.h"
#include "tests/fuzz/fuzz.h"

#define TAG 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t session[FRAME_SESSION] = {0};
    struct frame_header h;
    uint8_t back[FRAME_HEADER];

    (void)frame_is_foreign(data, size, session);
    if (frame_parse(&h, data, size) != ERR_OK)
        return 0;
    frame_encode(&h, back);
    never(memcmp(back, data, FRAME_HEADER) != 0 || size != FRAME_HEADER + h.length + TAG);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    uint8_t frame[FRAME_HEADER + 8 + TAG] = {0};
    struct frame_header h = {
        .kind = FRAME_DATA, .sender = 1, .receiver = 2, .exchange = 7, .total = 24, .length = 8};
    frame_encode(&h, frame);
    put(self, frame, sizeof frame);
    h = (struct frame_header){.kind = FRAME_ABORT, .receiver = 1};
    frame_encode(&h, frame);
    put(self, frame, FRAME_HEADER + TAG);
}
