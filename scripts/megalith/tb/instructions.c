/* Counting instructions, and what had been counted when the guest read its clock (cpus.h). */
#include "cpus.h"

#if PLUGIN_API == 1
static uint64_t executed[2]; /* exact where QEMU runs all CPUs in one thread */

static void count_instructions(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_ADD, &executed[where], n);
}
void count_begin(void) {}
uint64_t instructions(int where) { return executed[where]; }
#else
static struct qemu_plugin_scoreboard *board;

static void count_instructions(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    struct qemu_plugin_u64 at = {board, 8 * (size_t)where};

    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_ADD, at, n);
}
void count_begin(void) { board = qemu_plugin_scoreboard_new(2 * sizeof(uint64_t)); }
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

unsigned op_of(const struct qemu_plugin_insn *insn)
{
    const uint32_t *code = qemu_plugin_insn_haddr(insn);

    return code ? *code >> 26 : 0;
}

/* May it be left before it ends, by a fault or an arithmetic trap? Those instructions are loads and
 * stores (0x0A to 0x0F, 0x20 to 0x2F, PALcode's 0x1B and 0x1F) and floating point (0x14 to 0x17);
 * one that is not known counts as such. */
static bool may_trap(unsigned op)
{
    return op == 0 || (op >= 0x0A && op <= 0x0F) || (op >= 0x14 && op <= 0x17) || op == 0x1B ||
           op == 0x1F || (op >= 0x20 && op <= 0x2F);
}

/* Count the instructions of a block: at the first of a run those up to the next that may trap, so
 * that what is counted has been executed or has trapped. One addition for each instruction would
 * make a program of short blocks a third slower. */
void count_block(struct qemu_plugin_tb *tb, size_t n, int where)
{
    for (size_t first = 0, i = 0; i < n; i++)
        if (i + 1 == n || may_trap(op_of(qemu_plugin_tb_get_insn(tb, i)))) {
            count_instructions(qemu_plugin_tb_get_insn(tb, first), where, i + 1 - first);
            first = i + 1;
        }
}
