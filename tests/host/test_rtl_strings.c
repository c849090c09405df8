// SOURCES: userland/lib/strings.c userland/lib/vm.c userland/lib/arithmetic.c userland/lib/timer.c
// SOURCES: userland/lib/descriptor.c userland/lib/fao.c userland/lib/fao_services.c
// SOURCES: userland/lib/time.c userland/lib/clock.c userland/lib/lines.c userland/lib/extract.c
// SOURCES: userland/lib/prompt.c
/* The tests of userland/tests/rtl_strings.c, under sanitizers; nothing is signalled. */
#include "userland/tests/rtl_strings.c"

#include <iledef.h>
#include <jpidef.h>

int mega$signal(int stop, void *frame, int count, ...)
{
    (void)stop;
    (void)frame;
    (void)count;
    abort();
}

/* A request of 2^62 bytes is to be refused, not reported. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* The counts of I/O that the timers show are the kernel's; here each look finds more. */
int sys$getjpiw(unsigned int efn, unsigned int *pidadr, void *prcnam, void *itmlst,
                struct _iosb *iosb, mega_ast_routine astadr, __int64 astprm)
{
    static uint32_t buffered;

    (void)efn;
    (void)pidadr;
    (void)prcnam;
    (void)iosb;
    (void)astadr;
    (void)astprm;
    buffered++;
    for (const ILE3 *i = itmlst; i->ile3$w_code; i++)
        *(uint32_t *)i->ile3$ps_bufaddr = i->ile3$w_code == JPI$_BUFIO ? buffered : 0;
    return SS$_NORMAL;
}
