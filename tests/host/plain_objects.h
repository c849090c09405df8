/*
 * Memory objects for tests of file names: an inode's object can be created and freed, and its pager
 * can be asked for a page; nothing reads or writes file contents. Objects are counted as pool.
 */
#ifndef TESTS_HOST_PLAIN_OBJECTS_H
#define TESTS_HOST_PLAIN_OBJECTS_H

#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/sched/timer.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"

struct mm_object {
    const struct pager_ops *ops;
    void *data;
    uint64_t npages;
};

#define PLAIN_PAGE pfn_of(1) /* the only page */

static bool plain_supplied;
static void (*plain_meanwhile)(void); /* what happens, once, before a filled page is supplied */

uint64_t clock_wall_ns(void) { return 0; }

struct mm_object *object_create(uint64_t npages, const struct pager_ops *ops, void *data)
{
    struct mm_object *o = npp_alloc_zeroed(sizeof(*o));

    if (o)
        *o = (struct mm_object){.ops = ops, .data = data, .npages = npages};
    return o;
}

void object_unref(struct mm_object *o)
{
    o->ops->end(o);
    npp_free(o, sizeof(*o));
}

void *object_pager_data(struct mm_object *o) { return o->data; }
const struct pager_ops *object_pager(const struct mm_object *o) { return o->ops; }
void object_truncate(struct mm_object *o, uint64_t npages) { o->npages = npages; }
uint64_t object_truncate_killable(struct mm_object *o, uint64_t npages)
{
    return o->npages = npages;
}

pfn_t object_page_try_get(struct mm_object *o, uint64_t offset)
{
    (void)o, (void)offset;
    return PFN_NONE;
}

int object_page_find(struct mm_object *o, uint64_t offset, pfn_t *out)
{
    *out = object_page_try_get(o, offset);
    return 0;
}

int object_page_get(struct mm_object *o, uint64_t offset, unsigned access, pfn_t *out)
{
    (void)o, (void)offset, (void)access, (void)out;
    return -EFAULT;
}

/* What statfs shows. */
uint64_t fluid_count(void) { return 0; }
uint64_t fluid_minimum(void) { return 0; }
void page_stats(struct page_stats *s) { *s = (struct page_stats){0}; }

int page_alloc(unsigned flags, enum page_type type, unsigned rad, pfn_t *out)
{
    (void)type, (void)rad;
    memset(kseg_page(PLAIN_PAGE), flags & PA_ZERO ? 0 : 0xAA, PAGE_SIZE);
    *out = PLAIN_PAGE;
    return 0;
}

bool page_unref(pfn_t pfn)
{
    (void)pfn;
    return true;
}

int mm_supply(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access)
{
    (void)o, (void)offset, (void)pfn, (void)access;
    plain_supplied = true;
    return 0;
}

int mm_supply_if(struct mm_object *o, uint64_t offset, pfn_t pfn, unsigned access,
                 const uint64_t *state, uint64_t was)
{
    void (*meanwhile)(void) = plain_meanwhile;

    plain_meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    return *state == was ? mm_supply(o, offset, pfn, access) : -EAGAIN;
}

bool mm_offer(struct mm_object *o, uint64_t offset, pfn_t pfn, const uint64_t *state, uint64_t was)
{
    (void)o, (void)offset, (void)pfn, (void)state, (void)was;
    return false;
}

bool mm_asks_alone(struct mm_object *o, uint64_t offset, uint64_t n)
{
    (void)o, (void)offset, (void)n;
    return true;
}

/* There is one page only. */
int page_alloc_contig(uint64_t npages, uint64_t align, unsigned flags, enum page_type type,
                      unsigned rad, pfn_t *first)
{
    (void)npages, (void)align, (void)flags, (void)type, (void)rad, (void)first;
    return -ENOMEM;
}

void page_free(pfn_t pfn) { (void)pfn; }

void mm_deny(struct mm_object *o, uint64_t offset, uint64_t count, int err)
{
    (void)o, (void)offset, (void)count, (void)err;
}

int mm_downgrade(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)o, (void)offset, (void)count, (void)access;
    return 0;
}

int copyin(void *dst, vaddr_t ua, size_t n)
{
    (void)dst, (void)ua, (void)n;
    return -EFAULT;
}

int copyout(vaddr_t ua, const void *src, size_t n)
{
    (void)src, (void)ua, (void)n;
    return -EFAULT;
}

/* The contents of a file's first page, from its pager; NULL: the pager refuses it. */
__attribute__((unused)) static const char *plain_page_of(struct mm_object *o)
{
    plain_supplied = false;
    o->ops->get(o, 0, 1, 0);
    return plain_supplied ? kseg_page(PLAIN_PAGE) : NULL;
}

#endif
