/* Counting instructions, and what had been counted when the guest read its clock (cpus.h). */
#include "cpus.h"

#if PLUGIN_API == 1
/* This version adds to one word for all CPUs, which is exact where one thread runs them all. With
 * several CPUs each counts for itself, in a function. */
static bool several;
static uint64_t executed[2];
static struct {
    uint64_t executed[2];
} __attribute__((aligned(64))) of_cpu[CPUS_MAX];

static void add(unsigned cpu, void *what)
{
    of_cpu[cpu].executed[(uintptr_t)what & 1] += (uintptr_t)what >> 1;
}

static void add_access(unsigned cpu, uint32_t info, uint64_t va, void *what)
{
    (void)info, (void)va;
    add(cpu, what);
}

static void count_executed(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    if (several)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, add, QEMU_NO_REGS,
                                               (void *)(n << 1 | (unsigned)where));
    else
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_ADD, &executed[where], n);
}

static void count_access(struct qemu_plugin_insn *insn, int where)
{
    if (several)
        qemu_plugin_register_vcpu_mem_cb(insn, add_access, QEMU_NO_REGS, QEMU_ACCESSES,
                                         (void *)(UINT64_C(1) << 1 | (unsigned)where));
    else
        qemu_plugin_register_vcpu_mem_inline(insn, QEMU_ACCESSES, QEMU_ADD, &executed[where], 1);
}

void count_begin(unsigned ncpus) { several = ncpus > 1; }

uint64_t instructions(int where)
{
    uint64_t sum = executed[where];

    for (unsigned i = 0; i < CPUS_MAX; i++)
        sum += __atomic_load_n(&of_cpu[i].executed[where], __ATOMIC_RELAXED);
    return sum;
}
#else
static struct qemu_plugin_scoreboard *board;

static void count_executed(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    struct qemu_plugin_u64 at = {board, 8 * (size_t)where};

    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_ADD, at, n);
}

static void count_access(struct qemu_plugin_insn *insn, int where)
{
    struct qemu_plugin_u64 at = {board, 8 * (size_t)where};

    qemu_plugin_register_vcpu_mem_inline_per_vcpu(insn, QEMU_ACCESSES, QEMU_ADD, at, 1);
}

void count_begin(unsigned ncpus)
{
    (void)ncpus;
    board = qemu_plugin_scoreboard_new(2 * sizeof(uint64_t));
}

uint64_t instructions(int where)
{
    uint64_t sum = 0;

    for (int i = 0; i < qemu_plugin_num_vcpus(); i++)
        sum += ((uint64_t *)qemu_plugin_scoreboard_find(board, (unsigned)i))[where];
    return sum;
}
#endif

struct mark marks[MARKS_MAX];
unsigned nmarks;

void on_clock(unsigned cpu, void *data)
{
    unsigned at = __atomic_fetch_add(&nmarks, 1, __ATOMIC_RELAXED);
    struct mark *m = &marks[at];

    (void)data;
    if (at >= MARKS_MAX)
        return;
    m->instructions = instructions(OUTSIDE) + instructions(PALCODE);
    m->accesses = cpus[cpu].references[TB_DATA] + cpus[cpu].bypassed;
    for (unsigned i = 0; i < nmodels; i++) {
        const struct tb_counts *n = &cpus[cpu].model[i].counts;
        struct tb_cycles cost = tb_cost(&cpus[cpu].model[i]);

        m->misses[i] = n->misses[TB_DATA];
        m->doubles[i] = n->doubles[TB_DATA];
        m->all[i] = n->misses[TB_DATA] + n->misses[TB_FETCH];
        m->found[i] = m->all[i] - n->walked[TB_DATA] - n->walked[TB_FETCH];
        m->least[i] = cost.least;
        m->most[i] = cost.most;
    }
}

/* 0 if it cannot be read. */
static uint32_t code_of(const struct qemu_plugin_insn *insn)
{
    const uint32_t *code = qemu_plugin_insn_haddr(insn);

    return code ? *code : 0;
}

unsigned op_of(const struct qemu_plugin_insn *insn) { return code_of(insn) >> 26; }

/* Does it load or store once each time that it does not fault? Those that load to register 31 are
 * prefetches, which do nothing here, and a store-conditional may not store. The accesses of
 * PALcode (0x1B, 0x1F) do. */
static bool is_access(uint32_t code)
{
    unsigned op = code >> 26;
    bool load = (op >= 0x0A && op <= 0x0C) || (op >= 0x20 && op <= 0x23) ||
                (op >= 0x28 && op <= 0x2B);
    bool store = (op >= 0x0D && op <= 0x0F) || (op >= 0x24 && op <= 0x27) || op == 0x2C ||
                 op == 0x2D;

    return (load && (code >> 21 & 31) != 31) || store || op == 0x1B || op == 0x1F;
}

/* Does it trap on overflow: ADDL/V, ADDQ/V, SUBL/V, SUBQ/V, MULL/V, MULQ/V? */
static bool traps_on_overflow(uint32_t code)
{
    unsigned op = code >> 26, function = code >> 5 & 0x7F;

    return (op == 0x10 || op == 0x13) &&
           (function == 0x40 || function == 0x60 || function == 0x49 || function == 0x69);
}

/* May it be left before it ends, by a fault or an arithmetic trap? Besides loads and stores that may
 * floating point (0x14 to 0x17) and arithmetic with overflow; and one that is not known. */
static bool may_trap(uint32_t code)
{
    unsigned op = code >> 26;

    return op == 0 || traps_on_overflow(code) || is_access(code) || op == 0x2E || op == 0x2F ||
           (op >= 0x14 && op <= 0x17);
}

/* Count the instructions of a block as --icount does: those that have been executed to their end.
 * One that may trap has ended when the next one begins; behind the last of a block QEMU shows no
 * place for that, so it counts when it accesses memory, or, if it does not, when it begins.
 * Otherwise a run is counted where it begins: one addition for each instruction would make a
 * program of short blocks a third slower.
 *
 * An access to a device in the middle of a block makes QEMU leave the block, and execute that
 * instruction in a block of its own, in which it shows accesses only. So that is counted, too. */
void count_block(struct qemu_plugin_tb *tb, size_t n, int where)
{
    size_t counted = 0, i;

    for (i = 0; i < n; i++) {
        size_t first = i;
        uint32_t code;

        while (!may_trap(code = code_of(qemu_plugin_tb_get_insn(tb, i))) && i + 1 < n)
            i++;
        if (i + 1 == n && is_access(code))
            count_access(qemu_plugin_tb_get_insn(tb, i), where);
        else if (i + 1 == n)
            i++;
        if (i > counted)
            count_executed(qemu_plugin_tb_get_insn(tb, first), where, i - counted);
        counted = i;
    }
}
