/*
 * What a tracer sees of a thread that has stopped: its registers; and the memory of a process,
 * which is copied in parts through a buffer on the stack, since only one address space is loaded.
 *
 * Every register of user mode can be set to any value: the PC loses its two lowest bits, and a bad
 * one is a fault of the thread. The processor status is not among them.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/ptrace.h"
#include "kernel/sched/thread.h"
#include "mm/space/aspace_read.h"

/* Numbers as Linux/Alpha has them: 0-31 integer, 32-63 floating point. */
#define REG_GP     29u
#define REG_USP    30u
#define REG_ZERO   31u
#define REG_FP     32u
#define REG_FPCR   63u
#define REG_PC     64u
#define REG_UNIQUE 65u

#define IEEE_CONTROL 0x7E007EUL /* bits of the software's control word */
#define IEEE_STATUS  0x7E0000UL /* those of them that are in the FPCR */

static uint64_t *integer(struct trapframe *f, unsigned reg)
{
    if (reg < 16)
        return &f->v0 + reg;
    if (reg >= 19 && reg < REG_GP)
        return &f->a3 + (reg - 19);
    return reg == 16 ? &f->a0 : reg == 17 ? &f->a1 : reg == 18 ? &f->a2 : &f->gp;
}

static uint64_t *place_of(const struct tracee *t, uint64_t reg)
{
    struct trapframe *f = user_frame_of(&t->thread->thread->hw);

    if (reg < REG_USP)
        return integer(f, (unsigned)reg);
    if (reg == REG_USP)
        return &f->usp;
    if (reg >= REG_FP && reg <= REG_FPCR)
        return &t->stop->fp.f[reg - REG_FP];
    return reg == REG_PC ? &f->pc : reg == REG_UNIQUE ? &t->stop->unique : NULL;
}

uint64_t ptrace_register_locked(const struct tracee *t, uint64_t reg)
{
    const uint64_t *at = place_of(t, reg);

    if (reg == REG_FPCR)
        return *at | t->thread->ieee_control;
    return at ? *at : 0;
}

void ptrace_set_register_locked(struct tracee *t, uint64_t reg, uint64_t v)
{
    uint64_t *at = place_of(t, reg);

    if (!at)
        return;
    if (reg == REG_FPCR) {
        t->thread->ieee_control = v & IEEE_CONTROL & ~IEEE_STATUS;
        v &= ~IEEE_CONTROL;
    }
    if (reg >= REG_FP && reg <= REG_FPCR)
        t->stop->fp_changed = true;
    if (reg == REG_UNIQUE)
        t->stop->unique_changed = true;
    *at = reg == REG_PC ? v & ~UINT64_C(3) : v;
}

struct aspace *ptrace_space_locked(const struct process *p)
{
    struct aspace *as = p->state == PROCESS_LIVE ? p->aspace : NULL;

    if (as)
        aspace_ref(as);
    return as;
}

/* One part, which lies in one page. 0; -EFAULT: of the caller's memory; -EIO; -EINTR. */
static int copy_part(struct aspace *as, vaddr_t at, vaddr_t local, size_t n, unsigned flags)
{
    uint8_t part[ASPACE_READ_MAX];
    int err;

    if (at >= LAYOUT_USER_TOP)
        return -EIO;
    if (!(flags & PTRACE_COPY_WRITE)) {
        err = aspace_read(as, at, part, n);
        if (!err)
            return copyout(local, part, n);
    } else {
        if (copyin(part, local, n))
            return -EFAULT;
        err = aspace_write(as, at, part, n, (flags & PTRACE_COPY_FORCED) != 0);
    }
    return err == -EINTR || !err ? err : -EIO;
}

long ptrace_copy(struct aspace *as, vaddr_t at, vaddr_t local, size_t n, unsigned flags)
{
    struct aspace_visit visit;
    size_t done = 0;
    int err = 0;

    aspace_visit_begin(&visit, as); /* the caller's own memory may have to be waited for, too */
    while (done < n && !err) {
        size_t some = MIN(MIN(n - done, ASPACE_READ_MAX), PAGE_SIZE - (at & PAGE_MASK));

        err = thread_killed() ? -EINTR : copy_part(as, at, local + done, some, flags);
        if (!err) {
            done += some;
            at += some;
        }
    }
    aspace_visit_end(&visit);
    return done ? (long)done : err;
}
