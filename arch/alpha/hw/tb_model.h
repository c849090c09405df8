/*
 * What the kernel tells a model of translation buffers that runs beside the machine (scripts/run
 * --tb-model, docs/translation-buffer.md): each change of the root page table on a CPU, with the
 * address space number that the kernel would give it, and each invalidation. An announcement is one
 * store to the CPU's word of tb_announced, which the model watches:
 *
 *     3:0    enum tb_says
 *     15:4   address space number (TB_SAYS_ROOT)
 *     63:32  PFN of the level-1 page (TB_SAYS_ROOT)
 *     63:13  page of the address (TB_SAYS_PAGE)
 *
 * Without a model nothing is announced and nothing is executed: context_switch and pal_tbi() have
 * instructions that tb_model_listen() replaces by branches to tb_model.S (arch/alpha/hw/patch.h).
 *
 * Address space numbers. The CPU that runs has number 0 for ever, because QEMU implements none, and
 * a change of the root invalidates all processes' translations. For the model each CPU gives
 * numbers 1 to a maximum to roots in turn. When they are used up it invalidates all that lack ASM
 * and begins anew (a generation). A root loses its number on a CPU
 *   - when it becomes the root of another address space: tb_model_new_root();
 *   - when its translations are invalidated by another CPU, which asks only those that have it
 *     loaded: tb_model_renumber(). This one may have some under that number.
 */
#ifndef ARCH_ALPHA_HW_TB_MODEL_H
#define ARCH_ALPHA_HW_TB_MODEL_H

#include "arch/alpha/hw/cpu.h"

/* TB_SAYS_PAGE, _PROCESS and _ALL are the kinds of pal_tbi() in their lowest three bits. */
enum tb_says { TB_SAYS_PAGE = 3, TB_SAYS_ALL = 6, TB_SAYS_PROCESS = 7, TB_SAYS_ROOT = 8 };

#define TB_MODEL_ASN_MAX 255

/* The kinds of sites; pal.h and switch.S put (address, kind) pairs into .tb_sites. */
#define TB_SITE_INVALIDATE 0
#define TB_SITE_SWITCH     1

/* The word of each CPU; stores only. */
extern uint64_t tb_announced[MAX_CPUS];

/* Does a model listen? Constant after tb_model_listen(). */
extern bool tb_model_listens;

/* Boot, on one CPU: a model listens, and chips have address space numbers up to asn_max (at most
 * TB_MODEL_ASN_MAX). */
void tb_model_listen(unsigned asn_max);

/* The CPU has loaded this root, PFN of a level-1 page, and invalidates nothing for it that is not
 * announced as such. IPL_CLOCK or above. */
void tb_model_root(uint64_t root);

/* This page becomes the root of another address space. Any IPL. */
void tb_model_new_root(uint64_t root);

/* The address space with this root gets a new number on each CPU that is not in `kept` (bit n: CPU
 * n), when the CPU next loads it. Any IPL. */
void tb_model_renumber(uint64_t root, uint64_t kept);

#endif
