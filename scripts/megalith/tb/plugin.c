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
 * trace=FILE; pages=on: misses of the first model by page over time (pages.h); by_rad=on: references
 * by domain of memory (places.h); check=on: compare each entry that is used, and each block of a hint, with the page
 * tables; the words of struct guest_layout.
 */
#include "guest.h"
#include "pages.h"
#include "places.h"
#include "qemu.h"
#include "trace.h"
#include "vhpt.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_EXPORT int qemu_plugin_version = PLUGIN_API;
QEMU_EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

#define CPUS_MAX   4
#define MODELS_MAX 12
#define NO_PAGE    UINT64_MAX

/* tb_model.h of the kernel. */
enum { SAYS_PAGE = 3, SAYS_ALL = 6, SAYS_PROCESS = 7, SAYS_ROOT = 8 };

static struct chosen {
    const struct tb_chip *chip;
    unsigned hint;
    bool asns;
    struct vhpt_kind vhpt;
    char vhpt_text[12];
} chosen[MODELS_MAX];
static unsigned nmodels;
static bool check, by_page, by_rad;
static unsigned told; /* the model whose counts the guest may read */
static const char *out_name;
static FILE *trace;
static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;

/* Where misses come from: one program, instruction, kind of page, section. */
struct origin {
    uint64_t pc;
    uint8_t stream, kind, gh;
    char program[NAME_BYTES], section[NAME_BYTES];
    uint64_t misses[MODELS_MAX], doubles[MODELS_MAX];
    struct area *area;
    struct origin *next;
};

/* The same less finely, so that there are few: misses by page (pages=on). */
#define AREAS_MAX 128u /* the last one also has those for which there is none */

struct area {
    char program[NAME_BYTES], section[NAME_BYTES];
    uint8_t kind;
    struct pages_group pages;
};

#define BUCKETS 4096

struct cpu {
    struct tb_model model[MODELS_MAX];
    struct tb_vhpt vhpt[MODELS_MAX];
    uint64_t last[2]; /* page of the last reference, by enum tb_stream */
    uint64_t root;
    bool listens; /* the kernel has announced a root */
    uint64_t references[2], bypassed;
    uint64_t announced_tbi, announced_roots, pal_tbi, pal_swpctx; /* since it listens */
    uint64_t disagreements; /* blocks whose PTEs differ (check) */
    uint64_t asns, rollovers;
    struct origin *origins[BUCKETS];
    uint64_t norigins;
    struct area *areas[AREAS_MAX];
    unsigned nareas;
    struct places places;
} __attribute__((aligned(64)));

static struct cpu cpus[CPUS_MAX];

/* ---- counting instructions ---- */

enum { OUTSIDE, PALCODE };

#if PLUGIN_API == 1
static uint64_t executed[2]; /* exact where QEMU runs all CPUs in one thread */

static void count_instructions(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_ADD, &executed[where], n);
}
static void count_begin(void) {}
static uint64_t instructions(int where) { return executed[where]; }
#else
static struct qemu_plugin_scoreboard *board;

static void count_instructions(struct qemu_plugin_insn *insn, int where, uint64_t n)
{
    struct qemu_plugin_u64 at = {board, 8 * (size_t)where};

    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_ADD, at, n);
}
static void count_begin(void) { board = qemu_plugin_scoreboard_new(2 * sizeof(uint64_t)); }
static uint64_t instructions(int where)
{
    uint64_t sum = 0;

    for (int i = 0; i < qemu_plugin_num_vcpus(); i++)
        sum += ((uint64_t *)qemu_plugin_scoreboard_find(board, (unsigned)i))[where];
    return sum;
}
#endif

/* How many instructions had been executed when the guest read its clock (with --icount that is the
 * time it read, but for a constant); loads and stores of that CPU, and the misses of its data
 * buffers. The first MARKS_MAX times. */
#define MARKS_MAX 65536

static struct mark {
    uint64_t instructions, accesses, misses[MODELS_MAX], doubles[MODELS_MAX];
} marks[MARKS_MAX];
static unsigned nmarks; /* atomic */

static void on_clock(unsigned cpu, void *data)
{
    unsigned at = __atomic_fetch_add(&nmarks, 1, __ATOMIC_RELAXED);
    struct mark *m = &marks[at];

    (void)data;
    if (at >= MARKS_MAX)
        return;
    m->instructions = instructions(OUTSIDE) + instructions(PALCODE);
    m->accesses = cpus[cpu].references[TB_DATA] + cpus[cpu].bypassed;
    for (unsigned i = 0; i < nmodels; i++) {
        m->misses[i] = cpus[cpu].model[i].counts.misses[TB_DATA];
        m->doubles[i] = cpus[cpu].model[i].counts.doubles[TB_DATA];
    }
}

/* ---- misses ---- */

static struct tb_walk walk(void *context, uint64_t va)
{
    return guest_walk(((const struct cpu *)context)->root, va);
}

static uint64_t digest(uint64_t a, const char *text)
{
    for (; *text; text++)
        a = (a ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return a;
}

static void no_memory(void)
{
    fputs("tb: out of memory\n", stderr);
    exit(1);
}

static struct area *area_of(struct cpu *c, const struct origin *o)
{
    bool full = c->nareas >= AREAS_MAX - 1;
    struct area *a;

    for (unsigned i = 0; i < c->nareas; i++) {
        a = c->areas[i];
        if (a->kind == o->kind && strcmp(a->program, o->program) == 0 &&
            strcmp(a->section, o->section) == 0)
            return a;
    }
    if (c->nareas == AREAS_MAX)
        return c->areas[AREAS_MAX - 1];
    a = calloc(1, sizeof(*a));
    if (!a)
        no_memory();
    if (!full) {
        memcpy(a->program, o->program, NAME_BYTES);
        memcpy(a->section, o->section, NAME_BYTES);
        a->kind = o->kind;
    } else {
        snprintf(a->program, NAME_BYTES, "(others)");
    }
    return c->areas[c->nareas++] = a;
}

static struct origin *origin_of(struct cpu *c, enum tb_stream stream, uint64_t va, uint64_t pc)
{
    struct tb_pte pte = guest_walk(c->root, va).page;
    struct origin o = {.pc = pc, .stream = (uint8_t)stream, .gh = pte.gh}, *p, **bucket;

    guest_program(c->root, (unsigned)(c - cpus), o.program);
    o.kind = (uint8_t)guest_page(c->root, pte.pfn, o.section);
    bucket = &c->origins[digest(digest(pc / 4 * 31 + o.kind, o.program), o.section) % BUCKETS];
    for (p = *bucket; p; p = p->next)
        if (p->pc == pc && p->stream == o.stream && p->kind == o.kind && p->gh == o.gh &&
            strcmp(p->program, o.program) == 0 && strcmp(p->section, o.section) == 0)
            return p;
    p = malloc(sizeof(*p));
    if (!p)
        no_memory();
    *p = o;
    p->area = by_page ? area_of(c, p) : NULL;
    p->next = *bucket;
    c->norigins++;
    return *bucket = p;
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
        c->pal_tbi = c->pal_swpctx = 0;
    c->listens = true;
    c->announced_roots++;
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

/* The operation code of an instruction. */
static unsigned op_of(const struct qemu_plugin_insn *insn)
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

/* A store-conditional is a load and a store for QEMU, and one reference of the program. */
static int accesses_of(unsigned op)
{
    enum { OP_STL_C = 0x2E, OP_STQ_C = 0x2F };

    return op == OP_STL_C || op == OP_STQ_C ? QEMU_STORES : QEMU_ACCESSES;
}

/* Count the instructions of a block: at the first of a run those up to the next that may trap, so
 * that what is counted has been executed or has trapped. One addition for each instruction would
 * make a program of short blocks a third slower. */
static void count_block(struct qemu_plugin_tb *tb, size_t n, int where)
{
    for (size_t first = 0, i = 0; i < n; i++)
        if (i + 1 == n || may_trap(op_of(qemu_plugin_tb_get_insn(tb, i)))) {
            count_instructions(qemu_plugin_tb_get_insn(tb, first), where, i + 1 - first);
            first = i + 1;
        }
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

/* ---- results: JSON, a line for each thing ---- */

/* A number for each model. */
static void write_list(FILE *f, const uint64_t *numbers)
{
    for (unsigned i = 0; i < nmodels; i++)
        fprintf(f, "%s%" PRIu64, i ? ", " : "[", numbers[i]);
    fputs(nmodels ? "]" : "[]", f);
}

static void write_counts(FILE *f, unsigned cpu, unsigned i)
{
    const struct tb_model *m = &cpus[cpu].model[i];
    const struct tb_counts *n = &m->counts;
    const struct tb_vhpt *v = &cpus[cpu].vhpt[i];
    struct tb_cycles cost = tb_cost(m);

    fprintf(
        f,
        "{\"what\": \"model\", \"cpu\": %u, \"chip\": \"%s\", \"hint\": %u, \"asns\": %d, "
        "\"vhpt\": \"%s\", \"vhpt_walks\": %" PRIu64 ", \"vhpt_hits\": %" PRIu64
        ", \"vhpt_replaced\": %" PRIu64 ", \"vhpt_chained\": %" PRIu64 ", \"vhpt_looked\": %" PRIu64
        ", \"vhpt_cleared\": %" PRIu64 ", \"vhpt_nothing\": %" PRIu64 ", \"vhpt_void\": %" PRIu64
        ", \"vhpt_own\": %" PRIu64 ", \"vhpt_other\": %" PRIu64 ", \"vhpt_system\": %" PRIu64 ", "
        "\"fetch_misses\": %" PRIu64 ", \"data_misses\": %" PRIu64 ", \"fetch_doubles\": %" PRIu64
        ", \"data_doubles\": %" PRIu64 ", \"unmapped\": %" PRIu64 ", \"overlaps\": %" PRIu64
        ", \"stale\": %" PRIu64 ", \"asn_reuse\": %" PRIu64 ", \"least\": %" PRIu64
        ", \"most\": %" PRIu64 ", \"prices\": {\"data\": [%u, %u], \"second\": [%u, %u]}}\n",
        cpu, m->chip->name, m->hint, m->asns, chosen[i].vhpt_text, v->walks, v->hits, v->replaced,
        v->chained, v->looked, v->cleared, v->instead[VHPT_NOTHING], v->instead[VHPT_VOID],
        v->instead[VHPT_OWN], v->instead[VHPT_OTHER], v->instead[VHPT_SYSTEM], n->misses[TB_FETCH],
        n->misses[TB_DATA], n->doubles[TB_FETCH], n->doubles[TB_DATA],
        n->unmapped[TB_FETCH] + n->unmapped[TB_DATA], n->overlaps, n->stale, n->asn_reuse,
        cost.least, cost.most, m->chip->data.least, m->chip->data.most, m->chip->second.least,
        m->chip->second.most);
}

static void write_pages(FILE *f, unsigned cpu)
{
    for (unsigned i = 0; i < cpus[cpu].nareas; i++) {
        const struct area *a = cpus[cpu].areas[i];

        fprintf(f,
                "{\"what\": \"pages\", \"cpu\": %u, \"program\": \"%s\", \"section\": \"%s\", "
                "\"kind\": %u, \"pages\": %" PRIu64 ", \"width\": %" PRIu64 ", \"blocks\": ",
                cpu, a->program, a->section, a->kind, UINT64_C(1) << a->pages.shift,
                UINT64_C(1) << pages_width(&a->pages));
        pages_write(&a->pages, f);
        fputs("}\n", f);
    }
}

static void write_cpu(FILE *f, unsigned cpu)
{
    const struct cpu *c = &cpus[cpu];

    fprintf(f,
            "{\"what\": \"cpu\", \"cpu\": %u, \"fetches\": %" PRIu64 ", \"accesses\": %" PRIu64
            ", \"bypassed\": %" PRIu64 ", \"roots\": %" PRIu64 ", \"invalidations\": %" PRIu64
            ", \"swpctx\": %" PRIu64 ", \"tbi\": %" PRIu64 ", \"changes\": %" PRIu64
            ", \"disagreements\": %" PRIu64 ", \"highest_asn\": %" PRIu64 ", \"flushes\": %" PRIu64
            "}\n",
            cpu, c->references[TB_FETCH], c->references[TB_DATA], c->bypassed, c->announced_roots,
            c->announced_tbi, c->pal_swpctx, c->pal_tbi, nmodels ? c->model[0].counts.roots : 0,
            c->disagreements, c->asns, c->rollovers);
    for (unsigned i = 0; i < nmodels; i++)
        write_counts(f, cpu, i);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (const struct origin *o = c->origins[b]; o; o = o->next) {
            fprintf(f,
                    "{\"what\": \"origin\", \"pc\": %" PRIu64 ", \"stream\": %u, \"kind\": %u, "
                    "\"gh\": %u, \"program\": \"%s\", \"section\": \"%s\", \"misses\": ",
                    o->pc, o->stream, o->kind, o->gh, o->program, o->section);
            write_list(f, o->misses);
            fputs(", \"doubles\": ", f);
            write_list(f, o->doubles);
            fputs("}\n", f);
        }
    write_pages(f, cpu);
    places_write(&c->places, cpu, f);
}

static void write_marks(FILE *f)
{
    unsigned n = nmarks < MARKS_MAX ? nmarks : MARKS_MAX;

    fputs("{\"what\": \"clock\", \"read_at\": [", f);
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "%s[%" PRIu64 ", %" PRIu64 ", ", i ? ", " : "", marks[i].instructions,
                marks[i].accesses);
        write_list(f, marks[i].misses);
        fputs(", ", f);
        write_list(f, marks[i].doubles);
        fputc(']', f);
    }
    fputs("]}\n", f);
}

static void at_exit(uint64_t id, void *data)
{
    FILE *f = fopen(out_name, "w");

    (void)id;
    (void)data;
    if (!f) {
        perror(out_name);
        return;
    }
    fprintf(f, "{\"what\": \"machine\", \"instructions\": %" PRIu64 ", \"palcode\": %" PRIu64 "}\n",
            instructions(OUTSIDE), instructions(PALCODE));
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (cpus[cpu].listens)
            write_cpu(f, cpu);
    write_marks(f);
    if (fclose(f) != 0)
        perror(out_name);
    if (trace && fclose(trace) != 0)
        perror("trace");
}

/* ---- arguments ---- */

static bool parse_model(char *text)
{
    char *hint = strchr(text, ':'), *asns = hint ? strchr(hint + 1, ':') : NULL;
    char *table = asns ? strchr(asns + 1, ':') : NULL;
    struct vhpt_kind kind;

    if (!table || nmodels == MODELS_MAX || !vhpt_parse(table + 1, &kind))
        return false;
    *hint = 0;
    chosen[nmodels] = (struct chosen){.chip = tb_chip_named(text),
                                      .hint = (unsigned)(hint[1] - '0'),
                                      .asns = asns[1] == '1',
                                      .vhpt = kind};
    snprintf(chosen[nmodels].vhpt_text, sizeof(chosen[nmodels].vhpt_text), "%s", table + 1);
    return chosen[nmodels].chip != NULL && chosen[nmodels++].hint <= TB_GH_MAX;
}

static bool parse_layout(const char *name, const char *value)
{
    static const struct {
        const char *name;
        uint64_t *at;
    } words[] = {
        {"ram", &guest.ram},
        {"watch", &guest.watch},
        {"image", &guest.image},
        {"cpus", &guest.cpus},
        {"cpu_size", &guest.cpu_size},
        {"thread_name", &guest.thread_name},
        {"thread_process", &guest.thread_process},
        {"thread_home", &guest.thread_home},
        {"process_pid", &guest.process_pid},
        {"rads", &guest.rads},
        {"rad_size", &guest.rad_size},
        {"rad_first", &guest.rad_first},
        {"rad_count", &guest.rad_count},
        {"page_db", &guest.page_db},
        {"page_size", &guest.page_size},
        {"page_type", &guest.page_type},
        {"page_owner", &guest.page_owner},
        {"type_section", &guest.type_section},
        {"section_gsd", &guest.section_gsd},
        {"gsd_name", &guest.gsd_name},
        {"sections", &guest.sections},
        {"section_link", &guest.section_link},
        {"section_first", &guest.section_first},
        {"section_npages", &guest.section_npages},
        {"section_extents", &guest.section_extents},
        {"counts", &guest.counts},
        {"counts_size", &guest.counts_size},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(name, words[i].name) == 0) {
            *words[i].at = strtoull(value, NULL, 0);
            return true;
        }
    return false;
}

static bool parse(char *word)
{
    char *value = strchr(word, '=');

    if (!value)
        return false;
    *value++ = 0;
    if (strcmp(word, "out") == 0) {
        out_name = strdup(value);
        return out_name != NULL;
    }
    if (strcmp(word, "model") == 0)
        return parse_model(value);
    if (strcmp(word, "check") == 0) {
        check = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "by_rad") == 0) {
        by_rad = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "pages") == 0) {
        by_page = strcmp(value, "on") == 0;
        return true;
    }
    if (strcmp(word, "trace") == 0) {
        trace = fopen(value, "wb");
        return trace && fwrite(TB_TRACE_MAGIC, sizeof(TB_TRACE_MAGIC) - 1, 1, trace) == 1;
    }
    return parse_layout(word, value);
}

static bool begin_model(struct cpu *c, unsigned i)
{
    tb_init(&c->model[i], chosen[i].chip, chosen[i].hint, chosen[i].asns);
    if (chosen[i].vhpt.kib == 0)
        return true;
    c->model[i].vhpt = &c->vhpt[i];
    return vhpt_init(&c->vhpt[i], chosen[i].vhpt);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!parse(argv[i])) {
            fprintf(stderr, "tb: argument %s is not understood\n", argv[i]);
            return 1;
        }
    if (!out_name || !guest.ram || !guest.watch || !guest.image) {
        fputs("tb: out, ram, watch and image are needed\n", stderr);
        return 1;
    }
    while (told + 1 < nmodels && !chosen[told].vhpt.kib)
        told++;
    if (nmodels && !chosen[told].vhpt.kib)
        told = 0;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
        cpus[cpu].last[TB_FETCH] = cpus[cpu].last[TB_DATA] = NO_PAGE;
        places_init(&cpus[cpu].places);
        for (unsigned i = 0; i < nmodels; i++)
            if (!begin_model(&cpus[cpu], i)) {
                fputs("tb: there is no memory for the hashed page tables\n", stderr);
                return 1;
            }
    }
    count_begin();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
