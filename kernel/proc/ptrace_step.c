/*
 * Single steps. Alpha has no trace trap, so one instruction is executed in one of three ways,
 * chosen when the thread is about to return to user mode:
 *
 *   - a branch or a jump is carried out here, on the frame, and the trap is reported at once;
 *   - a system call is made, and the trap is reported when it returns;
 *   - before any other instruction a breakpoint is planted behind it, and taken away when it is
 *     executed, or when the thread stops for another reason before.
 *
 * So there is one breakpoint at most, and no other instruction than the next lies in between: only
 * page faults and preemption can come in. Another thread of the process that runs into it waits, by
 * executing the instruction again, until it is gone. A process that is forked meanwhile by another
 * thread keeps it. A thread for whose breakpoint there is no memory, or no memory to take it away
 * again after such a fork, does what a page fault would do: it waits for some, or is killed. The
 * trap ends a load-locked sequence, as every trap does: a debugger has to step over these as a
 * whole.
 */
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/proc/ptrace.h"
#include "kernel/sched/thread.h"
#include "mm/space/aspace_read.h"

#define CALLSYS    0x83u
#define BPT        0x80u
#define OP_PAL     0x00u
#define OP_JMP     0x1Au
#define OP_BR      0x30u /* from here on all are branches */
#define OP_BSR     0x34u
#define LOOK_MOST  32u /* planted breakpoints that are looked at */
#define BYTES_EACH 4u

static uint64_t *integer(struct trapframe *f, unsigned reg)
{
    if (reg < 16)
        return &f->v0 + reg;
    if (reg >= 19 && reg < 29)
        return &f->a3 + (reg - 19);
    return reg == 16   ? &f->a0
           : reg == 17 ? &f->a1
           : reg == 18 ? &f->a2
           : reg == 29 ? &f->gp
                       : &f->usp;
}

static uint64_t get(struct trapframe *f, unsigned reg) { return reg == 31 ? 0 : *integer(f, reg); }

static void put(struct trapframe *f, unsigned reg, uint64_t v)
{
    if (reg != 31)
        *integer(f, reg) = v;
}

/* Is the branch taken? The condition is in the lowest two bits: for integers low bit clear, equal,
 * less, less or equal; for floating point 0 is an unconditional branch. Bit 2 inverts it. */
static bool is_taken(struct trapframe *f, unsigned op, unsigned reg)
{
    bool fp = op < 0x38, zero, negative, holds;
    uint64_t v = fp ? fp_get(reg) : get(f, reg);

    if (op == OP_BR || op == OP_BSR)
        return true;
    zero = fp ? v << 1 == 0 : v == 0;
    negative = (int64_t)v < 0 && !(fp && zero);
    switch (op & 3) {
    case 0:
        holds = !(v & 1);
        break;
    case 1:
        holds = zero;
        break;
    case 2:
        holds = negative;
        break;
    default:
        holds = negative || zero;
    }
    return op & 4 ? !holds : holds;
}

/* Carry out the instruction at f->pc, if it is a branch or a jump. */
static bool carry_out(struct trapframe *f, uint32_t word)
{
    unsigned op = word >> 26, ra = word >> 21 & 31, rb = word >> 16 & 31;
    uint64_t next = f->pc + 4, target = next;

    if (op != OP_JMP && op < OP_BR)
        return false;
    if (op == OP_JMP)
        target = get(f, rb) & ~UINT64_C(3);
    else if (is_taken(f, op, ra))
        target = next + (uint64_t)((int64_t)((uint64_t)word << 43) >> 43) * 4;
    if (op == OP_JMP || op == OP_BR || op == OP_BSR)
        put(f, ra, next);
    f->pc = target;
    return true;
}

/* Link t into the process's list of those that have planted a breakpoint, or take it out. The list
 * may be long: a program that takes breakpoints away has threads that never run into theirs. */
static void note(struct tracee *t, bool planted)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    struct tracee *next = planted ? p->planted : t->next_planted;
    struct tracee **from = planted ? &p->planted : t->planted_from;

    t->planted = planted;
    *from = planted ? t : next;
    if (next)
        next->planted_from = planted ? &t->next_planted : from;
    t->next_planted = next;
    t->planted_from = from;
    spin_unlock(&process_lock, ipl);
}

static int write_word(vaddr_t at, uint32_t word)
{
    int err;

    while ((err = aspace_write(process_self()->aspace, at, &word, BYTES_EACH, true)) == -ENOMEM) {
        process_no_memory();
        if (thread_killed())
            break;
    }
    pal_imb();
    return err;
}

static void plant(struct tracee *t, vaddr_t at)
{

    if (copyin_u32(&t->instruction, at) != 0)
        return; /* it cannot be executed either */
    t->planted_at = at;
    note(t, true);
    if (write_word(at, BPT) != 0)
        note(t, false);
}

void ptrace_unplant(struct tracee *t)
{
    uint32_t now;

    if (process_self()->aspace && copyin_u32(&now, t->planted_at) == 0 && now == BPT)
        (void)write_word(t->planted_at, t->instruction);
    note(t, false);
}

void ptrace_last_step(void)
{
    struct tracee *t = ptrace_self();

    if (t->planted)
        ptrace_unplant(t);
}

void ptrace_step(struct trapframe *f)
{
    struct tracee *t = ptrace_self();
    uint32_t word;

    if (!t || !t->steps || !ptrace_has_tracer(t) || t->planted || t->in_call || thread_killed())
        return;
    if (copyin_u32(&word, f->pc) != 0)
        return; /* the fault that follows is reported */
    if (word == CALLSYS)
        return; /* ptrace_return() reports its end */
    if (carry_out(f, word))
        signal_step(f->pc);
    else if (word != BPT)
        plant(t, f->pc + BYTES_EACH);
}

/* Has another thread of the process planted a breakpoint at `at`? */
static bool is_of_another(vaddr_t at)
{
    struct process *p = process_self();
    ipl_t ipl = spin_lock(&process_lock);
    const struct tracee *t = p->planted;
    bool found = false;

    for (unsigned n = 0; t && n < LOOK_MOST && !found; n++, t = t->next_planted)
        found = t->planted_at == at;
    spin_unlock(&process_lock, ipl);
    return found;
}

bool ptrace_breakpoint(struct trapframe *f)
{
    struct tracee *t = ptrace_self();
    vaddr_t at = f->pc - BYTES_EACH;
    uint32_t word;

    if (t && t->planted && t->planted_at == at) {
        ptrace_unplant(t);
        f->pc = at;
        signal_step(at);
        return true;
    }
    if (process_alone(process_self()))
        return false;
    if (!is_of_another(at) && (copyin_u32(&word, at) != 0 || word == BPT))
        return false; /* one of the program or of a debugger */
    f->pc = at;
    thread_yield();
    return true;
}
