/*
 * Forms of an invalid PTE (V = 0), given by its software bits 18:16, and the software bits of a
 * valid PTE.
 *
 * Forms that a level-3 PTE can have:
 *
 *   form         system space                        user space
 *   all zero     nothing is mapped: a fault fails    the map entry decides what a fault does
 *   DZRO         a fault maps a zeroed page          never: a zero PTE is used instead
 *   PAGEFILE     never                               private memory without an object: the page is
 *                                                    in a slot of a page file (mm/pagefile)
 *   TRANSITION   never                               not used: a page between two owners
 *
 * So a user PTE is zero, valid, or has a slot, and code that reads one checks this by
 * pte_maps_page(): the PFN field of any other form is not a page that may be mapped, freed or
 * copied. Any other form is a kernel bug, and the panic names it.
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
    PTE_FORM_TRANSITION = 3, /* PFN in 63:32, being read or written by a pager */
};
static inline enum pte_form pte_form(pte_t p)
{
    return (enum pte_form)((p & PTE_FORM_MASK) >> PTE_FORM_SHIFT);
}
/* The form of an invalid PTE in words, for messages. Static text. Any IPL. */
const char *pte_form_name(pte_t p);

/* Panic because of a user PTE whose form cannot occur there; the message names the form. */
void pte_unexpected(vaddr_t va, pte_t p) __attribute__((noreturn, cold));

/* The PTE of a page that is in this slot of a page file, and the slot of such a PTE. */
static inline pte_t pte_paged_out(uint32_t slot)
{
    return (pte_t)slot << PTE_PFN_SHIFT | (pte_t)PTE_FORM_PAGEFILE << PTE_FORM_SHIFT;
}
static inline uint32_t pte_slot(pte_t p) { return (uint32_t)(p >> PTE_PFN_SHIFT); }

/* Is the user level-3 PTE of va, which is neither valid nor zero, that of a page in a page file? It
   is, or this panics. */
static inline void pte_must_be_paged_out(vaddr_t va, pte_t p)
{
    if (pte_form(p) != PTE_FORM_PAGEFILE)
        pte_unexpected(va, p);
}
/* Does a user level-3 PTE, of any form, say that the page is in a page file? */
static inline bool pte_is_paged_out(pte_t p)
{
    return !pte_valid(p) && pte_form(p) == PTE_FORM_PAGEFILE;
}

/* Does the user level-3 PTE of va map a page? False: it is zero, or the page is in a page file.
   Panics on any other form. */
static inline bool pte_maps_page(vaddr_t va, pte_t p)
{
    if (p == 0)
        return false;
    if (unlikely(!pte_valid(p))) {
        pte_must_be_paged_out(va, p);
        return false;
    }
    return true;
}

/* Software bits of a valid PTE. */
#define PTE_SW_COW    (1UL << 20) /* FOW is set for copy-on-write, not to detect modification */
#define PTE_SW_WIRED  (1UL << 21) /* memory resident: never paged out */
#define PTE_SW_SHARED (1UL << 22) /* the page belongs to an object or section */
#define PTE_SW_SHPT   (1UL << 23) /* level-2/1 PTE that maps a shared page-table page */
#define PTE_SW_AGED   (1UL << 24) /* private page: allows nothing, to show when it is next used */
#define PTE_SW_LEAVE  (1UL << 25) /* aged, and about to be written to a page file */

#endif
