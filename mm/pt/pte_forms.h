/*
 * Forms of an invalid PTE (V = 0), decided by software bits 18:16, and the software bits of a valid
 * one.
 *
 * Who may leave which form in a level-3 PTE:
 *
 *   form         system space                        user space
 *   all zero     nothing is mapped: a fault fails    the map entry decides what a fault brings
 *   DZRO         a fault brings a zero page          never: zero says it where the entry does
 *   PAGEFILE     never                               nobody yet: a page in a page file
 *   TRANSITION   never                               nobody yet: a page between two owners
 *
 * So whoever looks at a user PTE today expects zero or a valid one, and says so by pte_maps_page():
 * the PFN field of any other form is no page to be mapped, freed or copied. Who introduces a form
 * handles it at each of these calls; until then it is a fault of the kernel's, named by its panic.
 */
#ifndef MM_PT_PTE_FORMS_H
#define MM_PT_PTE_FORMS_H

#include "arch/alpha/hw/pte.h"

#define PTE_FORM_SHIFT 16
#define PTE_FORM_MASK  (7UL << PTE_FORM_SHIFT)
enum pte_form {
    PTE_FORM_NONE = 0,
    PTE_FORM_DZRO = 1,       /* demand zero */
    PTE_FORM_PAGEFILE = 2,   /* page-file slot in 63:32 */
    PTE_FORM_TRANSITION = 3, /* PFN in 63:32 is on its way in or out */
};
static inline enum pte_form pte_form(pte_t p)
{
    return (enum pte_form)((p & PTE_FORM_MASK) >> PTE_FORM_SHIFT);
}
/* The form of an invalid PTE in words, for messages. Any context. */
const char *pte_form_name(pte_t p);

/* A user PTE of a form that cannot be where it is: panics and names it. */
void pte_unexpected(vaddr_t va, pte_t p) __attribute__((noreturn, cold));

/* Does the user level-3 PTE of va map a page? False: it is zero. Any other form panics. */
static inline bool pte_maps_page(vaddr_t va, pte_t p)
{
    if (p == 0)
        return false;
    if (unlikely(!pte_valid(p)))
        pte_unexpected(va, p);
    return true;
}

/* Software bits of a valid PTE. */
#define PTE_SW_COW    (1UL << 20) /* FOW stands for copy-on-write, not for the modified bit */
#define PTE_SW_WIRED  (1UL << 21) /* memory resident: on no working-set list */
#define PTE_SW_SHARED (1UL << 22) /* page belongs to an object or section */
#define PTE_SW_SHPT   (1UL << 23) /* level-2/1 PTE that maps a shared page-table page */

#endif
