/*
 * Page-frame sections: a name for frames that are nobody's memory.
 *
 * Every page of this kernel has one owner, so a section shows frames that the page allocator does
 * not have, or that their owner shows on purpose. Allowed are
 *  - the bus's windows of physical I/O space: PCI memory and PCI I/O. Not the chipset's registers
 *    and not configuration space, which are the kernel's;
 *  - memory that PHYSICAL_MEMORY leaves aside;
 *  - frames of a reservation that a driver has taken and opened (mm/section/reserved.h): the
 *  section
 * borrows them, and the driver can neither close nor return them before it is gone. Anything else
 * is SS$_INVPFN: the frame is managed for others, or nothing is there.
 *
 * A mapping is filled in one sweep with private page tables, with the hints that its addresses
 * allow, and never faults; unmapping clears the tables. Nobody looks at these frames' entries in
 * the PFN database, which the first two kinds do not have.
 */
#include "arch/alpha/hw/io.h"
#include "kernel/base/abi/ssdef.h"
#include "mm/phys/page.h"
#include "mm/section/reserved.h"
#include "mm/section/section_map.h"

static cond_t pfn_furnish(struct section *s, const struct section_request *r)
{
    if (!io_frames_are_bus(r->first, r->npages) && !page_is_aside(r->first, r->npages)) {
        s->rmd = mmg_borrow_res_mem(r->first, r->npages);
        if (!s->rmd)
            return SS$_INVPFN;
    }
    s->first = r->first;
    s->flags |= SEC$M_GRANHINT;
    s->valid_pages = r->npages;
    return SS$_NORMAL;
}

static void pfn_strip(struct section *s)
{
    if (s->rmd)
        mmg_give_back_res_mem(s->rmd);
}

static const struct section_kind pfn_kind = {
    .implied = SEC$M_PFNMAP,
    .map_ops = &section_map_ops,
    .furnish = pfn_furnish,
    .strip = pfn_strip,
};

void section_pfn_boot(void) { section_kind_register(&pfn_kind); }
