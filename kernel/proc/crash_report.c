/*
 * A process is ended by a trap of its own: what the console says of it.
 *
 * The kernel prints facts: addresses, and for those in files the file with the offset, which
 * addr2line takes too. Names of functions are the host's part: programs of the initrd are
 * stripped, and a symbol table is data of the user, which the kernel has no need to parse;
 * scripts/run has the whole programs, and appends function and line to each of these lines.
 *
 * The memory of the process is read like that of another one, by aspace_read(): nothing of it is
 * trusted, and what cannot be read ends the list. What is done here is bounded: CALLERS_MOST
 * frames of SCAN_MOST instructions each, NEIGHBOURS mappings. Who crashes on purpose, again and
 * again, gets one report each CRASH_NS.
 */
#include "kernel/proc/crash_report.h"

#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/format.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/tree.h"
#include "kernel/proc/crash_callers.h"
#include "kernel/proc/process.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/space/aspace_read.h"

#define CRASH_BURST  4u
#define CRASH_NS     1000000000u
#define CALLERS_MOST 24u
#define NEIGHBOURS   64u
#define NEAR_BYTES   (16u << 20) /* how far below an address a mapping is looked for */
#define NULL_BYTES   0x10000u    /* an address below that comes from a null pointer */
#define PLACE_BYTES  160u

static uint64_t report_due[CRASH_BURST]; /* atomic: when each of the last reports may be followed */
static uint32_t reports_left_out;        /* atomic */

/* May one more report be printed now? */
static bool may_report(void)
{
    uint64_t now = clock_ns();

    for (unsigned i = 0; i < CRASH_BURST; i++) {
        uint64_t due = __atomic_load_n(&report_due[i], __ATOMIC_RELAXED);

        if (due <= now && __atomic_compare_exchange_n(&report_due[i], &due,
                                                      now + (uint64_t)CRASH_BURST * CRASH_NS, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return true;
    }
    __atomic_fetch_add(&reports_left_out, 1, __ATOMIC_RELAXED);
    return false;
}

static const char *signal_text(int sig)
{
    switch (sig) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    case SIGTRAP:
        return "SIGTRAP";
    }
    return "a signal";
}

static const char *arithmetic_text(int code)
{
    static const char *const texts[] = {[FPE_INTDIV] = "integer division by zero",
                                        [FPE_INTOVF] = "integer overflow",
                                        [FPE_FLTDIV] = "division by zero",
                                        [FPE_FLTOVF] = "overflow",
                                        [FPE_FLTUND] = "underflow",
                                        [FPE_FLTRES] = "inexact result",
                                        [FPE_FLTINV] = "invalid operation",
                                        [FPE_FLTSUB] = "subscript out of range"};

    return code > 0 && (size_t)code < ARRAY_SIZE(texts) ? texts[code] : "arithmetic trap";
}

/* The instruction that trapped. PALcode gives the PC behind it for some traps. */
static vaddr_t trap_pc(const struct trapframe *f, const struct signal_info *info)
{
    if (info->signo == SIGILL)
        return info->addr;
    if (info->signo == SIGTRAP || (info->signo == SIGBUS && info->code == BUS_ADRALN))
        return f->pc - 4;
    return f->pc;
}

/* What the instruction at pc does to memory. */
static const char *access_text(struct aspace *as, vaddr_t pc, vaddr_t va)
{
    uint32_t instruction;
    unsigned op;

    if ((va & ~UINT64_C(3)) == (pc & ~UINT64_C(3)))
        return "fetch of an instruction";
    if (aspace_read(as, pc, &instruction, sizeof(instruction)) != 0)
        return "access";
    op = instruction >> 26;
    if ((op >= 0x0D && op <= 0x0F) || (op >= 0x24 && op <= 0x27) || (op >= 0x2C && op <= 0x2F))
        return "store";
    return "load";
}

/* "/bin/show+0x1f0", "[stack]", ...: what lies at va in the mapping m, whose reference ends. */
static void put_place(const struct mapping_view *m, vaddr_t va, char *text, size_t n)
{
    struct inode *i = m->object ? memfs_inode_of(m->object) : NULL;
    long used = i ? tree_path_of(i, text, n) : 0;

    if (m->object)
        object_unref(m->object);
    if (i)
        inode_unref(i);
    if (used > 0) {
        for (char *p = text; *p; p++)
            *p = *p < ' ' || *p > '~' ? '?' : *p;
        format(text + used - 1, n - (size_t)used + 1, "+%#lx", va - m->start + m->offset);
        return;
    }
    format(text, n, "%s",
           m->stack     ? "[stack]"
           : m->section ? "[section]"
           : m->shared  ? "[shared memory]"
                        : "[private memory]");
}

/* "    120001234 /bin/show+0x1234": scripts/run appends the function. False: no code. */
static bool print_code(struct aspace *as, const char *before, vaddr_t pc)
{
    char place[PLACE_BYTES] = "(nothing is mapped)";
    struct mapping_view m;
    bool code = false;

    if (aspace_view(as, pc, &m)) {
        code = m.start <= pc && (m.prot & MAP_X);
        if (m.start <= pc)
            put_place(&m, pc, place, sizeof(place));
        else if (m.object)
            object_unref(m.object);
    }
    printk("  %s %lx %s\n", before, pc, place);
    return code;
}

static void print_registers(const struct trapframe *f)
{
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {{"v0", f->v0},  {"t0", f->t0}, {"t1", f->t1},  {"t2", f->t2}, {"t3", f->t3},
               {"t4", f->t4},  {"t5", f->t5}, {"t6", f->t6},  {"t7", f->t7}, {"s0", f->s0},
               {"s1", f->s1},  {"s2", f->s2}, {"s3", f->s3},  {"s4", f->s4}, {"s5", f->s5},
               {"fp", f->s6},  {"a0", f->a0}, {"a1", f->a1},  {"a2", f->a2}, {"a3", f->a3},
               {"a4", f->a4},  {"a5", f->a5}, {"t8", f->t8},  {"t9", f->t9}, {"tA", f->t10},
               {"tB", f->t11}, {"ra", f->ra}, {"pv", f->t12}, {"at", f->at}, {"gp", f->gp},
               {"sp", f->usp}};
    char line[100];
    size_t n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
        format(line + n, sizeof(line) - n, "  %s %016lx", all[i].name, all[i].value);
        n += strlen(line + n);
        if (i % 4 == 3 || i + 1 == ARRAY_SIZE(all)) {
            printk("  %s\n", line);
            n = 0;
        }
    }
}

static void print_mapping(const struct mapping_view *m, const char *what)
{
    char place[PLACE_BYTES];
    const struct mapping_view copy = *m;

    put_place(&copy, copy.start, place, sizeof(place));
    printk("  %s %lx-%lx %c%c%c%c %s\n", what, copy.start, copy.end, copy.prot & MAP_R ? 'r' : '-',
           copy.prot & MAP_W ? 'w' : '-', copy.prot & MAP_X ? 'x' : '-', copy.shared ? 's' : 'p',
           place);
}

/* The mapping of va, or else the nearest below, within NEAR_BYTES, and above. */
static void print_mappings(struct aspace *as, vaddr_t va)
{
    vaddr_t from = va > NEAR_BYTES ? va - NEAR_BYTES : 0;
    struct mapping_view m, below = {0};

    for (unsigned n = 0; n < NEIGHBOURS && aspace_view(as, from, &m); n++) {
        if (m.start > va || m.end > va) {
            if (below.end)
                print_mapping(&below, "below:  ");
            print_mapping(&m, m.start > va ? "above:  " : "mapping:");
            return;
        }
        if (below.object)
            object_unref(below.object);
        below = m;
        from = m.end;
    }
    if (below.end)
        print_mapping(&below, "below:  ");
}

/* Why the memory at va could not be used. */
static void explain_memory(struct aspace *as, const struct signal_info *info, char *why, size_t n)
{
    struct mapping_view m = {0}, around = {0};
    vaddr_t va = info->addr;
    bool mapped = aspace_view(as, va, &m) && m.start <= va;

    if (m.object)
        object_unref(m.object);
    if (va && aspace_view(as, va - MIN(va, (vaddr_t)PAGE_SIZE), &around) && around.object)
        object_unref(around.object);
    if (info->signo == SIGBUS && info->code == BUS_ADRALN)
        format(why, n, "the address is not aligned");
    else if (info->signo == SIGBUS)
        format(why, n, "past the end of the %s that is mapped there",
               m.section ? "section" : "file");
    else if (mapped && !m.prot)
        format(why, n, "no access at all is allowed there (a guard page?)");
    else if (mapped && m.stack)
        format(why, n, "the stack may not become larger (RLIMIT_STACK; ulimit -s)");
    else if (mapped)
        format(why, n, "the protection of the mapping does not allow it");
    else if (va < NULL_BYTES)
        format(why, n, "nothing is mapped there (a null pointer?)");
    else if (m.stack && m.start - va <= NEAR_BYTES)
        format(why, n, "nothing is mapped there (%lu bytes below the stack, which ends there)",
               m.start - va);
    else if (around.end && around.end <= va)
        format(why, n, "nothing is mapped there (%lu bytes past the end of a %s)", va - around.end,
               around.section ? "section" : "mapping");
    else
        format(why, n, "nothing is mapped there");
}

static void explain(struct aspace *as, const struct signal_info *info, vaddr_t pc)
{
    uint32_t instruction = 0;
    char why[100];

    switch (info->signo) {
    case SIGSEGV:
    case SIGBUS:
        explain_memory(as, info, why, sizeof(why));
        printk("  %s at %lx: %s\n", access_text(as, pc, info->addr), info->addr, why);
        return;
    case SIGFPE:
        printk("  %s\n", arithmetic_text(info->code));
        return;
    case SIGILL:
        aspace_read(as, pc, &instruction, sizeof(instruction));
        printk("  %08x is no instruction\n", instruction);
        return;
    }
    printk("  breakpoint, or a trap instruction\n");
}

void crash_report(const struct trapframe *f, const struct signal_info *info)
{
    struct process *p = process_self();
    struct crash_frame frame = {.pc = trap_pc(f, info), .sp = f->usp, .ra = f->ra, .t9 = f->t9};
    char name[PROCESS_NAME_BYTES];
    uint32_t left_out;

    if (!may_report())
        return;
    left_out = __atomic_exchange_n(&reports_left_out, 0, __ATOMIC_RELAXED);
    if (left_out)
        printk("%u more crashes were not reported\n", left_out);
    printk("%s (%u): %s\n", process_name_text(p, name), p->pid, signal_text(info->signo));
    explain(p->aspace, info, frame.pc);
    if (info->signo == SIGSEGV || info->signo == SIGBUS)
        print_mappings(p->aspace, info->addr);
    print_registers(f);
    print_code(p->aspace, "at", frame.pc);
    for (unsigned n = 0; n < CALLERS_MOST && crash_caller(p->aspace, &frame); n++)
        if (!print_code(p->aspace, "from", frame.pc))
            break;
}
