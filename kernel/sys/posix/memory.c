/*
 * Calls on the address space: brk, mmap and related calls. Arguments and ranges are checked here;
 * everything else, including locks, is done in mm/space.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/fs/inode.h"
#include "kernel/io/file.h"
#include "kernel/io/memfd.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/proc/rlimit.h"
#include "kernel/sched/freeze.h"
#include "kernel/sys/posix/process.h"
#include "mm/section/huge_cow.h"
#include "mm/space/aspace.h"

#define PROT_READ  1u
#define PROT_WRITE 2u
#define PROT_EXEC  4u
#define PROT_SEM   8u
#define PROT_KNOWN (PROT_READ | PROT_WRITE | PROT_EXEC | PROT_SEM)

#define MAP_SHARED          0x1u
#define MAP_PRIVATE         0x2u
#define MAP_SHARED_VALIDATE 0x3u
#define MAP_TYPE            0xFu
#define MAP_ANONYMOUS       0x10u
#define MAP_FIXED           0x100u
#define MAP_GROWSDOWN       0x1000u
#define MAP_POPULATE        0x20000u
#define MAP_HUGETLB         0x100000u
#define MAP_FIXED_NOREPLACE 0x200000u
#define MAP_HUGE_SHIFT      26u /* above: the logarithm of the size of huge pages, 0: the default */
#define MAP_HUGE_MASK       63u

/* What MAP_SHARED_VALIDATE knows: the flags that Linux had before it, except MAP_FIXED_NOREPLACE.
   MAP_DENYWRITE, EXECUTABLE, LOCKED, NORESERVE, NONBLOCK, STACK, HUGETLB are 0x2000 to 0x100000,
   MAP_UNINITIALIZED is 0x4000000, and the size of huge pages is in the six highest bits. */
#define MAP_VALIDATED \
    (MAP_TYPE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN | MAP_POPULATE | 0x1DE000u | 0xFC000000u)

#define MADV_DONTNEED        6
#define MADV_FREE            8
#define MADV_DONTNEED_LOCKED 24
/* Advice that may be ignored, because that costs only time or space: NORMAL, RANDOM, SEQUENTIAL,
   WILLNEED, SPACEAVAIL; FREE, DOFORK, MERGEABLE to DODUMP, KEEPONFORK, COLD, PAGEOUT. Not REMOVE,
   DONTFORK, WIPEONFORK, MADV_POPULATE_READ and _WRITE, whose effects a program can observe. */
#define MADV_IGNORED 0x3BF92Ful

#define MS_ASYNC      1u
#define MS_SYNC       2u
#define MS_INVALIDATE 4u
#define MLOCK_ONFAULT 1u
#define MCL_CURRENT   0x2000u /* the numbers of Alpha */
#define MCL_FUTURE    0x4000u
#define MCL_ONFAULT   0x8000u

static uint64_t page_up(uint64_t n) { return (n + PAGE_MASK) & ~PAGE_MASK; }

static unsigned prot_of(uint64_t prot)
{
    unsigned r = prot & PROT_WRITE ? MAP_R | MAP_W : 0; /* Alpha has no write without read */

    if (prot & PROT_READ)
        r |= MAP_R;
    if (prot & PROT_EXEC)
        r |= MAP_R | MAP_X;
    return r;
}

/* Is [va, va + n), with n rounded up to whole pages, a page-aligned range in user space? */
static bool range_ok(uint64_t va, uint64_t *n)
{
    if ((va & PAGE_MASK) || *n == 0 || *n > LAYOUT_USER_TOP)
        return false;
    *n = page_up(*n);
    return va <= LAYOUT_USER_TOP - *n;
}

/* How many pages the caller may have locked: any number with PSWAPM, as for $LCKPAG_64. */
static uint64_t lock_limit(void)
{
    const struct process *p = process_self();
    uint64_t bytes = rlimit_soft(p, RLIMIT_MEMLOCK);

    return (process_privileges(p) & PRV_PSWAPM) || bytes == RLIM_INFINITY ? UINT64_MAX
                                                                          : bytes >> PAGE_SHIFT;
}

/* Lock what was just mapped, after mlockall(MCL_FUTURE). What cannot be locked is mapped all the
   same. */
static void lock_new(struct aspace *as, vaddr_t va, uint64_t n)
{
    bool set;

    if (unlikely(__atomic_load_n(&as->locks_future, __ATOMIC_RELAXED)))
        (void)aspace_lock_pages_within(as, va, n, lock_limit(), &set);
}

/* Try to move the break to `want`. Returns the break afterwards; *unmapped: set if memory may have
   been unmapped. p->settings_mutex held, or p has only one thread. */
static vaddr_t move_break(struct process *p, vaddr_t want, bool *unmapped)
{
    vaddr_t old_end = page_up(p->brk), new_end = page_up(want), va = old_end;

    if (want < p->brk_start || want >= LAYOUT_USER_TOP)
        return p->brk;
    if (new_end > old_end) {
        int err = aspace_grow_anon(p->aspace, va, new_end - old_end, MAP_R | MAP_W);

        if (err == -ENOENT) /* the first page, or what is there is locked or protected */
            err = aspace_map_anon(p->aspace, &va, new_end - old_end, MAP_R | MAP_W,
                                  MAPF_FIXED_NOREPLACE);
        if (err)
            return p->brk;
        lock_new(p->aspace, va, new_end - old_end);
    } else if (new_end < old_end) {
        *unmapped = true;
        if (aspace_unmap_only(p->aspace, new_end, old_end - new_end) != 0)
            return p->brk;
    }
    p->brk = want;
    return want;
}

long sys_brk(uint64_t want)
{
    struct process *p = process_self();
    bool unmapped = false;
    vaddr_t is;

    if (process_alone(p)) {
        is = move_break(p, want, &unmapped);
    } else {
        mutex_lock(&p->settings_mutex);
        is = move_break(p, want, &unmapped);
        mutex_unlock(&p->settings_mutex);
    }
    if (unmapped)
        aspace_entries_left();
    return (long)is;
}

/* Convert mmap's flags to those of mm. */
static unsigned mapf_of(uint64_t flags)
{
    unsigned r = 0;

    if (flags & MAP_FIXED_NOREPLACE)
        r |= MAPF_FIXED_NOREPLACE;
    else if (flags & MAP_FIXED)
        r |= MAPF_FIXED;
    if ((flags & MAP_TYPE) != MAP_PRIVATE)
        r |= MAPF_SHARED;
    if (flags & MAP_GROWSDOWN)
        r |= MAPF_GROWSDOWN;
    return r;
}

/* Map a file that may be sealed. Its mutex is held meanwhile, so that no seal against writing is
   set between the check and the mapping, which would prevent it. */
static long map_memfd(struct file *f, struct aspace *as, vaddr_t *va, uint64_t n, uint64_t prot,
                      unsigned mapf, uint64_t offset)
{
    struct inode *i = f->inode;
    bool sealed;
    long err = mutex_lock_shared_killable(&i->lock);

    if (err)
        return err;
    sealed = (mapf & MAPF_SHARED) && (i->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE));
    if (sealed)
        mapf |= MAPF_READONLY;
    if (sealed && (prot & PROT_WRITE))
        err = -EPERM;
    else
        err = aspace_map_object(as, va, n, prot_of(prot), mapf, i->object, offset);
    mutex_unlock_shared(&i->lock);
    return err;
}

static long map_file(struct file *f, struct aspace *as, vaddr_t *va, uint64_t *n, uint64_t prot,
                     uint64_t flags, uint64_t offset)
{
    unsigned mode = f->flags & O_ACCMODE, mapf;
    struct mm_object *o;
    long err;

    if (mode == O_WRONLY ||
        ((flags & MAP_TYPE) != MAP_PRIVATE && (prot & PROT_WRITE) && mode != O_RDWR))
        return -EACCES;
    if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE && (flags & ~(uint64_t)MAP_VALIDATED))
        return -EOPNOTSUPP;
    if (offset > INT64_MAX - *n)
        return -EOVERFLOW;
    if (unlikely(memfd_is_huge(f)))
        return memfd_huge_map(f, as, va, n, offset, prot_of(prot), mapf_of(flags));
    if (flags & MAP_HUGETLB)
        return -EINVAL;
    if (f->ops->anonymous)
        return aspace_map_anon(as, va, *n, prot_of(prot), mapf_of(flags));
    o = f->ops->object ? f->ops->object(f) : NULL;
    if (!o)
        return -ENODEV;
    mapf = mapf_of(flags);
    if ((mapf & MAPF_SHARED) && mode != O_RDWR)
        mapf |= MAPF_READONLY; /* also refuses later mprotect and $SETPRT_64 for writing */
    if (unlikely(f->inode->memfd))
        return map_memfd(f, as, va, *n, prot, mapf, offset);
    err = aspace_map_object(as, va, *n, prot_of(prot), mapf, o, offset);
    if (!err && !(f->flags & O_NOATIME))
        inode_accessed(f->inode); /* for all reads of the mapping, which are not noticed */
    return err;
}

/* Is the size of huge pages that the flags ask for what there is? */
static bool huge_size_ok(uint64_t flags)
{
    uint64_t shift = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

    return shift == 0 || shift == HUGE_SHIFT;
}

static long map_anon(struct aspace *as, vaddr_t *va, uint64_t *n, uint64_t prot, uint64_t flags)
{
    if (likely(!(flags & MAP_HUGETLB)))
        return aspace_map_anon(as, va, *n, prot_of(prot), mapf_of(flags));
    if (!huge_size_ok(flags))
        return -EINVAL;
    *n = align_up(*n, HUGE_BYTES);
    if ((flags & MAP_TYPE) == MAP_PRIVATE)
        return huge_private_map(as, va, *n, prot_of(prot), mapf_of(flags));
    return section_huge_map_new(as, va, *n, prot_of(prot), mapf_of(flags));
}

static long map_descriptor(struct process *p, vaddr_t *va, uint64_t *n, uint64_t prot,
                           uint64_t flags, uint64_t fd, uint64_t offset)
{
    struct fd_use u = fd_get(p->files, fd);
    long err = u.file ? map_file(u.file, p->aspace, va, n, prot, flags, offset) : -EBADF;

    fd_put(u);
    return err;
}

long sys_mmap(uint64_t hint, uint64_t n, uint64_t prot, uint64_t flags, uint64_t fd,
              uint64_t offset)
{
    struct process *p = process_self();
    uint64_t type = flags & MAP_TYPE;
    vaddr_t va = hint & ~PAGE_MASK;
    long err;

    if ((prot & ~(uint64_t)PROT_KNOWN) || (offset & PAGE_MASK))
        return -EINVAL;
    if (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE)
        return -EINVAL;
    if (n == 0)
        return -EINVAL;
    if (n > LAYOUT_USER_TOP)
        return -ENOMEM;
    n = page_up(n);
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
        if (hint & PAGE_MASK)
            return -EINVAL;
        if (va < LAYOUT_P0_FIRST || va > LAYOUT_USER_TOP - n)
            return va < LAYOUT_P0_FIRST ? -EPERM : -ENOMEM;
    } else if (va < LAYOUT_P0_FIRST || va > LAYOUT_USER_TOP - n) {
        va = 0; /* a hint that cannot be used */
    }
    if ((flags & MAP_ANONYMOUS) && type == MAP_SHARED_VALIDATE)
        return -EINVAL;
    if (flags & MAP_ANONYMOUS)
        err = map_anon(p->aspace, &va, &n, prot, flags);
    else
        err = map_descriptor(p, &va, &n, prot, flags, fd, offset);
    if (flags & MAP_FIXED)
        aspace_entries_left();
    if (err)
        return err;
    /* The pages come last, when the call holds neither file nor object: while they do, the thread
       may be stopped and these counted. Errors are ignored: what is missing faults later. */
    if (flags & MAP_POPULATE)
        (void)aspace_populate(p->aspace, va, n, (prot & PROT_WRITE) != 0);
    lock_new(p->aspace, va, n);
    return (long)va;
}

long sys_munmap(uint64_t va, uint64_t n)
{
    return range_ok(va, &n) ? aspace_unmap(process_self()->aspace, va, n) : -EINVAL;
}

long sys_mprotect(uint64_t va, uint64_t n, uint64_t prot)
{
    if ((prot & ~(uint64_t)PROT_KNOWN) || (va & PAGE_MASK))
        return -EINVAL;
    if (n == 0)
        return 0;
    return range_ok(va, &n) ? aspace_protect(process_self()->aspace, va, n, prot_of(prot))
                            : -ENOMEM;
}

/* Advice is ignored, except what a program relies on, which is done (pages are zero after
   MADV_DONTNEED) or refused. */
long sys_madvise(uint64_t va, uint64_t n, uint64_t advice)
{
    struct aspace *as = process_self()->aspace;
    bool forget = advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED;

    if (!forget && (advice >= 64 || !(MADV_IGNORED >> advice & 1)))
        return -EINVAL;
    if ((va & PAGE_MASK) || (n && !range_ok(va, &n)))
        return -EINVAL;
    if (n == 0)
        return 0;
    if (forget)
        return aspace_forget(as, va, n, advice == MADV_DONTNEED_LOCKED);
    return aspace_check_mapped(as, va, n, advice == MADV_FREE ? ASPACE_PRIVATE_ANON : ASPACE_ANY);
}

/* Pages of files with storage elsewhere are written back, sooner or later unless it is asked for
   now. */
long sys_msync(uint64_t va, uint64_t n, uint64_t flags)
{
    if ((va & PAGE_MASK) || (flags & ~(uint64_t)(MS_ASYNC | MS_SYNC | MS_INVALIDATE)) ||
        (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
        return -EINVAL;
    if (n == 0)
        return 0;
    if (!range_ok(va, &n))
        return -ENOMEM;
    if (flags & MS_INVALIDATE) {
        int err = aspace_check_mapped(process_self()->aspace, va, n, ASPACE_UNLOCKED);

        if (err)
            return err;
    }
    return flags & MS_SYNC ? aspace_sync(process_self()->aspace, va, n)
                           : aspace_check_mapped(process_self()->aspace, va, n, ASPACE_ANY);
}

long sys_mincore(uint64_t va, uint64_t n, uint64_t vec)
{
    uint8_t part[ASPACE_RESIDENT_MAX];

    if (va & PAGE_MASK)
        return -EINVAL;
    if (n == 0)
        return 0;
    if (!range_ok(va, &n))
        return -ENOMEM;
    for (uint64_t left = n >> PAGE_SHIFT; left;) {
        unsigned now = (unsigned)MIN(left, ASPACE_RESIDENT_MAX);
        int err = aspace_resident(process_self()->aspace, va, now, part);

        if (err)
            return err;
        if (copyout(vec, part, now) != 0)
            return -EFAULT;
        if (sched_loop_point())
            return -EINTR;
        va += (uint64_t)now << PAGE_SHIFT;
        vec += now;
        left -= now;
    }
    return 0;
}

long sys_mremap(uint64_t old, uint64_t old_len, uint64_t new_len, uint64_t flags, uint64_t fixed)
{
    struct remap r = {.old = old,
                      .fixed = fixed,
                      .old_len = page_up(old_len),
                      .new_len = page_up(new_len),
                      .flags = (unsigned)flags};
    vaddr_t va;
    long err;

    if ((flags & ~(uint64_t)(REMAP_MAYMOVE | REMAP_FIXED | REMAP_KEEP)) ||
        ((flags & (REMAP_FIXED | REMAP_KEEP)) && !(flags & REMAP_MAYMOVE)))
        return -EINVAL;
    if ((old & PAGE_MASK) || new_len == 0 || ((flags & REMAP_KEEP) && r.old_len != r.new_len))
        return -EINVAL;
    if (old_len > LAYOUT_USER_TOP || new_len > LAYOUT_USER_TOP ||
        old > LAYOUT_USER_TOP - MAX(r.old_len, PAGE_SIZE))
        return -EINVAL;
    if (flags & REMAP_FIXED) {
        if ((fixed & PAGE_MASK) || fixed > LAYOUT_USER_TOP - r.new_len ||
            (fixed < old + r.old_len && old < fixed + r.new_len))
            return -EINVAL;
    }
    err = aspace_remap(process_self()->aspace, &r, &va);
    return err ? err : (long)va;
}

/* Round [*va, *va + *n) outward to whole pages. False: it is not in user space. */
static bool touched_pages(uint64_t *va, uint64_t *n)
{
    *n = *n > LAYOUT_USER_TOP ? *n : *n + (*va & PAGE_MASK);
    *va &= ~PAGE_MASK;
    return range_ok(*va, n);
}

static long lock_result(int err)
{
    return err == -EFAULT || err == -EACCES || err == -EIO ? -ENOMEM : err;
}

long sys_mlock(uint64_t va, uint64_t n)
{
    uint64_t limit = lock_limit();
    bool set;

    if (limit == 0)
        return -EPERM;
    if (n == 0)
        return 0;
    if (n > UINT64_MAX - va)
        return -EINVAL;
    return touched_pages(&va, &n)
               ? lock_result(aspace_lock_pages_within(process_self()->aspace, va, n, limit, &set))
               : -ENOMEM;
}

long sys_mlock2(uint64_t va, uint64_t n, uint64_t flags)
{
    return flags & ~(uint64_t)MLOCK_ONFAULT ? -EINVAL : sys_mlock(va, n);
}

/* With MCL_ONFAULT pages are locked at once all the same. */
long sys_mlockall(uint64_t flags)
{
    struct aspace *as = process_self()->aspace;
    uint64_t limit = lock_limit();
    int err = 0;

    if ((flags & ~(uint64_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) ||
        !(flags & (MCL_CURRENT | MCL_FUTURE)))
        return -EINVAL;
    if (limit == 0)
        return -EPERM;
    if (flags & MCL_CURRENT)
        err = aspace_lock_all(as, limit);
    if (!err)
        __atomic_store_n(&as->locks_future, (flags & MCL_FUTURE) != 0, __ATOMIC_RELAXED);
    return err;
}

long sys_munlockall(void)
{
    struct aspace *as = process_self()->aspace;

    __atomic_store_n(&as->locks_future, false, __ATOMIC_RELAXED);
    return aspace_unlock_all(as);
}

long sys_munlock(uint64_t va, uint64_t n)
{
    bool set;

    if (n == 0)
        return 0;
    return touched_pages(&va, &n)
               ? lock_result(aspace_unlock_pages(process_self()->aspace, va, n, &set))
               : -ENOMEM;
}

long sys_getpagesize(void) { return PAGE_SIZE; }
