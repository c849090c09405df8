/*
 * Private mappings of huge pages.
 *
 * A mapping is a map entry without section or object. Its huge pages are in its PTEs alone, 512
 * equal ones with the largest granularity hint for each, and every huge page that is mapped is one
 * use of it (huge_pool.h). A mapping of new memory takes all its pages when it is made, so that one
 * process which never forks has no faults and copies nothing; a mapping of a file of huge pages
 * begins with the file's own pages, to be copied.
 *
 * The unit of copying is the huge page, as on Linux: a program sees no difference but the time, and
 * the hints stay. fork makes the PTEs of parent and child read-only with PTE_SW_COW and counts the
 * use of the child. A write to such a page makes it writable again if no other use is left, and
 * else takes a page from the pool and copies the contents; so does a write after MADV_DONTNEED,
 * which leaves the PTEs empty, with zeroes. If the pool is empty or the user may have no more huge
 * pages, the access ends with SIGBUS.
 *
 * Lock: the address space's mutex. A fault drops it to take a page, takes it exclusively to change
 * the PTEs, and has the access repeated. Holds grow with the size of a huge page only.
 *
 * All PTEs of a huge page change together: they are cleared, flushed from every CPU, and filled in
 * again (change_begin, change_back). An access meanwhile faults and waits for the mutex. Whoever
 * clears a page's PTEs for good ends its use after the flush.
 */
#include "mm/section/huge_cow.h"

#include "kernel/base/bitops.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/thread.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/gh.h"
#include "mm/pt/pt.h"

/* ---- the PTEs of huge pages ---- */

static pte_t bits_of(unsigned prot, bool cow)
{
    return pt_user_bits(prot, !cow) | PTE_SW_WIRED | PTE_SW_SHARED | (cow ? PTE_SW_COW : 0);
}

static void fill(pte_t *p, vaddr_t va, pfn_t frame, pte_t bits)
{
    /* The contents come before the PTEs: CPUs of other threads walk the tables without a lock. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    gh_fill(p, HUGE_PAGES, va >> PAGE_SHIFT, frame, bits);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* before a CPU loads the address space */
}

/* Drop all translations, as those of a few huge pages are too many to name. */
static void flush(struct aspace *as, enum tb_reason reason)
{
    struct tb_gather g;

    if (as->gather)
        return; /* a dying space: no CPU has its root loaded */
    tb_gather_begin(&g, &as->pt.loaded, reason);
    g.nvas = TB_GATHER_VAS + 1;
    tb_gather_flush(&g);
}

/* Map the huge page `frame` at va, where no PTE is. 0 or -ENOMEM. Mutex exclusive. */
static int enter(struct aspace *as, vaddr_t va, pfn_t frame, pte_t bits)
{
    pte_t *p = pt_create(&as->pt, va, 3);

    if (!p)
        return -ENOMEM;
    fill(p, va, frame, bits);
    pt_count(p, HUGE_PAGES);
    pt_mark_range(p, HUGE_PAGES);
    return 0;
}

/* The first PTE of the first huge page in [*va, end) that is mapped, with its address; NULL: there
   is none. Mutex held. */
static pte_t *next_mapped(struct aspace *as, vaddr_t *va, vaddr_t end)
{
    while ((*va = pt_skip_holes(&as->pt, *va, end)) < end) {
        pte_t *p = pt_lookup(&as->pt, *va, 3);

        if (pte_maps_page(*va, pt_load(p)))
            return p;
        *va += HUGE_BYTES;
    }
    return NULL;
}

/* A few huge pages whose PTEs are being changed. */
#define CHANGE_MOST 16u
struct change {
    unsigned n;
    vaddr_t at[CHANGE_MOST];
    pte_t first[CHANGE_MOST]; /* the first PTE of each, as it was */
};

/* Clear the PTEs of the next few pages in [*va, end), and flush them. False: there are none. The
   tables' counts stay as they were. Mutex exclusive. */
static bool change_begin(struct aspace *as, struct change *c, vaddr_t *va, vaddr_t end,
                         enum tb_reason reason)
{
    pte_t *p;

    for (c->n = 0; c->n < CHANGE_MOST && (p = next_mapped(as, va, end)) != NULL; c->n++) {
        c->at[c->n] = *va;
        c->first[c->n] = *p;
        memset(p, 0, HUGE_PAGES * sizeof(pte_t));
        *va += HUGE_BYTES;
    }
    if (c->n)
        flush(as, reason);
    return c->n != 0;
}

/* Fill the PTEs of page k of c in again. */
static void change_back(struct aspace *as, const struct change *c, unsigned k, pte_t bits)
{
    fill(pt_lookup(&as->pt, c->at[k], 3), c->at[k], pte_pfn(c->first[k]), bits);
}

/* Unmap what is mapped in [va, end) and end its uses. Mutex exclusive. */
static void leave(struct aspace *as, vaddr_t va, vaddr_t end)
{
    struct tb_gather own, *g = as->gather ? as->gather : &own;
    vaddr_t at = va;
    struct change c;

    while (change_begin(as, &c, &at, end, TB_UNMAP))
        for (unsigned k = 0; k < c.n; k++) {
            pfn_t frame = pte_pfn(c.first[k]);

            pt_count(pt_lookup(&as->pt, c.at[k], 3), -(int)HUGE_PAGES);
            huge_pool_give(&frame, 1);
        }
    if (g == &own)
        tb_gather_begin(g, &as->pt.loaded, TB_UNMAP);
    pt_prune(&as->pt, va, end, g);
    if (g == &own)
        tb_gather_flush(g);
}

/* ---- faults ---- */

static const struct map_ops anon_huge_ops, file_huge_ops;

bool huge_is_private(const struct map_entry *e)
{
    return e->ops == &anon_huge_ops || e->ops == &file_huge_ops;
}

pte_t huge_private_pte(const struct map_entry *e, vaddr_t va, pte_t first)
{
    return pte_make(pfn_add(pte_pfn(first), va % HUGE_BYTES / PAGE_SIZE),
                    bits_of(e->prot, (first & PTE_SW_COW) != 0));
}

/* Make `frame` a copy of the huge page `from`, or zero (PFN_NONE). 0, or -EINTR: the caller is to
   end. */
static int furnish(pfn_t frame, pfn_t from)
{
    for (unsigned k = 0; k < HUGE_PAGES; k++) {
        if (thread_killed())
            return -EINTR;
        if (from.n)
            page_copy(pfn_add(frame, k), pfn_add(from, k));
        else
            page_zero_if_needed(pfn_add(frame, k));
    }
    return 0;
}

/* Put `frame`, furnished here, where the PTEs of the page at va are empty or to be copied. */
static int put(struct aspace *as, const struct map_entry *e, vaddr_t va, pfn_t frame)
{
    vaddr_t at = va, end = va + HUGE_BYTES;
    struct change c;
    pfn_t old;
    pte_t *p = next_mapped(as, &at, end);
    int err = furnish(frame, p ? pte_pfn(*p) : PFN_NONE);

    if (err)
        return err;
    if (!p)
        return enter(as, va, frame, bits_of(e->prot, false));
    at = va;
    (void)change_begin(as, &c, &at, end, TB_COW);
    old = pte_pfn(c.first[0]);
    fill(p, va, frame, bits_of(e->prot, false));
    huge_pool_give(&old, 1);
    return 0;
}

/* Resolve an access to va, for which `frame` was taken, or PFN_NONE; PUT says that it was used.
   DONE: the access succeeds now, or finds a reason to fail; NEEDS: it needs a frame; or -ENOMEM,
   -EINTR. Mutex exclusive. */
enum { DONE, NEEDS, PUT };
static int resolve(struct aspace *as, vaddr_t va, bool write, pfn_t frame)
{
    const struct map_entry *e = aspace_lookup_locked(as, va);
    vaddr_t at = va & ~(HUGE_BYTES - 1), end = at + HUGE_BYTES;
    struct change c;
    pte_t *p;
    int err;

    if (!e || !huge_is_private(e) || e->prot == 0 || (write && !(e->prot & MAP_W)))
        return DONE; /* the mapping has changed meanwhile */
    p = next_mapped(as, &at, end);
    if (p && !(write && (*p & PTE_SW_COW)))
        return DONE;
    at = end - HUGE_BYTES;
    if (p && huge_pool_uses(pte_pfn(*p)) == 1) {
        (void)change_begin(as, &c, &at, end, TB_COW);
        change_back(as, &c, 0, bits_of(e->prot, false));
        return DONE;
    }
    if (!frame.n)
        return NEEDS;
    err = put(as, e, at, frame);
    return err ? err : PUT;
}

/*
 * One fault of each account at a time: of two that need a page for the same access, or of the two
 * that share one last copy, the second finds that it needs none. Otherwise it could find the pool
 * empty, and its access would fail, because of a page that the first was about to make superfluous.
 * A fault copies 4 MiB, and any number of a user's threads may be waiting for their turns: users
 * share no mutex.
 */
static struct mutex fault_mutex[ACCOUNTS_MAX];

void huge_private_boot(void)
{
    for (unsigned k = 0; k < ACCOUNTS_MAX; k++)
        mutex_init(&fault_mutex[k], "huge page fault", MUTEX_HUGE_FAULT);
}

/* Give the access to va what it needs. 0, -ENOMEM (no page tables), -EINTR; -ENXIO: no huge page.
   No mutex of as is held. */
static int make_own(struct aspace *as, vaddr_t va, bool write)
{
    pfn_t frame = PFN_NONE;
    int r;

    for (;;) {
        r = mutex_lock_killable(&as->lock);
        if (!r) {
            r = resolve(as, va, write, frame);
            mutex_unlock(&as->lock);
        }
        if (r != NEEDS)
            break;
        if (huge_pool_take(account_self(), 1, &frame) != 0)
            return -ENXIO; /* SIGBUS: nobody is killed for the sake of the pool */
    }
    if (frame.n && r != PUT)
        huge_pool_give(&frame, 1);
    return MIN(r, 0);
}

static int op_fault(struct aspace *as, struct map_entry *e, vaddr_t va, enum fault_access access)
{
    struct mutex *turn = &fault_mutex[account_self() - accounts];
    bool write = access == FAULT_WRITE;
    const pte_t *p = pt_lookup(&as->pt, va, 3);
    pte_t pte = p ? pt_load(p) : 0;
    int err;

    if (access == FAULT_EXEC && !(e->prot & MAP_X))
        return -EACCES;
    if (pte_maps_page(va, pte) && !(write && (pte & PTE_SW_COW)))
        return 0; /* another thread has resolved it */
    mutex_unlock_shared(&as->lock);
    err = mutex_lock_killable(turn);
    if (!err) {
        err = make_own(as, va, write);
        mutex_unlock(turn);
    }
    mutex_lock_shared(&as->lock);
    return err ? err : -EAGAIN;
}

/* ---- the other operations ---- */

static int op_unmap(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    (void)e;
    leave(as, start, end);
    return 0;
}

static int op_split_prepare(struct map_entry *e, struct map_entry *second, vaddr_t va)
{
    (void)e;
    (void)second;
    return va % HUGE_BYTES ? -EINVAL : 0;
}

static vaddr_t op_protect(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end,
                          unsigned prot)
{
    vaddr_t va = start;
    struct change c;

    (void)e;
    while (change_begin(as, &c, &va, end, TB_PROTECT))
        for (unsigned k = 0; k < c.n; k++)
            change_back(as, &c, k, bits_of(prot, (c.first[k] & PTE_SW_COW) != 0));
    return end;
}

/* Share the pages of c with dst, whose tables are there. */
static void share(struct aspace *src, const struct map_entry *e, struct aspace *dst,
                  const struct change *c)
{
    for (unsigned k = 0; k < c->n; k++) {
        pfn_t frame = pte_pfn(c->first[k]);

        huge_pool_use(frame);
        change_back(src, c, k, bits_of(e->prot, true));
        (void)enter(dst, c->at[k], frame, bits_of(e->prot, true));
    }
}

static int op_fork(struct aspace *src, struct map_entry *e, struct aspace *dst,
                   struct map_entry *child)
{
    vaddr_t va = e->start, at;
    struct change c;

    (void)child;
    for (at = va; next_mapped(src, &at, e->end) != NULL; at += HUGE_BYTES) {
        if (!pt_create(&dst->pt, at, 3))
            return -ENOMEM;
        if (thread_killed())
            return -EINTR;
    }
    while (change_begin(src, &c, &va, e->end, TB_FORK))
        share(src, e, dst, &c);
    return 0;
}

/* An anonymous page is zero at the next access. */
static int op_discard(struct aspace *as, struct map_entry *e, vaddr_t start, vaddr_t end)
{
    if (start % HUGE_BYTES)
        return -EINVAL;
    leave(as, start, MIN(align_up(end, HUGE_BYTES), e->end));
    return 0;
}

static uint64_t op_sharers(const struct map_entry *e, pte_t pte)
{
    (void)e;
    return huge_pool_uses(huge_first(pte_pfn(pte)));
}

static const struct map_ops anon_huge_ops = {
    .name = "private huge pages",
    .fault = op_fault,
    .unmap = op_unmap,
    .fork = op_fork,
    .protect = op_protect,
    .split_prepare = op_split_prepare,
    .discard = op_discard,
    .sharers = op_sharers,
};

/* Which page of the file a page is a copy of is not recorded: nothing can be discarded. */
static const struct map_ops file_huge_ops = {
    .name = "private file of huge pages",
    .fault = op_fault,
    .unmap = op_unmap,
    .fork = op_fork,
    .protect = op_protect,
    .split_prepare = op_split_prepare,
    .sharers = op_sharers,
};

/* ---- new mappings ---- */

/* What is to be mapped: n pages, a use of each of which is the mapping's or, on an error, ended. */
struct plan {
    const pfn_t *frames;
    uint64_t n;
    bool cow;
    unsigned prot, flags;
};

/* Map them at va. *done of them are mapped. 0, -ENOMEM, -EINTR. Mutex exclusive. */
static int enter_all(struct aspace *as, vaddr_t va, const struct plan *p, uint64_t *done)
{
    int err = 0;

    for (; !err && *done < p->n; *done += !err)
        err = thread_killed()
                  ? -EINTR
                  : enter(as, va + *done * HUGE_BYTES, p->frames[*done], bits_of(p->prot, p->cow));
    return err;
}

static int map_locked(struct aspace *as, struct map_entry *e, vaddr_t *va, const struct plan *p,
                      uint64_t *done)
{
    uint64_t len = p->n * HUGE_BYTES;
    int err = section_huge_place_locked(as, va, len, 0, p->prot, p->flags);

    if (err)
        return err;
    err = enter_all(as, *va, p, done);
    if (err) {
        leave(as, *va, *va + len); /* the tables that were created for more, too */
        return err;
    }
    e->start = *va;
    e->end = *va + len;
    e->prot = (uint8_t)p->prot;
    e->max_prot = MAP_R | MAP_W | MAP_X;
    e->flags = MAPF_HUGE;
    e->ops = p->cow ? &file_huge_ops : &anon_huge_ops;
    aspace_insert_locked(as, e);
    return 0;
}

static int map(struct aspace *as, vaddr_t *va, const struct plan *p)
{
    struct map_entry *e = map_entry_alloc();
    uint64_t done = 0;
    int err = -ENOMEM;

    if (e) {
        mutex_lock(&as->lock);
        err = map_locked(as, e, va, p, &done);
        mutex_unlock(&as->lock);
    }
    if (err) {
        huge_pool_give(p->frames + done, p->n - done);
        if (e)
            map_entry_free(e);
    }
    return err;
}

static int map_zeroes(struct aspace *as, vaddr_t *va, const struct plan *p, pfn_t *frames)
{
    int err = huge_pool_take(account_self(), p->n, frames);

    if (err)
        return err;
    for (uint64_t k = 0; !err && k < p->n; k++)
        err = furnish(frames[k], PFN_NONE);
    if (!err)
        return map(as, va, p);
    huge_pool_give(frames, p->n);
    return err;
}

int huge_private_map(struct aspace *as, vaddr_t *va, uint64_t len, unsigned prot, unsigned flags)
{
    uint64_t n = len / HUGE_BYTES;
    struct huge_pool_stats pool;
    pfn_t *frames;
    int err;

    huge_pool_stats(&pool);
    if (!section_huge_fixed_ok(*va, flags))
        return -EINVAL;
    if (n > pool.total)
        return -ENOMEM;
    section_settle(); /* what deleted sections had may not be back yet */
    frames = npp_alloc(n * sizeof(*frames));
    if (!frames)
        return -ENOMEM;
    err = map_zeroes(as, va, &(struct plan){frames, n, false, prot, flags}, frames);
    npp_free(frames, n * sizeof(*frames));
    return err;
}

int huge_private_map_section(struct aspace *as, struct section *s, vaddr_t *va, uint64_t len,
                             uint64_t offset, unsigned prot, unsigned flags)
{
    const struct plan p = {s->blocks + offset / HUGE_BYTES, len / HUGE_BYTES, true, prot, flags};

    if (!section_huge_fixed_ok(*va, flags))
        return -EINVAL;
    for (uint64_t k = 0; k < p.n; k++)
        huge_pool_use(p.frames[k]);
    return map(as, va, &p);
}
