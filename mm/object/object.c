/*
 * Memory objects: creation, references, pages that are freed, truncation.
 *
 * An object is a set of pages with an index (mm/object/object_index.c): the contents of a file, of
 * a page-file section, or of shared anonymous memory. It may have a pager, which supplies the pages
 * that are not present. A page belongs to the object whose index holds it; mappings are not
 * counted. The PTEs that map a page are found from the object, through its map entries
 * (mm/object/rmap.c). So mapping and unmapping cost no atomic operation on the page, and a page
 * leaves its object only after its PTEs have been found, cleared and flushed, or when no entry can
 * reach it.
 *
 * Private memory has no object, or one whose pages it only reads: what it writes are pages of its
 * own, which belong to the PTEs that map them and count these (mm/space/anon.c; the README of this
 * folder says why). So an object is never copied, and a page is found by one look-up.
 *
 * Locks: an object's lock (RANK_OBJECT) is one of a fixed number, given to objects in turn. Objects
 * that happen to share a lock contend for it, which does no other harm, as none is held for longer
 * than a bounded time. It protects the object's fields and index, the tree of its map entries, and
 * the level-3 PTEs that map its pages. Pager operations are called without it.
 *
 * What takes time in proportion to pages or mappings is done in steps that hold the lock for a
 * bounded time each: the reverse walk, and the freeing of a range, a leaf of the index at a time.
 * Pages are first marked, so that between two steps nobody maps what is on its way out. Truncation
 * marks them all at once by the object's end:
 *
 *     truncation                             fault behind the new end
 *     lowers npages
 *                                            finds the page behind npages: fails
 *     clears PTEs, step by step
 *     frees pages, step by step
 *
 * An object that shrinks must not grow again before the truncation is over, or pages with old
 * contents would come back: its owner (kernel/fs/inode.c) changes the size under a mutex. Only the
 * truncation itself lets it grow again, to where it has come if its thread is to end: no page below
 * that has been freed, as pages are freed from the end on, leaf by leaf, and those whose PTEs were
 * cleared are mapped again by faults. Until then a fault finds the file truncated.
 *
 * Out of memory: when no index node can be allocated, the fault or call fails with -ENOMEM before
 * anything has changed. Walks and truncation allocate nothing.
 *
 * When a process ends, its entries are detached. An object whose last reference goes while a pager
 * still owes answers stays, marked dead and unreachable, until the last answer.
 */
#include "arch/alpha/hw/pte.h"
#include "kernel/base/bitops.h"
#include "kernel/base/panic.h"
#include "kernel/sched/thread.h"
#include "mm/object/object_private.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_census.h"

#define RELEASE_STEP 24u  /* pages removed under one hold of the lock, some 60 instructions each */
#define FREE_BATCH   112u /* pages freed at once */
#define END_NODES    64u  /* nodes of the index freed at once when the object ends */

static struct spinlock locks[OBJECT_LOCKS] = {
    [0 ... OBJECT_LOCKS - 1] = SPINLOCK_INIT("object", RANK_OBJECT, IPL_ASTDEL)};
/* Objects whose pages may go to page files, by their lock, which protects the list. {0}: none yet.
 */
static struct list pageable[OBJECT_LOCKS];
static uint32_t created; /* objects so far, which get the locks in turn; atomic */

struct spinlock *object_list(unsigned k, struct list **list)
{
    *list = &pageable[k];
    return &locks[k];
}

/* Nothing reads the list of a lock before the pager does, so its head is made with its first
 * object. */
static void enlist(struct mm_object *o)
{
    struct list *l = &pageable[o->lock - locks];
    ipl_t ipl = spin_lock(o->lock);

    if (!l->next)
        list_init(l);
    list_add_tail(l, &o->link);
    spin_unlock(o->lock, ipl);
}

struct mm_object *object_create(uint64_t npages, const struct pager_ops *ops, void *pager_data)
{
    struct mm_object *o = npp_alloc(sizeof(*o));
    uint32_t number = __atomic_fetch_add(&created, 1, __ATOMIC_RELAXED);

    KASSERT(npages <= OBJECT_MAX_PAGES, "a page's number in its object fits its entry");
    if (!o)
        return NULL;
    *o = (struct mm_object){
        .lock = &locks[number % OBJECT_LOCKS],
        .number = number,
        .refs = 1,
        .npages = npages,
        .ops = ops,
        .pager_data = pager_data,
        .next_age = 1,
    };
    list_init(&o->link);
    if (!ops || ops->in_memory)
        enlist(o);
    return o;
}

void *object_pager_data(struct mm_object *o) { return o->pager_data; }
const struct pager_ops *object_pager(const struct mm_object *o) { return o->ops; }

void object_measure(struct mm_object *o, uint64_t *resident, uint64_t *pool_bytes)
{
    ipl_t ipl = spin_lock(o->lock);

    *resident = o->resident;
    *pool_bytes = sizeof(*o) + o->nodes * sizeof(struct index_node);
    spin_unlock(o->lock, ipl);
}

void object_census(struct census *c, const struct mm_object *o)
{
    census_explain(c, CENSUS_NONPAGED, sizeof(*o), 1);
    census_explain(c, CENSUS_NONPAGED, sizeof(struct index_node), o->nodes);
}

void object_ref(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    KASSERT(o->refs != 0, "a reference is made from another one");
    o->refs++;
    spin_unlock(o->lock, ipl);
}

void object_hold(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    KASSERT(o->refs != 0, "a reference is made from another one");
    o->refs++;
    o->held++;
    spin_unlock(o->lock, ipl);
}

/* ---- pages ---- */

pfn_t object_release_page_locked(struct mm_object *o, slot_t *s)
{
    pfn_t pfn = slot_pfn(*s);

    if (*s & (SLOT_PUT | SLOT_WALKS)) {
        *s = (*s & ~SLOT_W) | SLOT_TAKE;
        return PFN_NONE;
    }
    page_of(pfn)->state = PAGE_ACTIVE;
    o->resident--;
    /* An outstanding upgrade becomes a get: its answer supplies a page, or makes the waiting
       threads ask again. */
    *s = *s & SLOT_UPGRADE ? SLOT_GET : 0;
    return pfn;
}

/* The slots of a leaf for pages of [from, to), as bits. */
static uint64_t slots_between(uint64_t base, uint64_t from, uint64_t to)
{
    uint64_t slots = ~UINT64_C(0);

    if (from > base)
        slots = from - base < INDEX_SLOTS ? slots << (from - base) : 0;
    if (to - base < INDEX_SLOTS)
        slots &= (UINT64_C(1) << (to - base)) - 1;
    return slots;
}

/* Remove the pages of a leaf's slots in [from, to), at most RELEASE_STEP, and store those that were
   in memory in out. `to` is above base. Lock held. Returns their number. *all: that was all of the
   leaf. */
static unsigned release_leaf(struct mm_object *o, struct index_node *leaf, uint64_t base,
                             uint64_t from, uint64_t to, pfn_t *out, bool *all)
{
    uint64_t used = leaf->used & slots_between(base, from, to), emptied = 0;
    unsigned n = 0, plain = 0, filed = 0;

    for (; used && n + filed < RELEASE_STEP; used &= used - 1) {
        slot_t *s = &leaf->slot[bit_lowest(used)];

        if ((*s & (SLOT_PRESENT | SLOT_BUSY)) == SLOT_PRESENT) { /* nearly always */
            out[n] = slot_pfn(*s);
            page_of(out[n++])->state = PAGE_ACTIVE;
            plain++;
            *s = 0;
        } else if (*s & SLOT_PRESENT) {
            out[n] = object_release_page_locked(o, s);
            n += out[n].n != 0;
        } else if (unlikely(*s & SLOT_FILED)) {
            filed += object_forget_filed_locked(o, s);
        } else if (!(*s & SLOT_BUSY)) {
            *s = 0; /* an error that nobody waits for any more */
        }
        if (*s == 0)
            emptied |= used & -used;
    }
    leaf->used &= ~emptied;
    o->resident -= plain;
    *all = n + filed < RELEASE_STEP;
    return n;
}

uint64_t object_free_range(struct mm_object *o, uint64_t from, uint64_t to, bool killable)
{
    pfn_t pages[FREE_BATCH];
    uint64_t base, below = to;
    struct index_node *leaf;
    unsigned held = 0;

    do {
        struct index_nodes removed = {0};
        ipl_t ipl = spin_lock(o->lock);

        leaf = index_last_leaf(o, from, below, &base);
        if (leaf) {
            bool all;
            unsigned n = release_leaf(o, leaf, base, from, to, pages + held, &all);

            if (all)
                below = base; /* what is left in the leaf is kept by its put or walk */
            if (leaf->used == 0)
                index_trim(o, base, &removed);
            held += n;
        }
        spin_unlock(o->lock, ipl);
        index_nodes_drop(&removed);
        if (!leaf || held > FREE_BATCH - RELEASE_STEP) {
            page_free_bulk(pages, held);
            held = 0;
        }
        /* Within a leaf the first pages go first: to stop there would leave a hole. */
    } while (leaf && !(killable && below == base && thread_killed()));
    page_free_bulk(pages, held);
    return leaf ? MAX(from, below) : from;
}

/* Set the length. Lock not held. Returns the old one. */
static uint64_t set_length(struct mm_object *o, uint64_t npages)
{
    ipl_t ipl = spin_lock(o->lock);
    uint64_t was = o->npages;

    KASSERT(npages <= OBJECT_MAX_PAGES, "a page's number in its object fits its entry");
    o->npages = npages;
    spin_unlock(o->lock, ipl);
    return was;
}

/* The offset of the first leaf of the index that has slots from `from` on. Lock not held. */
static bool find_leaf(struct mm_object *o, uint64_t from, uint64_t *base)
{
    ipl_t ipl = spin_lock(o->lock);
    bool found = index_next_leaf(o, from, OBJECT_MAX_PAGES, base) != NULL;

    spin_unlock(o->lock, ipl);
    return found;
}

/* Unmap what is behind the end. Only a page in the index is mapped, so mappings are walked only
 * where there are leaves: a write that is killed takes back its growth without a walk, if nobody
 * has used what it had not reached. Leaves with fewer empty tables between them than a walk
 * costs are walked together. False: stopped. */
static bool unmap_from(struct mm_object *o, uint64_t from, bool killable)
{
    uint64_t base, to;

    for (; find_leaf(o, from, &base); from = to) {
        uint64_t first = MAX(from, base);

        to = base + INDEX_SLOTS;
        while (find_leaf(o, to, &base) && base - to < 8 * PTES_PER_PAGE) {
            if (killable && thread_killed())
                return false;
            to = base + INDEX_SLOTS;
        }
        if (!rmap_unmap(o, first, to, killable) || (killable && thread_killed()))
            return false;
    }
    return true;
}

static uint64_t truncate(struct mm_object *o, uint64_t npages, bool killable)
{
    uint64_t was = set_length(o, npages), left = was;

    if (npages >= was)
        return npages;
    if (unmap_from(o, npages, killable))
        left = object_free_range(o, npages, OBJECT_MAX_PAGES, killable);
    if (unlikely(left > npages)) /* the pages below have kept their contents */
        set_length(o, MIN(left, was));
    return MIN(left, was);
}

void object_truncate(struct mm_object *o, uint64_t npages) { truncate(o, npages, false); }

uint64_t object_truncate_killable(struct mm_object *o, uint64_t npages)
{
    return truncate(o, npages, true);
}

uint32_t object_mappers(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);
    uint32_t n = o->nentries;

    spin_unlock(o->lock, ipl);
    return n;
}

struct page_search {
    slot_t any;     /* bits one of which the page has */
    uint64_t found; /* UINT64_MAX: none yet */
};

static bool look_at(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct page_search *search = arg;

    (void)o;
    if (!(*s & SLOT_PRESENT) || !(*s & search->any))
        return true;
    search->found = offset;
    return false;
}

/* A leaf of the index for each hold of the lock. */
uint64_t object_next_page(struct mm_object *o, uint64_t from, uint64_t end, bool written)
{
    struct page_search search = {written ? SLOT_W | SLOT_DIRTY : SLOT_PRESENT, UINT64_MAX};
    struct index_node *leaf;

    do {
        ipl_t ipl = spin_lock(o->lock);
        uint64_t base = 0, to = MIN(end, o->npages);

        leaf = o->resident ? index_next_leaf(o, from, to, &base) : NULL;
        if (leaf)
            index_for_each(o, MAX(from, base), MIN(base + INDEX_SLOTS, to), look_at, &search);
        spin_unlock(o->lock, ipl);
        from = base + INDEX_SLOTS;
    } while (leaf && search.found == UINT64_MAX && !thread_killed());
    return search.found;
}

struct eviction {
    pfn_t page[INDEX_SLOTS];
    unsigned n;
};

static bool evict_slot(struct mm_object *o, uint64_t offset, slot_t *s, void *arg)
{
    struct eviction *e = arg;

    (void)offset;
    if ((*s & (SLOT_PRESENT | SLOT_W | SLOT_DIRTY | SLOT_BUSY | SLOT_TAKE)) != SLOT_PRESENT ||
        __atomic_load_n(&page_of(slot_pfn(*s))->refcnt, __ATOMIC_ACQUIRE) != 1)
        return true;
    e->page[e->n] = slot_pfn(*s);
    page_of(e->page[e->n++])->state = PAGE_ACTIVE;
    o->resident--;
    *s = 0;
    return true;
}

/* A reference to a page of the object is taken with the lock held, and a mapping found there too:
   so a page with one reference, of an object without mappings, is not in use. */
uint64_t object_evict(struct mm_object *o, uint64_t *at, uint64_t most)
{
    uint64_t done = 0;

    do {
        struct index_nodes removed = {0};
        struct index_node *leaf = NULL;
        struct eviction e = {.n = 0};
        ipl_t ipl = spin_lock(o->lock);
        uint64_t base = 0;

        if (!o->entries.root && o->resident)
            leaf = index_next_leaf(o, *at, o->npages, &base);
        if (leaf)
            index_for_each(o, *at, base + INDEX_SLOTS, evict_slot, &e);
        *at = leaf && base + INDEX_SLOTS < o->npages ? base + INDEX_SLOTS : 0;
        if (e.n)
            index_trim(o, base, &removed);
        spin_unlock(o->lock, ipl);
        index_nodes_drop(&removed);
        page_free_bulk(e.page, e.n);
        done += e.n;
    } while (*at && done < most && !thread_killed());
    return done;
}

bool object_is_mapped(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);
    bool mapped = o->entries.root != NULL;

    spin_unlock(o->lock, ipl);
    return mapped;
}

/* ---- the end ---- */

/* What an object that ends gives back. */
struct ending {
    struct page_batch pages;
    struct index_node *nodes; /* linked by their first words */
    unsigned nnodes;
};

static void end_nodes(struct ending *d)
{
    npp_free_chain(d->nodes, sizeof(*d->nodes));
    d->nodes = NULL;
    d->nnodes = 0;
}

static inline void end_node(struct index_node *n, struct ending *d)
{
    n->used = (uint64_t)d->nodes;
    d->nodes = n;
    if (++d->nnodes == END_NODES)
        end_nodes(d);
}

/* Slots that are not present are empty, in a page file, or hold an error that nobody waits for. */
static inline void end_leaf(struct index_node *n, struct ending *d)
{
    for (uint64_t used = n->used; used; used &= used - 1) {
        slot_t s = n->slot[bit_lowest(used)];

        if (s & SLOT_PRESENT) {
            page_of(slot_pfn(s))->state = PAGE_ACTIVE;
            page_batch_add(&d->pages, slot_pfn(s));
        } else if (unlikely(s & SLOT_FILED)) {
            pagefile_drop(slot_filed(s));
        }
    }
    end_node(n, d);
}

/* Free a node of height h, with all that are below it. */
static void end_tree(struct index_node *n, unsigned h, struct ending *d)
{
    if (h == 0) {
        end_leaf(n, d);
        return;
    }
    for (uint64_t used = n->used; used; used &= used - 1) {
        struct index_node *below = (struct index_node *)n->slot[bit_lowest(used)];

        if (h == 1)
            end_leaf(below, d);
        else
            end_tree(below, h - 1, d);
    }
    end_node(n, d);
}

/* Nobody else can reach the object any more: no lock is held, and the index need not be kept. */
void object_free_memory(struct mm_object *o)
{
    struct ending d = {.nodes = NULL};

    page_batch_begin(&d.pages, PAGE_FREE);
    if (o->root)
        end_tree(o->root, o->height, &d);
    page_batch_flush(&d.pages);
    end_nodes(&d);
    if (o->ops && o->ops->end)
        o->ops->end(o);
    npp_free(o, sizeof(*o));
}

void object_unref_unlock(struct mm_object *o, ipl_t ipl)
{
    bool finish;

    KASSERT(o->refs != 0, "a reference that is dropped exists");
    o->refs--;
    o->dead = o->refs == 0;
    finish = o->dead && o->pending == 0; /* otherwise the last answer frees it */
    if (o->dead)
        list_remove(&o->link); /* also of one that is on no list */
    spin_unlock(o->lock, ipl);
    if (finish)
        object_free_memory(o);
}

void object_unref(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    object_unref_unlock(o, ipl);
}

void object_drop(struct mm_object *o)
{
    ipl_t ipl = spin_lock(o->lock);

    KASSERT(o->held != 0, "what is dropped was held");
    o->held--;
    object_unref_unlock(o, ipl);
}
