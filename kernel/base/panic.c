/*
 * Panic. The first CPU that panics is the owner of the panic. It stops the other CPUs by a function
 * that arch/alpha/entry registered, which sends an interprocessor interrupt, prints its own state,
 * and then lets each CPU that has stopped print its state in turn. A CPU that does not stop in time
 * is named, and the host reads its registers from QEMU's monitor. Another CPU that panics meanwhile
 * is treated like one that has stopped; it also prints its own reason.
 *
 * No lock is taken. panic_turn says which CPU may print, and only the owner changes it, so one CPU
 * prints at a time. All CPUs stay at the highest IPL.
 */
#include "kernel/base/panic.h"

#include <stdarg.h>

#include "arch/alpha/clipper/channel.h"
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/backtrace.h"
#include "kernel/base/format.h"
#include "kernel/base/panic_stop.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"

#define IPL_HIGHEST     7
#define CSERVE_GET_TIME 7
/* How long the owner waits for another CPU to stop. Four virtual CPUs may share two cores of the
   host, whose time slice is some 10 ms. */
#define ARRIVE_NS   2000000000UL
#define PRINT_NS    10000000000UL
#define REASON_MAX  320
#define DUMPERS_MAX 16

#define NOBODY UINT32_MAX

static uint32_t panic_owner = NOBODY; /* atomic: CPU that panicked first */
static uint32_t panic_arrived;        /* atomic: mask of the CPUs that have stopped */
static uint32_t panic_printed;        /* atomic: mask of the CPUs that have printed */
static uint32_t panic_turn = NOBODY;  /* atomic: CPU that may print; stored by the owner */
static bool panic_told;               /* the record was sent to the host; owner only */
static char panic_reason[REASON_MAX]; /* owner only */

static void (*stop_others)(void); /* constant after boot */
static struct {
    const char *name;
    void (*fn)(void);
} dumpers[DUMPERS_MAX]; /* constant after boot */
static unsigned ndumpers;

void panic_set_stop(void (*fn)(void)) { stop_others = fn; }
bool panic_in_progress(void) { return __atomic_load_n(&panic_owner, __ATOMIC_ACQUIRE) != NOBODY; }

void panic_register_dump(const char *name, void (*fn)(void))
{
    KASSERT(ndumpers < DUMPERS_MAX, "the table of panic dumpers has room (DUMPERS_MAX)");
    dumpers[ndumpers].name = name;
    dumpers[ndumpers++].fn = fn;
}

static uint64_t now_ns(void) { return pal_cserve(CSERVE_GET_TIME, 0); }

static void __attribute__((noreturn)) stand_still(void)
{
    for (;;)
        pal_wtint(0);
}

static uint32_t online_mask(void)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < MAX_CPUS; i++)
        if (__atomic_load_n(&cpus[i].online, __ATOMIC_ACQUIRE))
            mask |= 1u << i;
    return mask;
}

/* Send the record on COM2: panicking CPU, mask of the CPUs that stopped, mask of the CPUs online,
   reason. */
static void tell_host(unsigned cpu)
{
    struct {
        uint32_t cpu, answered, online;
        char reason[REASON_MAX];
    } notice;

    if (panic_told)
        return;
    panic_told = true;
    notice.cpu = cpu;
    notice.answered = __atomic_load_n(&panic_arrived, __ATOMIC_ACQUIRE) | 1u << cpu;
    notice.online = online_mask() | 1u << cpu;
    memcpy(notice.reason, panic_reason, REASON_MAX);
    channel_write_panic(CHANNEL_PANIC, &notice,
                        offsetof(__typeof__(notice), reason) + strnlen(panic_reason, REASON_MAX));
}

static void print_self(const struct trapframe *f, uint64_t sp, uint64_t ipl)
{
    const struct cpu *c = cpu_self();

    current_hw->pcb.usp = pal_rdusp(); /* a debugger needs it for a backtrace into user mode */
    printk("CPU %lu, thread %p, IPL %lu\n", c->id, (const void *)current_hw, ipl);
    if (f)
        backtrace_frame(f, sp);
    else
        backtrace_here();
}

/* On a CPU that is not the owner: print when it is this CPU's turn, then wait for ever. */
static void __attribute__((noreturn)) stopped(const struct trapframe *f, uint64_t sp, uint64_t ipl,
                                              const char *why)
{
    unsigned id = cpu_id();

    __atomic_fetch_or(&panic_arrived, 1u << id, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&panic_turn, __ATOMIC_ACQUIRE) != id)
        ;
    if (why)
        printk("CPU %u panicked too: %s\n", id, why);
    print_self(f, sp, ipl);
    __atomic_fetch_or(&panic_printed, 1u << id, __ATOMIC_RELEASE);
    stand_still();
}

void panic_stopped(void)
{
    if (panic_in_progress())
        stopped(NULL, 0, pal_swpipl(IPL_HIGHEST), NULL);
}

static bool wait_for(const uint32_t *mask, unsigned cpu, uint64_t limit_ns)
{
    uint64_t end = now_ns() + limit_ns;

    while (!(__atomic_load_n(mask, __ATOMIC_ACQUIRE) & 1u << cpu))
        if (now_ns() > end)
            return false;
    return true;
}

static void print_others(unsigned self)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        if (i == self || !__atomic_load_n(&cpus[i].online, __ATOMIC_ACQUIRE))
            continue;
        if (!wait_for(&panic_arrived, i, ARRIVE_NS)) {
            printk("CPU %u does not answer: stuck with interrupts off\n", i);
            continue;
        }
        __atomic_store_n(&panic_turn, i, __ATOMIC_RELEASE);
        if (!wait_for(&panic_printed, i, PRINT_NS))
            printk("CPU %u did not finish printing\n", i);
    }
    __atomic_store_n(&panic_turn, NOBODY, __ATOMIC_RELEASE);
}

static void __attribute__((noreturn)) panic_end(const struct trapframe *f, uint64_t sp,
                                                const char *reason)
{
    uint64_t ipl = pal_swpipl(IPL_HIGHEST);
    uint32_t nobody = NOBODY;
    unsigned self = cpu_id();

    if (!__atomic_compare_exchange_n(&panic_owner, &nobody, self, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (nobody != self)
            stopped(f, sp, ipl, reason);
        printk("\nPANIC inside the panic: %s\n", reason);
        tell_host(self);
        stand_still();
    }
    str_copy(panic_reason, reason, sizeof(panic_reason));
    printk_panic_begin();
    printk("\nPANIC: %s\n", reason);
    if (stop_others)
        stop_others();
    print_self(f, sp, ipl);
    print_others(self);
    for (unsigned i = 0; i < ndumpers; i++) {
        printk("-- %s\n", dumpers[i].name);
        dumpers[i].fn();
    }
    printk("PANIC: end\n");
    tell_host(self);
    stand_still();
}

void panic(const char *fmt, ...)
{
    char reason[REASON_MAX];
    va_list ap;

    va_start(ap, fmt);
    vformat(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    panic_end(NULL, 0, reason);
}

void panic_frame_at(const struct trapframe *f, uint64_t sp, const char *fmt, ...)
{
    char reason[REASON_MAX];
    va_list ap;

    va_start(ap, fmt);
    vformat(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    panic_end(f, sp, reason);
}
