/*
 * Files of the memory file system: inodes and contents. The pages of a regular file are filled
 * at their first use, from the initrd's bytes (backing) or with zeroes, and stay until the file is
 * deleted, in memory or in a page file: there is no other storage.
 *
 * The pager replies at once, inside get: it allocates a page, fills it and supplies it. It takes no
 * lock of this layer, because it runs inside faults, including the fault of a thread that is in
 * inode_write_user with the inode's mutex held. What it reads (size, backing_bytes) is atomic. A
 * page that is supplied while a truncation runs is dropped by the truncation, which sets the size
 * first.
 *
 * An object and its inode: the inode holds one reference to the object, and while the object exists
 * it keeps the inode's memory allocated (without an inode reference). Dropping the last inode
 * reference drops the object's, and the object's end frees the memory. So the contents of an
 * unlinked file stay while they are mapped.
 */
#include "arch/alpha/hw/kseg.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/memfs_private.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_charged.h"
#include "mm/pt/gh.h"
#include "mm/space/aspace.h"

/* Copy the archive's bytes of page `at`, in bytes, to pfn. */
static void fill_page(const struct memfs_file *f, uint64_t at, uint64_t backed, pfn_t pfn)
{
    size_t n = MIN(backed - at, PAGE_SIZE);
    uint8_t *page = kseg_page(pfn);

    memcpy(page, f->backing + at, n);
    if (n < PAGE_SIZE)
        memset(page + n, 0, PAGE_SIZE - n);
}

/* Fluid pages above the minimum: with fewer none is brought that was not asked for. */
#define BLOCK_FLUID 1024u

/* The page at offset is about to be supplied: bring the GH_SMALL pages around it together, in
   frames that follow each other, so that what maps them can have a granularity hint (mm/pt/gh.h).
   Returns the page at offset, which the caller supplies; PFN_NONE: the archive has less there, the
   object has some of them or was asked for more, or memory is short. They are from memory that was
   never used, at most as much as the archive is long: what is freed later is used for other
   things. */
static pfn_t bring_block(struct mm_object *o, const struct memfs_file *f, uint64_t offset,
                         uint64_t backed)
{
    uint64_t begin = offset & ~(uint64_t)(GH_SMALL - 1), at = begin << PAGE_SHIFT;
    pfn_t first;

    if (at + GH_SMALL * PAGE_SIZE > page_round_up(backed) ||
        fluid_count() < fluid_minimum() + BLOCK_FLUID || !mm_asks_alone(o, offset, GH_SMALL) ||
        page_alloc_contig(GH_SMALL, GH_SMALL, PA_SHARED, PAGE_T_OBJECT, RAD_ANY, &first) != 0)
        return PFN_NONE;
    for (uint64_t k = 0; k < GH_SMALL; k++) {
        pfn_t pfn = pfn_of(first.n + k);

        fill_page(f, at + k * PAGE_SIZE, backed, pfn);
        if (begin + k != offset && !mm_offer(o, begin + k, pfn, &f->backing_bytes, backed))
            page_free(pfn);
    }
    return pfn_of(first.n + (offset - begin));
}

/* A page with the archive's bytes at offset, which stays for all users. 0 or -ENOMEM. */
static int __attribute__((noinline)) read_page(struct mm_object *o, const struct memfs_file *f,
                                               uint64_t offset, uint64_t backed, pfn_t *pfn)
{
    *pfn = bring_block(o, f, offset, backed);
    if (pfn->n)
        return 0;
    if (page_alloc(PA_SHARED, PAGE_T_OBJECT, RAD_ANY, pfn) != 0)
        return -ENOMEM;
    fill_page(f, offset << PAGE_SHIFT, backed, *pfn);
    return 0;
}

/* A page for a file at offset; the first `backed` bytes are the archive's. 0, or why there is none.
   What a user writes is charged to that user. */
static inline int make_page(struct mm_object *o, const struct memfs_file *f, uint64_t offset,
                            uint64_t backed, pfn_t *pfn)
{
    uint64_t at = offset << PAGE_SHIFT;

    if (at >= __atomic_load_n(&f->inode.size, __ATOMIC_ACQUIRE))
        return -ENXIO;
    if (likely(at >= backed))
        return page_alloc(PA_ZERO | PA_FILE, PAGE_T_OBJECT, RAD_ANY, pfn) ? -ENOSPC : 0;
    return read_page(o, f, offset, backed, pfn);
}

/* Supply one page of a file, or deny it with an error. False: the file has become shorter since the
   page was filled, and nothing was done. */
static inline bool supply_page(struct mm_object *o, const struct memfs_file *f, uint64_t offset,
                               unsigned access)
{
    uint64_t backed = __atomic_load_n(&f->backing_bytes, __ATOMIC_ACQUIRE);
    pfn_t pfn;
    int err = make_page(o, f, offset, backed, &pfn);

    if (err) {
        mm_deny(o, offset, 1, err);
        return true;
    }
    if (likely(mm_supply_if(o, offset, pfn, access | MAP_R | MAP_W, &f->backing_bytes, backed) !=
               -EAGAIN))
        return true;
    page_free(pfn);
    return false;
}

static int memfs_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    const struct memfs_file *f = object_pager_data(o);

    for (uint64_t n = 0; n < count; n++)
        while (!supply_page(o, f, offset + n, access))
            ; /* each time the file has become shorter */
    return 0;
}

void *memfs_node_alloc(size_t nbytes)
{
    struct account *a = account_self();
    void *p;

    if (!account_charge(a, QUOTA_INODES, 1))
        return NULL;
    p = npp_alloc_zeroed(nbytes);
    if (!p)
        account_release(a, QUOTA_INODES, 1);
    return p;
}

void memfs_node_free(void *p, size_t nbytes, uint16_t account)
{
    account_release(&accounts[account], QUOTA_INODES, 1);
    npp_free(p, nbytes);
}

static void node_end(struct memfs_file *f)
{
    if (f->target)
        pgd_free_charged(f->target, f->inode.size, f->account);
    memfs_node_free(f, sizeof(*f), f->account);
}

static void memfs_object_end(struct mm_object *o) { node_end(object_pager_data(o)); }

static void memfs_written(struct mm_object *o)
{
    struct memfs_file *f = object_pager_data(o);

    inode_touch(&f->inode);
}

/* Every page is supplied with all access rights, so there is no upgrade operation, and pages are
 * never written back. */
static const struct pager_ops memfs_pager = {.name = "file",
                                             .in_memory = true,
                                             .get = memfs_get,
                                             .written = memfs_written,
                                             .end = memfs_object_end};

struct inode *memfs_file_new(struct fs *fs, const struct fs_new *what)
{
    struct memfs_file *f = memfs_node_alloc(sizeof(*f));
    bool whole = true;

    if (!f)
        return NULL;
    f->account = pool_account();
    inode_init(&f->inode, fs, &memfs_ops, what);
    if ((what->mode & S_IFMT) == S_IFREG) {
        f->inode.object = object_create(0, &memfs_pager, f);
        whole = f->inode.object != NULL;
    } else if ((what->mode & S_IFMT) == S_IFLNK) {
        size_t n = strlen(what->target);

        f->target = pgd_alloc_charged(n, f->account);
        whole = f->target != NULL;
        if (whole) {
            memcpy(f->target, what->target, n);
            f->inode.size = n;
        }
    }
    if (!whole) {
        memfs_node_free(f, sizeof(*f), f->account);
        return NULL;
    }
    return &f->inode;
}

void memfs_file_end(struct inode *i)
{
    if (i->object)
        object_unref(i->object); /* memfs_object_end frees i, now or after the last unmapping */
    else
        node_end(file_of(i));
}

/* killable as in inode_ops.resize, with its result. */
static int set_size(struct inode *i, uint64_t size, bool killable)
{
    uint64_t old = i->size, npages = (size + PAGE_MASK) >> PAGE_SHIFT, left = npages;

    __atomic_store_n(&i->size, size, __ATOMIC_RELEASE);
    if (npages == (old + PAGE_MASK) >> PAGE_SHIFT)
        return 0;
    if (killable)
        left = object_truncate_killable(i->object, npages);
    else
        object_truncate(i->object, npages);
    if (likely(left == npages))
        return 0;
    __atomic_store_n(&i->size, MIN(old, left << PAGE_SHIFT), __ATOMIC_RELEASE);
    return -EINTR;
}

int memfs_resize(struct inode *i, uint64_t size, bool killable)
{
    struct memfs_file *f = file_of(i);
    uint64_t within = size & PAGE_MASK, backed = f->backing_bytes;
    bool shorter = size < i->size;
    pfn_t pfn = PFN_NONE;
    int err;

    if (shorter && within) { /* before anything changes: it may be in a page file */
        err = object_page_find(i->object, size >> PAGE_SHIFT, &pfn);
        /* Who takes a growth back (not killable) must succeed, also when the page cannot be read or
           its thread was killed. Then the page is in its page file still, where the bytes behind
           the end are those of before the growth: zeroes. */
        if (unlikely(err) && killable)
            return err;
    }
    if (backed > size)
        __atomic_store_n(&f->backing_bytes, size, __ATOMIC_RELEASE);
    /* A page that was lost from the archive's contents meanwhile must not stay: not killable. */
    err = set_size(i, size, killable && backed <= size);
    if (shorter && within && pfn_eq(pfn, PFN_NONE)) /* it may have come meanwhile, by a fault */
        pfn = object_page_try_get(i->object, size >> PAGE_SHIFT);
    if (!pfn_eq(pfn, PFN_NONE)) { /* a later extension must read as zeroes */
        if (likely(!err))
            memset((uint8_t *)kseg_page(pfn) + within, 0, PAGE_SIZE - within);
        page_unref(pfn);
    }
    return err;
}

/* Overwrite a page with zeroes, if it is in memory, or if `make` is set. */
static int clear_page(struct inode *i, uint64_t index, bool make)
{
    pfn_t pfn;
    int err = object_page_find(i->object, index, &pfn);

    if (!err && pfn_eq(pfn, PFN_NONE) && make)
        err = object_page_get(i->object, index, MAP_R | MAP_W, &pfn);
    if (err || pfn_eq(pfn, PFN_NONE))
        return err;
    memset(kseg_page(pfn), 0, PAGE_SIZE);
    page_unref(pfn);
    return 0;
}

/* Pages of the initrd would come back as they were, and a page locked in memory stays: these are
 * overwritten. */
int memfs_discard(struct inode *i, uint64_t first, uint64_t n)
{
    uint64_t backed = (file_of(i)->backing_bytes + PAGE_MASK) >> PAGE_SHIFT, end = first + n;

    int err = 0;

    for (; !err && first < MIN(backed, end); first++)
        err = clear_page(i, first, true);
    if (!err && first < end && mm_downgrade(i->object, first, end - first, 0))
        for (; first < end; first++)
            (void)clear_page(i, first, false);
    return err;
}

void memfs_set_backing(struct inode *i, const void *p, uint64_t n)
{
    struct memfs_file *f = file_of(i);

    f->backing = p;
    f->backing_bytes = n;
    (void)set_size(i, n, false);
}

long memfs_readlink(struct inode *i, char *buf, size_t n)
{
    n = MIN(n, i->size);
    memcpy(buf, file_of(i)->target, n);
    return (long)n;
}

struct inode *memfs_inode_of(struct mm_object *o)
{
    struct memfs_file *f = object_pager(o) == &memfs_pager ? object_pager_data(o) : NULL;
    uint32_t refs = f ? __atomic_load_n(&f->inode.refs, __ATOMIC_RELAXED) : 0;

    while (refs)
        if (__atomic_compare_exchange_n(&f->inode.refs, &refs, refs + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return &f->inode;
    return NULL;
}
