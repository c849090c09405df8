/*
 * Handling of interrupts, faults and traps: the C functions that entry.S calls with the frame that
 * it built. They run on the thread's kernel stack, interrupts at the interrupt's IPL, all others at
 * the IPL of the interrupted code, and take no lock themselves.
 *
 * An interrupt is dispatched to its handler, and its time is accounted. A memory fault is resolved
 * by the address space or by system space. If it cannot be resolved, user mode gets a signal, and
 * the kernel continues at the fix-up of the faulting instruction (arch/alpha/hw/usercopy.h). Other
 * traps of user mode are emulated (unaligned accesses, floating point) or become signals.
 * Everything else panics: a trap of the kernel without a fix-up, a fault at raised IPL or with a
 * spinlock held, a machine check that is not a bus error. The backtrace of a panic continues
 * through the frame, and prints the registers of the interrupted code with it.
 */
#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/entry/entry.h"
#include "arch/alpha/entry/fp_complete.h"
#include "arch/alpha/entry/unaligned.h"
#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/fp.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/switch.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/panic.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/process.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal_numbers.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/lockcheck.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched.h"
#include "kernel/trace/alignment.h"
#include "kernel/trace/pcsample.h"
#include "mm/phys/failure.h"
#include "mm/pt/pt_system.h"
#include "mm/space/aspace.h"

enum interrupt_kind { INTERRUPT_IPI, INTERRUPT_CLOCK, INTERRUPT_MACHINE_CHECK, INTERRUPT_DEVICE };
enum memory_kind {
    MM_NOT_VALID,
    MM_ACCESS,
    MM_FAULT_ON_READ,
    MM_FAULT_ON_EXECUTE,
    MM_FAULT_ON_WRITE
};
enum instruction_kind { IF_BPT, IF_BUGCHK, IF_GENTRAP, IF_FEN, IF_OPDEC };

/* Arithmetic summary bits. */
#define EXC_SWC 0x1 /* software completion requested (/S qualifier) */
#define EXC_INV 0x2
#define EXC_DZE 0x4
#define EXC_FOV 0x8
#define EXC_UNF 0x10
#define EXC_INE 0x20
#define EXC_IOV 0x40

/* gentrap codes of the Alpha calling standard, in a0. */
#define GEN_INTOVF  (-1L)
#define GEN_INTDIV  (-2L)
#define GEN_FLTOVF  (-3L)
#define GEN_FLTDIV  (-4L)
#define GEN_FLTUND  (-5L)
#define GEN_FLTINV  (-6L)
#define GEN_FLTINE  (-7L)
#define GEN_ROPRAND (-16L)
#define GEN_SUBRNG  (-18L)

void entry_points_set(void)
{
    static void (*const entries[])(void) = {entry_interrupt,   entry_arithmetic, entry_memory,
                                            entry_instruction, entry_unaligned,  entry_syscall};

    user_return = user_return_full;
    KASSERT(fixup_table_sorted(), "the exception table rises");
    for (unsigned i = 0; i < ARRAY_SIZE(entries); i++)
        pal_wrent((uint64_t)entries[i], i);
}

/* Machine check in progress, and corrected errors: writing ones clears these bits of MCES. */
#define MCES_CLEAR 7

/*
 * A machine check because no device answered an access: a page-frame section may map bus memory
 * that no device decodes. For an access of user mode SIGBUS is sent, for one of a user copy at IPL
 * 0 control goes to its fix-up, and the function returns true. It returns false for any other
 * machine check, which is fatal. The entry runs at IPL_HIGH; the PC is that of the instruction
 * after the access.
 */
static bool bus_error(struct trapframe *f)
{
    uint64_t pc = f->pc - 4, fixup = frame_from_user(f) ? 0 : fixup_find(pc);

    if (!frame_from_user(f) && (!fixup || fixup_is_kernel_read(pc) || (f->ps & 7)))
        return false;
    pal_wrmces(MCES_CLEAR);
    if (fixup) {
        f->pc = fixup;
        return true;
    }
    ipl_restore(IPL_NONE);
    signal_force(SIGBUS, BUS_OBJERR, pc);
    return true;
}

static void bad_interrupt(uint64_t kind, uint64_t vector, uint64_t param, struct trapframe *f)
{
    if (kind == INTERRUPT_MACHINE_CHECK && bus_error(f))
        return;
    panic("machine check or unknown interrupt %lu, vector %#lx, parameter %#lx, pc %#lx", kind,
          vector, param, f->pc);
}

static inline void nothing_left_in_user_mode(const struct trapframe *f, const struct thread *t)
{
    if (frame_from_user(f) && unlikely(t->held_mutexes != 0 || thread_spin_top(t) != NULL))
        lockcheck_left("is in user mode", 0);
}

/*
 * Lock checks: a thread in user mode holds no lock, and a handler releases every lock that it
 * takes. ipl_raised_at is set to a PC in this function, so that the report of a mutex taken by a
 * handler names it as the place where the IPL was raised.
 *
 * Time in interrupts is accounted here. A nested interrupt adds its time to the same sum, and that
 * time is also part of what this interrupt measures. So the sum is not added to but set: to its
 * value before, plus the whole time of this interrupt, less the time spent waiting for spinlocks,
 * which is accounted separately.
 */
void trap_interrupt(uint64_t kind, uint64_t vector, uint64_t param, struct trapframe *f)
{
    struct cpu *c = cpu_self();
    unsigned idle = __atomic_load_n(&c->idle, __ATOMIC_RELAXED) != 0;
    uint64_t *sum = &c->interrupt_cycles[idle], before = __atomic_load_n(sum, __ATOMIC_RELAXED);
    uint64_t spun = __atomic_load_n(&c->spin_cycles[idle], __ATOMIC_RELAXED);
    uint32_t start = clock_cycles();
    struct thread *t = thread_self();
    const struct spinlock *held = thread_spin_top(t);
    uint64_t raised_at = __atomic_load_n(&t->hw.ipl_raised_at, __ATOMIC_RELAXED);

    nothing_left_in_user_mode(f, t);
    __atomic_store_n(&t->hw.ipl_raised_at, cpu_pc(), __ATOMIC_RELAXED);
    switch (kind) {
    case INTERRUPT_IPI:
        ipi_poll();
        break;
    case INTERRUPT_CLOCK:
        if (pcs_on())
            pcs_clock(f);
        if (perturb_on())
            perturb_clock(f);
        sched_clock_tick(frame_from_user(f));
        break;
    case INTERRUPT_DEVICE:
        c->interrupts++;
        irq_dispatch(vector);
        break;
    default:
        bad_interrupt(kind, vector, param, f); /* may return on another CPU: not accounted */
        return;
    }
    if (unlikely(thread_spin_top(t) != held))
        lockcheck_left_by_handler(thread_spin_top(t));
    __atomic_store_n(&t->hw.ipl_raised_at, raised_at, __ATOMIC_RELAXED);
    spun = __atomic_load_n(&c->spin_cycles[idle], __ATOMIC_RELAXED) - spun;
    __atomic_store_n(sum, before + (uint32_t)(clock_cycles() - start) - spun, __ATOMIC_RELAXED);
}

static const char *cause_name(int64_t cause)
{
    return cause < 0 ? "execute" : cause ? "write" : "read";
}

static void __attribute__((noreturn)) bad_kernel_access(uint64_t va, uint64_t kind, int64_t cause,
                                                        const struct trapframe *f)
{
    static const char *const kinds[] = {"not mapped", "access violation", "fault on read",
                                        "fault on execute", "fault on write"};

    const char *what = kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown";
    const struct thread *t = thread_self();
    const struct spinlock *l = thread_spin_top(t);

    if (l)
        panic("kernel %s at %#lx: %s, pc %pS, IPL %lu, with spinlock %s held, taken at %pS",
              cause_name(cause), va, what, (void *)f->pc, f->ps & 7, l->name, (void *)l->taken_at);
    if (f->ps & 7)
        panic("kernel %s at %#lx: %s, pc %pS, IPL %lu, raised at %pS", cause_name(cause), va, what,
              (void *)f->pc, f->ps & 7, (void *)t->hw.ipl_raised_at);
    panic("kernel %s at %#lx: %s, pc %pS", cause_name(cause), va, what, (void *)f->pc);
}

/* PALcode's cause: -1 fetch, 0 load, 1 store. */
static inline enum fault_access access_of(int64_t cause)
{
    return cause < 0 ? FAULT_EXEC : cause ? FAULT_WRITE : FAULT_READ;
}

/* Resolve a fault at va. Returns 0 or an error. */
static int resolve(uint64_t va, int64_t cause)
{
    struct process *p;

    if (va >= LAYOUT_SYSTEM_BASE && va < LAYOUT_PT_SPACE_BASE)
        return system_fault(va & ~PAGE_MASK, access_of(cause));
    p = process_self();
    if (va >= LAYOUT_USER_TOP || !p)
        return -EFAULT;
    return aspace_fault(p->aspace, va, access_of(cause));
}

/* A fault of user mode could not be resolved. */
static void __attribute__((noinline)) user_fault_failed(uint64_t va, int err)
{
    if (err == -ENOMEM)
        process_no_memory();
    else if (err == -ENOSPC && page_out_wait()) /* a file in memory */
        return;
    else if (err == -EFAULT || err == -EACCES)
        signal_force(SIGSEGV, err == -EACCES ? SEGV_ACCERR : SEGV_MAPERR, va);
    else if (err == -EIO) /* its page cannot be read: SS$_PAGRDERR for a condition handler */
        signal_force_error(SIGBUS, BUS_ADRERR, va, EIO);
    else if (err != -EINTR) /* the address is mapped, but its object has no such page */
        signal_force(SIGBUS, BUS_ADRERR, va);
    /* -EINTR: a fatal signal ended the wait for the page; it takes effect on the return path. */
}

/* A copy of the kernel's got no page: wait for the pager. True: the access is tried again. */
static bool wait_in_kernel(uint64_t va, int64_t cause)
{
    if (!page_out_active())
        return false;
    return page_out_wait() || (!failure_counting() && resolve(va, cause) == 0);
}

static void __attribute__((noinline)) memory_in_kernel(uint64_t va, uint64_t kind, int64_t cause,
                                                       struct trapframe *f)
{
    uint64_t fixup;
    int err;

    /* A fault at raised IPL or with a spinlock held is a bug, whatever the address; so is a fault
       on a user address outside the functions of usercopy.S. A fault on a kernel address is fixed
       up only where a lookaside list reads a packet that may have been unmapped: in an ordinary
       copy it means that the kernel's own buffer is wrong. */
    fixup = fixup_find(f->pc);
    if (f->ps & 7 || (va < LAYOUT_USER_TOP && !fixup) || spin_depth())
        bad_kernel_access(va, kind, cause, f);
    if (unlikely(thread_self()->no_faults) && va < LAYOUT_USER_TOP)
        err = -EFAULT;
    else if (failure_counting() && va < LAYOUT_USER_TOP)
        err = failure_in_fault(resolve, va, cause, false);
    else
        err = resolve(va, cause);
    if (err == 0 ||
        ((err == -ENOMEM || err == -ENOSPC) && va < LAYOUT_USER_TOP && wait_in_kernel(va, cause)))
        return;
    if (!fixup || (va >= LAYOUT_USER_TOP && !fixup_is_kernel_read(f->pc)))
        bad_kernel_access(va, kind, cause, f);
    f->pc = fixup;
}

void trap_memory(uint64_t va, uint64_t kind, int64_t cause, struct trapframe *f)
{
    int err = -EFAULT;

    if (unlikely(!frame_from_user(f))) {
        memory_in_kernel(va, kind, cause, f);
        return;
    }
    if (unlikely(failure_counting())) {
        if (va < LAYOUT_USER_TOP)
            err = failure_in_fault(resolve, va, cause, true);
    } else if (likely(va < LAYOUT_USER_TOP)) { /* in user mode there is a process */
        err = aspace_fault(process_self()->aspace, va, access_of(cause));
    }
    if (unlikely(err))
        user_fault_failed(va, err);
}

void trap_arithmetic(uint64_t summary, uint64_t registers, struct trapframe *f)
{
    int code = FPE_FLTINV;

    (void)registers;
    if (!frame_from_user(f))
        panic("arithmetic trap in the kernel, summary %#lx, pc %pS", summary, (void *)f->pc);
    if (summary & EXC_SWC) {
        code = fp_complete(f);
        if (code == 0)
            return;
    } else if (summary & EXC_IOV)
        code = FPE_INTOVF;
    else if (summary & EXC_DZE)
        code = FPE_FLTDIV;
    else if (summary & EXC_FOV)
        code = FPE_FLTOVF;
    else if (summary & EXC_UNF)
        code = FPE_FLTUND;
    else if (summary & EXC_INE && !(summary & EXC_INV))
        code = FPE_FLTRES;
    signal_force(SIGFPE, code, f->pc);
}

static void gentrap(const struct trapframe *f)
{
    static const struct {
        long trap;
        int code;
    } codes[] = {
        {GEN_INTOVF, FPE_INTOVF}, {GEN_INTDIV, FPE_INTDIV},  {GEN_FLTOVF, FPE_FLTOVF},
        {GEN_FLTDIV, FPE_FLTDIV}, {GEN_FLTUND, FPE_FLTUND},  {GEN_FLTINV, FPE_FLTINV},
        {GEN_FLTINE, FPE_FLTRES}, {GEN_ROPRAND, FPE_FLTINV}, {GEN_SUBRNG, FPE_FLTSUB},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(codes); i++)
        if ((long)f->a0 == codes[i].trap) {
            signal_force(SIGFPE, codes[i].code, f->pc);
            return;
        }
    signal_force(SIGTRAP, TRAP_BRKPT, f->pc);
}

void trap_instruction(uint64_t kind, struct trapframe *f)
{
    if (!frame_from_user(f)) {
        static const char *const kinds[] = {"bpt", "bugchk (a sanitizer's trap)", "gentrap",
                                            "floating point used", "opDEC (illegal instruction)"};

        /* f->pc is that of the next instruction, which may belong to another function. */
        panic("%s in the kernel, pc %pS", kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown trap",
              (void *)(f->pc - 4));
    }
    switch (kind) {
    case IF_FEN:
        f->pc -= 4; /* QEMU 7.2 gives the PC of the next instruction, hardware the faulting one */
        fp_enable();
        return;
    case IF_GENTRAP:
        gentrap(f);
        return;
    case IF_BPT:
        if (ptrace_breakpoint(f))
            return;
        signal_force(SIGTRAP, TRAP_BRKPT, f->pc);
        return;
    case IF_BUGCHK:
        signal_force(SIGTRAP, TRAP_BRKPT, f->pc);
        return;
    }
    signal_force(SIGILL, ILL_ILLOPC, f->pc - 4);
}

void trap_unaligned(uint64_t va, uint64_t opcode, uint64_t reg, struct trapframe *f)
{
    if (frame_from_user(f)) {
        int err = unaligned_fixup_user(f, va, (unsigned)opcode, (unsigned)reg);

        if (err == 0 && align_on())
            align_note(f->pc - 4, va, (unsigned)opcode);
        if (err == -EINVAL)
            signal_force(SIGBUS, BUS_ADRALN, va);
        else if (err)
            signal_force(SIGSEGV, SEGV_MAPERR, va);
        return;
    }

    /* f->pc is that of the next instruction. */
    uint64_t fixup = fixup_find(f->pc - 4);

    if (!fixup)
        panic("unaligned kernel access at %#lx, opcode %#lx, register %lu, pc %pS", va, opcode, reg,
              (void *)(f->pc - 4));
    f->pc = fixup;
}

void trap_stack_overflow(struct trapframe *f, uint64_t sp)
{
    struct thread_hw *t = current_hw;
    uint64_t limit = t->kstack_limit;

    /* Further traps, on the emergency stack, must not be reported as another overflow. */
    t->kstack_limit = 0;
    panic_frame_at(f, sp, "kernel stack overflow: frame %p lies below the limit %#lx of thread %p",
                   (void *)f, limit, (void *)t);
}
