/*
 * Page-file-backed global sections: ordinary pageable memory under a name.
 *
 * The pages are an anonymous object's, as those of a shared mmap are: demand zero, mapped through
 * private page tables only, taken back by whoever takes back pages of objects. The section holds
 * one reference to the object, each mapping another, so that a permanent section without mappers
 * keeps its contents. There is no page file yet: nothing is promised, and a fault for which there
 * is no memory kills the process that made it. GBLPAGFIL limits the sum of their sizes.
 *
 * No lock of its own: the map is under the address space's mutex, the pages are under the lock of
 * the object's family (mm/object/object.c).
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
    if (!e->smap)
        return 0;                            /* fork failed before it was this entry's turn */
    (void)anon_ops.unmap(as, e, start, end); /* which cannot fail */
    section_map_end(as, e);
    return 0; /* the object goes with the entry */
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
    return anon_fork(src, e, dst, child); /* shared: attaches the object, which cannot fail */
}

/* Private tables: the protection is each mapping's own, up to what it was mapped with. */
static void op_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                       unsigned prot)
{
    anon_ops.protect(as, e, start, end, prot);
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

static cond_t pagfil_furnish(struct section *s, const struct section_request *r)
{
    s->object = object_create(r->npages, NULL, NULL);
    return s->object ? SS$_NORMAL : SS$_INSFMEM;
}

static void pagfil_strip(struct section *s) { object_unref(s->object); }

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
    .furnish = pagfil_furnish,
    .strip = pagfil_strip,
    .attach = pagfil_attach,
    .valid_pages = pagfil_valid_pages,
};

void section_pagfil_boot(void) { section_kind_register(&pagfil_kind); }
