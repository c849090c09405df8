/*
 * Page-frame sections: named sections over given frames that the page allocator does not manage.
 *
 * Every page of this kernel has one owner, so a section may show only frames that are outside the
 * page allocator, or that their owner has made available. Allowed are
 *
 *  - the windows of physical I/O space that lead to the bus, PCI memory and PCI I/O. The chipset's
 *    registers and configuration space belong to the kernel and are refused;
 *  - memory above the limit that PHYSICAL_MEMORY sets, which the kernel does not use;
 *  - frames of a reservation that a driver has taken and opened (mm/section/reserved.h). The
 *    section borrows them, and the driver can neither close nor return the reservation until the
 *    section is deleted.
 *
 * Any other frame is SS$_INVPFN: the kernel manages it, or nothing is there.
 *
 * All PTEs of a mapping are filled in at once, in private page tables, with the granularity hints
 * that its addresses allow, so there are no faults; unmapping clears them. The PFN database is not
 * consulted: it has no entries for the first two kinds of frames. No lock besides those of
 * section.c and reserved.c.
 */
#include "arch/alpha/hw/io.h"
#include "kernel/base/abi/ssdef.h"
#include "mm/phys/page.h"
#include "mm/section/reserved.h"
#include "mm/section/section_map.h"

static cond_t pfn_allocate(struct section *s, const struct section_request *r)
{
    if (!io_frames_are_bus(r->first, r->npages) && !page_is_excluded(r->first, r->npages)) {
        s->rmd = mmg_borrow_res_mem(r->first, r->npages);
        if (!s->rmd)
            return SS$_INVPFN;
    }
    s->first = r->first;
    s->flags |= SEC$M_GRANHINT;
    s->valid_pages = r->npages;
    return SS$_NORMAL;
}

static void pfn_release(struct section *s)
{
    if (s->rmd)
        mmg_give_back_res_mem(s->rmd);
}

static const struct section_kind pfn_kind = {
    .implied = SEC$M_PFNMAP,
    .map_ops = &section_map_ops,
    .allocate = pfn_allocate,
    .release = pfn_release,
};

void section_pfn_boot(void) { section_kind_register(&pfn_kind); }
