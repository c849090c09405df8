/*
 * What the plugin was asked for, and what it keeps of each CPU. Everything of a CPU is used by its
 * thread only, so nothing is locked; the options are constant once the machine runs.
 */
#ifndef MEGALITH_TB_CPUS_H
#define MEGALITH_TB_CPUS_H

#include "guest.h"
#include "pages.h"
#include "places.h"
#include "qemu.h"
#include "vhpt.h"

#include <stdio.h>

#define CPUS_MAX   4
#define MODELS_MAX 12

/* ---- options (options.c) ---- */

extern struct chosen {
    const struct tb_chip *chip;
    unsigned hint;
    bool asns;
    struct vhpt_kind vhpt;
    char vhpt_text[12];
} chosen[MODELS_MAX];
extern unsigned nmodels;
extern bool check, by_page, by_rad;
extern unsigned told; /* the model whose counts the guest may read */
extern const char *out_name;
extern FILE *trace;

/* Read the plugin's arguments (plugin.c). False: they are wrong, and it has been said. */
bool options_read(int argc, char **argv);

/* ---- CPUs (plugin.c) ---- */

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

extern struct cpu {
    struct tb_model model[MODELS_MAX];
    struct tb_vhpt vhpt[MODELS_MAX];
    uint64_t last[2]; /* page of the last reference, by enum tb_stream */
    uint64_t root;
    bool listens; /* the kernel has announced a root */
    uint64_t references[2], bypassed;
    uint64_t announced_roots, pal_swpctx; /* since it listens */
    /* Since the second root was announced, as what was loaded before the first is not known. */
    uint64_t announced_tbi, changes, pal_tbi;
    uint64_t disagreements; /* blocks whose PTEs differ (check) */
    uint64_t asns, rollovers;
    struct origin *origins[BUCKETS];
    uint64_t norigins;
    struct area *areas[AREAS_MAX];
    unsigned nareas;
    struct places places;
} __attribute__((aligned(64))) cpus[CPUS_MAX];

/* ---- where misses come from (origins.c) ---- */

/* The origin of a reference that misses; a new one if there was none like it. */
struct origin *origin_of(struct cpu *c, enum tb_stream stream, uint64_t va, uint64_t pc);

/* End the emulator: there is no memory. */
void no_memory(void);

/* ---- instructions (instructions.c) ---- */

enum { OUTSIDE, PALCODE };

/* Before the machine runs. */
void count_begin(unsigned ncpus);

/* Have those of a block counted, when it is translated. */
void count_block(struct qemu_plugin_tb *tb, size_t n, int where);

/* How many have been executed, by all CPUs. */
uint64_t instructions(int where);

/* The operation code of an instruction. */
unsigned op_of(const struct qemu_plugin_insn *insn);

/* How many had been executed when the guest read its clock (with --icount that is the time it read,
 * but for a constant); loads and stores of that CPU, the misses of its data buffers, what a hashed
 * page table found of all misses, and the cycles. The first MARKS_MAX times. */
#define MARKS_MAX 65536

extern struct mark {
    uint64_t instructions, accesses, misses[MODELS_MAX], doubles[MODELS_MAX];
    uint64_t all[MODELS_MAX], found[MODELS_MAX], least[MODELS_MAX], most[MODELS_MAX];
} marks[MARKS_MAX];
extern unsigned nmarks; /* atomic */

/* The guest reads its clock. */
void on_clock(unsigned cpu, void *data);

/* ---- results (results.c) ---- */

/* Write the file `out_name`: JSON, a line for each thing. */
void results_write(void);

#endif
