/*
 * Forms of an invalid PTE (V = 0), decided by software bits 18:16; the fault handler switches on
 * them. An all-zero PTE says nothing: the map entry decides.
 */
#ifndef MM_PT_PTE_FORMS_H
#define MM_PT_PTE_FORMS_H

#include "arch/alpha/hw/pte.h"

#define PTE_FORM_SHIFT 16
#define PTE_FORM_MASK  (7UL << PTE_FORM_SHIFT)
enum pte_form {
    PTE_FORM_NONE = 0,       /* look at the map entry */
    PTE_FORM_DZRO = 1,       /* demand zero */
    PTE_FORM_OBJECT = 2,     /* object page: the map entry's object has it */
    PTE_FORM_PAGEFILE = 3,   /* page-file slot in 63:32 */
    PTE_FORM_TRANSITION = 4, /* PFN in 63:32 is on its way in or out */
};
static inline enum pte_form pte_form(pte_t p)
{
    return (enum pte_form)((p & PTE_FORM_MASK) >> PTE_FORM_SHIFT);
}

/* Software bits of a valid PTE. */
#define PTE_SW_COW    (1UL << 20) /* FOW stands for copy-on-write, not for the modified bit */
#define PTE_SW_WIRED  (1UL << 21) /* memory resident: on no working-set list */
#define PTE_SW_SHARED (1UL << 22) /* page belongs to an object or section */
#define PTE_SW_SHPT   (1UL << 23) /* level-2/1 PTE that maps a shared page-table page */

#endif
