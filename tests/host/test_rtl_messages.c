// SOURCES: userland/lib/message.c userland/lib/put_message.c userland/lib/fao.c userland/lib/time.c
// SOURCES: userland/lib/descriptor.c userland/lib/clock.c
/* The tests of userland/tests/rtl_messages.c, under sanitizers; no condition is being signalled. */
#include "userland/tests/rtl_messages.c"

#include "userland/lib/handlers.h"

const int64_t *mega$signal_quadwords(const void *longwords, size_t *count)
{
    (void)longwords;
    (void)count;
    return NULL;
}
