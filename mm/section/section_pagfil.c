/*
 * Page-file-backed global sections: ordinary pageable memory under a name.
 *
 * The pages belong to an anonymous memory object, as those of a shared mmap do: they are demand
 * zero and mapped through private page tables only. The section holds one reference to the object
 * and each mapping another, so a permanent section without mappings keeps its contents, in memory
 * or in page files (mm/object/object_paging.c). Neither is promised, and a process whose fault
 * finds no page, for which the pager frees none either, is killed. GBLPAGFIL limits the sum of the
 * sections' sizes.
 *
 * There is no lock here: the address space's mutex protects map entries, and the lock of the
 * object's family protects its pages (mm/object/object.c).
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "mm/object/object.h"
#include "mm/section/section_map.h"
#include "mm/space/aspace.h"

static int op_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    if (access == FAULT_EXEC || (access == FAULT_WRITE && !(e->prot & MAP_W)))
        return -EACCES;
    return anon_ops.fault(as, e, va, access);
}

static int op_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    int err;

    if (!e->smap)
        return 0; /* a fork failed before op_fork reached this entry */
    err = anon_ops.unmap(as, e, start, end);
    if (err)
        return err;
    section_map_end(as, e);
    return 0; /* the reference to the object is dropped with the entry */
}

static int op_split_prepare(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    return section_map_copy(e->smap->aspace, e, second, va);
}

static void op_split(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    section_map_link(second);
    anon_ops.split(e, second, va);
}

static int op_fork(struct aspace *src, struct map_entry *e, struct aspace *dst,
                   struct map_entry *child)
{
    if (section_map_copy(dst, e, child, e->start) != 0)
        return -ENOMEM;
    section_map_link(child);
    __atomic_fetch_add(&dst->counts.section_pages, (child->end - child->start) / PAGE_SIZE,
                       __ATOMIC_RELAXED);
    return anon_fork(src, e, dst, child); /* attaches the shared object; cannot fail */
}

/* The tables are private, so each mapping has its own protection, up to what it was mapped with. */
static vaddr_t op_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                          unsigned prot)
{
    return anon_ops.protect(as, e, start, end, prot);
}

static int op_populate(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    return anon_ops.populate(as, e, start, end);
}

static const struct map_ops pagfil_map_ops = {
    .name = "page-file section",
    .fault = op_fault,
    .unmap = op_unmap,
    .fork = op_fork,
    .protect = op_protect,
    .split_prepare = op_split_prepare,
    .split_cancel = section_map_uncopy,
    .split = op_split,
    .populate = op_populate,
};

static cond_t pagfil_allocate(struct section *s, const struct section_request *r)
{
    s->object = object_create(r->npages, NULL, NULL);
    return s->object ? SS$_NORMAL : SS$_INSFMEM;
}

static void pagfil_release(struct section *s) { object_unref(s->object); }

static void pagfil_attach(struct section *s, struct map_entry *e)
{
    object_attach_entry(s->object, e);
}

static uint64_t pagfil_valid_pages(const struct section *s)
{
    uint64_t resident, pool_bytes;

    object_measure(s->object, &resident, &pool_bytes);
    return resident;
}

static const struct section_kind pagfil_kind = {
    .implied = SEC$M_PAGFIL | SEC$M_DZRO | SEC$M_WRT,
    .has_gptes = true,
    .has_pagfil_pages = true,
    .map_ops = &pagfil_map_ops,
    .allocate = pagfil_allocate,
    .release = pagfil_release,
    .attach = pagfil_attach,
    .valid_pages = pagfil_valid_pages,
};

void section_pagfil_boot(void) { section_kind_register(&pagfil_kind); }
