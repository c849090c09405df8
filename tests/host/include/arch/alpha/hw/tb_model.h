/* The host's version: no model listens. */
#ifndef ARCH_ALPHA_HW_TB_MODEL_H
#define ARCH_ALPHA_HW_TB_MODEL_H

#include "kernel/base/types.h"

static const bool tb_model_listens = false;

static inline void tb_model_new_root(uint64_t root) { (void)root; }
static inline void tb_model_renumber(uint64_t root, uint64_t kept)
{
    (void)root;
    (void)kept;
}

#endif
