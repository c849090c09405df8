/*
 * Instructions of the kernel that become calls while something is measured. A table in the image
 * has the address and the kind of each; for a kind it is known what the instruction is, and to
 * which routine the branch goes that replaces it. That routine has the effect of the instruction as
 * well. So what is not measured costs nothing: there is nothing there.
 *
 * A site is one aligned word, so a CPU executes either the old or the new instruction; an
 * instruction cache that has the old one for some time longer does no harm.
 */
#ifndef ARCH_ALPHA_HW_PATCH_H
#define ARCH_ALPHA_HW_PATCH_H

#include "kernel/base/types.h"

struct patch_site {
    uint64_t address, kind;
};

struct patch_kind {
    void (*target)(void);
    uint32_t link;        /* the register with the return address: one that is free there */
    uint32_t instruction; /* that of the site */
};

/* Replace the instructions of the sites from `first` to below `end` by branches (on), or put them
 * back. Other CPUs follow when they execute IMB. Callers with the same sites exclude each other.
 * Any IPL. */
void patch_sites(const struct patch_site *first, const struct patch_site *end,
                 const struct patch_kind *kinds, bool on);

#endif
