/*
 * The tables by which entry.S finds the function of a system call: one word for each number. Of a
 * POSIX call that is the function's address, or that of syscall_full for those that need a complete
 * frame; so the fast path loads one word and tests nothing. Of a service it is the function's
 * address with the flags of kernel/sys/syscall.h in its two lowest bits, which are 0 in every
 * address of code. A number without a call has the address of syscall_missing, and the table of
 * POSIX calls is filled up with it to a power of two, so that one shift tells its numbers from
 * those of services. Constant after boot.
 */
#include "arch/alpha/entry/entry.h"
#include "kernel/base/abi/megalith/info.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/proc/process.h"
#include "kernel/sys/syscall.h"

/* In the small data area: entry.S adds the offset from GP in the instruction that loads it. */
uint64_t posix_dispatch[POSIX_DISPATCH] __attribute__((section(".sbss")));
uint64_t vms_dispatch[VMS_CALLS];

_Static_assert(POSIX_CALLS <= POSIX_DISPATCH && POSIX_DISPATCH <= VMS_FIRST,
               "numbers of services are not POSIX numbers");
_Static_assert((SYS_FULL_FRAME | SYS_RAW) == 3, "two bits of an instruction's address are 0");

_Static_assert((sizeof(struct syscall_entry) & (sizeof(struct syscall_entry) - 1)) == 0,
               "entry.S shifts the number of a call to find its entry");

static uint64_t word_of(const struct syscall_entry *e)
{
    KASSERT(!(e->flags & SYS_RAW) || (e->flags & SYS_FULL_FRAME), "entry.S tests one bit");
    return e->fn ? (uint64_t)e->fn | e->flags : (uint64_t)syscall_missing;
}

static uint64_t posix_word_of(const struct syscall_entry *e)
{
    uint64_t word = word_of(e);

    return word & SYS_FULL_FRAME ? (uint64_t)syscall_full : word;
}

void dispatch_boot(void)
{
    static const struct syscall_entry none;

    for (unsigned k = 0; k < POSIX_DISPATCH; k++)
        posix_dispatch[k] = posix_word_of(k < POSIX_CALLS ? &posix_calls[k] : &none);
    for (unsigned k = 0; k < VMS_CALLS; k++)
        vms_dispatch[k] = word_of(&vms_calls[k]);
#ifdef MEGALITH_TEST
    posix_dispatch[MEGA_TEST_STAIN_CALL] = (uint64_t)stack_stain;
#endif
}

/* A call whose number this is returned -ENOMEM. 0: it is to be made again; else the errno that it
 * has. IPL 0; waits. By entry.S. */
int syscall_no_memory(uint64_t number)
{
    return number < POSIX_CALLS && posix_calls[number].again ? process_call_again() : ENOMEM;
}
