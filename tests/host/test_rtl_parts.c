// SOURCES: userland/lib/strings.c userland/lib/descriptor.c userland/lib/extract.c
// SOURCES: userland/lib/characters.c userland/lib/lib_strings.c userland/lib/bits.c
// SOURCES: userland/lib/numbers.c
/* The tests of userland/tests/rtl_parts.c, under sanitizers; nothing is signalled. */
#include "userland/tests/rtl_parts.c"

int mega$signal(int stop, void *frame, int count, ...)
{
    (void)stop;
    (void)frame;
    (void)count;
    abort();
}
