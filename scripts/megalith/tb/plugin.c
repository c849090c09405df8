/*
 * A plugin of QEMU that runs the model of translation buffers on every reference of the machine
 * (scripts/run --tb-model). Each CPU has a model for each requested chip.
 *
 * Data: QEMU calls on_access() for each load and store outside of PALcode. Instructions: on_block()
 * is called before each block outside of PALcode and KSEG; a block lies in one page, so it is one
 * reference. A reference to the page of the CPU's last one of its kind hits in every buffer, if
 * the CPU has neither missed nor invalidated anything since, and goes no further.
 *
 * The kernel tells of switches and invalidations by stores to tb_announced (hw/tb_model.h).
 * They are compared with what PALcode really executed, whose blocks for SWPCTX and TBI are counted:
 * an invalidation that was not announced shows. Page tables are read when a reference misses
 * (guest.c).
 *
 * Everything belongs to one CPU and is used by its thread only, so nothing is locked.
 *
 * Arguments: out=FILE; model=CHIP:HINT:ASNS:TABLE, several (the largest hint, 0 to 3; 1: numbers; a
 * hashed page table as vhpt_parse() reads it, 0: none);
 * trace=FILE; pages=on: misses of the first model by page over time (pages.h); by_rad=on:
 * references by domain of memory (places.h); check=on: compare each entry that is used, and each
 * block of a hint, with the page tables; the words of struct guest_layout (options.c).
 */
#include "cpus.h"
#include "trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

QEMU_EXPORT int qemu_plugin_version = PLUGIN_API;
QEMU_EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
                                    char **argv);

#define NO_PAGE UINT64_MAX

/* tb_model.h of the kernel. */
enum { SAYS_PAGE = 3, SAYS_ALL = 6, SAYS_PROCESS = 7, SAYS_ROOT = 8 };

struct cpu cpus[CPUS_MAX];
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

/* ---- references ---- */

static struct tb_walk walk(void *context, uint64_t va)
{
    return guest_walk(((const struct cpu *)context)->root, va);
}

/* struct vhpt_counts of the kernel (mm/pt/vhpt.h): the CPU executes nothing meanwhile. */
static void tell(unsigned cpu)
{
    const struct tb_counts *n = &cpus[cpu].model[told].counts;
    const struct tb_vhpt *v = cpus[cpu].model[told].vhpt;
    uint64_t quads[] = {n->misses[TB_DATA],
                        n->misses[TB_FETCH],
                        v ? v->walks : 0,
                        v ? n->misses[TB_DATA] - n->walked[TB_DATA] : 0,
                        v ? n->misses[TB_FETCH] - n->walked[TB_FETCH] : 0,
                        v ? v->replaced : 0};

    guest_store(guest.counts + cpu * guest.counts_size, quads, sizeof(quads) / sizeof(*quads));
}

static void write_record(unsigned cpu, enum tb_event event, uint64_t page, uint64_t says)
{
    struct tb_record r = {page << TB_PAGE_SHIFT | cpu << 4 | event, says};

    if (trace)
        fwrite(&r, sizeof(r), 1, trace);
}

static void refer(unsigned cpu, enum tb_stream stream, uint64_t va, uint64_t pc)
{
    struct cpu *c = &cpus[cpu];
    uint64_t page = va >> TB_PAGE_SHIFT & ((UINT64_C(1) << (TB_VA_BITS - TB_PAGE_SHIFT)) - 1);
    struct origin *o = NULL;

    c->references[stream]++;
    if (by_rad && !place_count(&c->places, cpu, c->root, stream, va))
        no_memory();
    if (c->last[stream] == page)
        return;
    c->last[stream] = check ? NO_PAGE : page;
    if (trace) {
        struct tb_walk w = walk(c, va);

        write_record(cpu, stream == TB_FETCH ? TB_EVENT_FETCH : TB_EVENT_DATA, page,
                     (uint64_t)tb_trace_pack(w.table) << 32 | tb_trace_pack(w.page));
        c->last[!stream] = NO_PAGE; /* a trace does not say whether this one missed */
    }
    for (unsigned i = 0; i < nmodels; i++) {
        unsigned did;

        if (check)
            tb_check(&c->model[i], stream, va, walk, c);
        did = tb_reference(&c->model[i], stream, va, walk, c);
        if (did == TB_HIT)
            continue;
        c->last[!stream] = NO_PAGE; /* its PTE may have replaced the page */
        if (!o)
            o = origin_of(c, stream, va, pc);
        o->misses[i]++;
        o->doubles[i] += (did & TB_DOUBLE) != 0;
        if (i == 0 && o->area &&
            !pages_count(&o->area->pages, page, instructions(OUTSIDE) + instructions(PALCODE)))
            no_memory();
        if (check && !guest_block_agrees(c->root, va))
            c->disagreements++;
    }
    if (o && nmodels)
        tell(cpu);
}

/* ---- what the kernel says ---- */

static void announced_root(unsigned cpu, uint64_t word)
{
    struct cpu *c = &cpus[cpu];
    uint64_t asn = word >> 4 & 0xFFF;

    if (!c->listens)
        c->pal_swpctx = 0;
    c->listens = true;
    c->announced_roots++;
    if (c->announced_roots <= 2)
        c->announced_tbi = c->changes = c->pal_tbi = 0;
    c->changes += c->root != word >> 32;
    c->root = word >> 32;
    if (asn > c->asns)
        c->asns = asn;
    write_record(cpu, TB_EVENT_SWITCH, 0, asn << 32 | c->root);
    for (unsigned i = 0; i < nmodels; i++)
        tb_switch(&c->model[i], c->root, asn);
}

static void announced(unsigned cpu, uint64_t va)
{
    struct cpu *c = &cpus[cpu];
    uint64_t word;

    pthread_mutex_lock(&finding);
    if (!guest_found() && !guest_find()) {
        fputs("tb: the guest's memory is not to be found\n", stderr);
        exit(1);
    }
    pthread_mutex_unlock(&finding);
    word = guest_quad(va);
    if (word == 0) /* the boot clears the kernel's data */
        return;
    c->last[TB_FETCH] = c->last[TB_DATA] = NO_PAGE;
    place_forget(&c->places);
    switch (word & 15) {
    case SAYS_ROOT:
        announced_root(cpu, word);
        return;
    case SAYS_PAGE:
        c->announced_tbi++;
        write_record(cpu, TB_EVENT_PAGE,
                     word >> TB_PAGE_SHIFT & ((UINT64_C(1) << (TB_VA_BITS - TB_PAGE_SHIFT)) - 1),
                     0);
        for (unsigned i = 0; i < nmodels; i++)
            tb_invalidate_page(&c->model[i], word);
        return;
    case SAYS_PROCESS:
        c->announced_tbi++;
        c->rollovers++;
        write_record(cpu, TB_EVENT_PROCESS, 0, 0);
        for (unsigned i = 0; i < nmodels; i++)
            tb_invalidate_process(&c->model[i]);
        return;
    case SAYS_ALL:
        c->announced_tbi++;
        write_record(cpu, TB_EVENT_EVERYTHING, 0, 0);
        for (unsigned i = 0; i < nmodels; i++)
            tb_invalidate_everything(&c->model[i]);
        return;
    default:
        fprintf(stderr, "tb: announcement %" PRIx64 " is unknown\n", word);
        exit(1);
    }
}

/* ---- what QEMU says ---- */

static void on_access(unsigned cpu, uint32_t info, uint64_t va, void *pc)
{
    (void)info;
    if (in_kseg(va)) {
        if (va - guest.watch < CPUS_MAX * sizeof(uint64_t))
            announced(cpu, va);
        else
            cpus[cpu].bypassed++;
        return;
    }
    if (cpus[cpu].listens)
        refer(cpu, TB_DATA, va, (uint64_t)pc);
}

static void on_block(unsigned cpu, void *pc)
{
    if (cpus[cpu].listens)
        refer(cpu, TB_FETCH, (uint64_t)pc, (uint64_t)pc);
}

static void on_tbi(unsigned cpu, void *data)
{
    (void)data;
    cpus[cpu].pal_tbi++;
}

static void on_swpctx(unsigned cpu, void *data)
{
    (void)data;
    cpus[cpu].pal_swpctx++;
}

/* Where CALL_PAL enters PALcode, which begins at a multiple of 32 KiB. */
#define VECTOR(call) (0x1000 + 64 * (call))
#define VECTOR_MASK  0x7FFF

/* A store-conditional is a load and a store for QEMU, and one reference of the program. */
static int accesses_of(unsigned op)
{
    enum { OP_STL_C = 0x2E, OP_STQ_C = 0x2F };

    return op == OP_STL_C || op == OP_STQ_C ? QEMU_STORES : QEMU_ACCESSES;
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
    uint64_t pc = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    bool pal = in_kseg(pc) && pc < guest.image;
    size_t n = qemu_plugin_tb_n_insns(tb);

    (void)id;
    count_block(tb, n, pal ? PALCODE : OUTSIDE);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        if (!pal)
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_NO_REGS,
                                             accesses_of(op_of(insn)),
                                             (void *)qemu_plugin_insn_vaddr(insn));
    }
    if (!in_kseg(pc))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_NO_REGS, (void *)pc);
    if (pal && (pc & VECTOR_MASK) == VECTOR(0x33))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_tbi, QEMU_NO_REGS, NULL);
    if (pal && (pc & VECTOR_MASK) == VECTOR(0x30))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_swpctx, QEMU_NO_REGS, NULL);
    if (pal && (pc & VECTOR_MASK) == VECTOR(0x09))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_clock, QEMU_NO_REGS, NULL);
}

static void at_exit(uint64_t id, void *data)
{
    (void)id;
    (void)data;
    results_write();
    if (trace && fclose(trace) != 0)
        perror("trace");
}

static bool begin_model(struct cpu *c, unsigned i)
{
    tb_init(&c->model[i], chosen[i].chip, chosen[i].hint, chosen[i].asns);
    if (chosen[i].vhpt.kib == 0)
        return true;
    c->model[i].vhpt = &c->vhpt[i];
    return vhpt_init(&c->vhpt[i], chosen[i].vhpt);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
    if (!options_read(argc, argv))
        return 1;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        cpus[cpu].last[TB_FETCH] = cpus[cpu].last[TB_DATA] = NO_PAGE;
        places_init(&cpus[cpu].places);
        for (unsigned i = 0; i < nmodels; i++)
            if (!begin_model(&cpus[cpu], i)) {
                fputs("tb: there is no memory for the hashed page tables\n", stderr);
                return 1;
            }
    }
    count_begin((unsigned)info->vcpus);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
