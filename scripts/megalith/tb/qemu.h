/* QEMU's interface for plugins, as far as those here and in bench/profiler use it; distributions
 * package no header. PLUGIN_API is the version that the plugin declares: 1 for QEMU up to 8; 2 for
 * 9.0, which has no counters shared by the CPUs; 3 from 9.1 on, which copies an instruction's bytes
 * instead of lending them. */
#ifndef MEGALITH_TB_QEMU_H
#define MEGALITH_TB_QEMU_H

#include <stddef.h>
#include <stdint.h>

/* What a plugin is told when it is installed. */
struct qemu_info {
    const char *target;
    struct {
        int least, current;
    } version;
    _Bool system; /* an emulator of a machine, to which the rest applies */
    int vcpus, vcpus_most;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

enum { QEMU_NO_REGS = 0, QEMU_ADD = 0, QEMU_STORES = 2, QEMU_ACCESSES = 3 };

typedef void qemu_exec_fn(unsigned cpu, void *data);
typedef void qemu_mem_fn(unsigned cpu, uint32_t info, uint64_t address, void *data);
typedef void qemu_trans_fn(uint64_t id, struct qemu_plugin_tb *tb);
typedef void qemu_exit_fn(uint64_t id, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t at);
#if PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t nbytes);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, qemu_trans_fn *fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_fn *fn, int flags,
                                          void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_fn *fn, int flags,
                                      int accesses, void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, qemu_exit_fn *fn, void *data);

#if PLUGIN_API == 1
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_fn *fn,
                                            int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op, void *at,
                                                uint64_t add);
void qemu_plugin_register_vcpu_mem_inline(struct qemu_plugin_insn *insn, int accesses, int op,
                                          void *at, uint64_t add);
#else
struct qemu_plugin_u64 {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
};
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element);
int qemu_plugin_num_vcpus(void); /* those that have been started */
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned cpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
                                                         struct qemu_plugin_u64 at, uint64_t add);
void qemu_plugin_register_vcpu_mem_inline_per_vcpu(struct qemu_plugin_insn *insn, int accesses,
                                                   int op, struct qemu_plugin_u64 at, uint64_t add);
#endif

#define QEMU_EXPORT __attribute__((visibility("default")))

#endif
