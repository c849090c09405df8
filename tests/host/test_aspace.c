// SOURCES: kernel/quota/account.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c
// SOURCES: mm/pt/pt_system.c
// SOURCES: mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_protect.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/space/aspace_tree.c mm/space/aspace_remap.c mm/space/aspace_lock.c
// SOURCES: mm/space/fault.c
// SOURCES: mm/space/fork.c
// SOURCES: mm/space/anon.c
// SOURCES: mm/object/object.c mm/object/object_paging.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/object_index.c
// SOURCES: mm/object/pager.c
// SOURCES: mm/object/rmap.c
// SOURCES: mm/space/object_fault.c
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c kernel/base/string_extra.c
/*
 * Address spaces compared with a plain model: random maps, unmaps, protections, writes, forks and
 * ends of up to NPROCS processes on four CPUs with translation buffers. The model has the expected
 * contents of each page of each process; a shared page is a cell to which several pages point.
 * After that, the same with every allocation failing in turn.
 */
#include "tests/host/vm.h"

uint64_t fluid_count(void) { return VM_PAGES; }
uint64_t fluid_minimum(void) { return 0; }

#define K_ENOMEM 12
#define K_EACCES 13
#define K_EFAULT 14

/* ---- the model ---- */

struct cell {
    uint64_t value;
    unsigned refs;
};

struct mpage {
    bool mapped, shared;
    unsigned prot;
    struct cell *cell; /* shared, or a private mapping of a file page not yet written */
    uint64_t value;    /* without cell */
    unsigned file;     /* private mapping of file page file - 1, or 0 */
};

#define NPROCS 6
static struct proc {
    struct aspace *as;
    struct mpage page[NPAGES];
} procs[NPROCS];

static void cell_drop(struct cell *c)
{
    if (c && --c->refs == 0)
        free(c);
}

static void mpage_set(struct mpage *m, struct mpage to)
{
    struct cell *old = m->cell;

    if (to.cell)
        to.cell->refs++;
    *m = to;
    cell_drop(old);
}

static uint64_t mpage_value(const struct mpage *m) { return m->cell ? m->cell->value : m->value; }

/* ---- a file: its pager answers at once ---- */

#define FILE_PAGES 64u
static struct mm_object *file;
static struct cell *file_cells[FILE_PAGES];
static int file_ended;

static uint64_t file_state; /* of mm_offer: never changes */

static void file_fill(uint64_t offset, pfn_t pfn)
{
    memset(kseg_page(pfn), 0, PAGE_SIZE);
    *(uint64_t *)kseg_page(pfn) = 0xF000 + offset;
}

/* The page, with its block. */
static pfn_t file_block(struct mm_object *o, uint64_t offset)
{
    uint64_t begin = offset & ~(uint64_t)(GH_SMALL - 1);
    pfn_t first;

    vm_page_stretch(GH_SMALL, GH_SMALL, &first);
    for (uint64_t k = 0; k < GH_SMALL; k++) {
        file_fill(begin + k, pfn_of(first.n + k));
        if (begin + k != offset &&
            !mm_offer(o, begin + k, pfn_of(first.n + k), &file_state, file_state))
            page_free(pfn_of(first.n + k));
    }
    return pfn_of(first.n + offset - begin);
}

static int file_get(struct mm_object *o, uint64_t offset, uint64_t count, unsigned access)
{
    (void)access;
    for (uint64_t i = offset; i < offset + count; i++) {
        pfn_t pfn;

        if (rnd(2)) {
            mm_supply(o, i, file_block(o, i), MAP_R | MAP_W);
            continue;
        }
        if (page_alloc(PA_ZERO, PAGE_T_OBJECT, RAD_ANY, &pfn)) {
            mm_deny(o, i, 1, -K_ENOMEM);
            continue;
        }
        *(uint64_t *)kseg_page(pfn) = 0xF000 + i;
        mm_supply(o, i, pfn, MAP_R | MAP_W);
    }
    return 0;
}

static void file_end(struct mm_object *o)
{
    (void)o;
    file_ended++;
}

static const struct pager_ops file_ops = {.name = "test file", .get = file_get, .end = file_end};

static void file_make(void)
{
    file = object_create(FILE_PAGES, &file_ops, NULL);
    for (unsigned i = 0; i < FILE_PAGES; i++) {
        file_cells[i] = malloc(sizeof(struct cell));
        *file_cells[i] = (struct cell){0xF000 + i, 1};
    }
}

static void file_drop(void)
{
    object_unref(file);
    for (unsigned i = 0; i < FILE_PAGES; i++)
        cell_drop(file_cells[i]);
}

/* ---- operations; false: out of memory, and nothing may have changed ---- */

static unsigned random_prot(void)
{
    static const unsigned prots[] = {MAP_R | MAP_W, MAP_R | MAP_W, MAP_R | MAP_W, MAP_R, 0,
                                     MAP_R | MAP_X};

    return prots[rnd(sizeof(prots) / sizeof(prots[0]))];
}

static void random_range(unsigned *first, unsigned *n)
{
    unsigned w = (unsigned)rnd(3) * WINDOW;
    unsigned a = (unsigned)rnd(WINDOW), most = 1 + (unsigned)rnd(WINDOW);

    *first = w + a;
    *n = 1 + (unsigned)rnd(MIN(WINDOW - a, most));
}

static void op_map(struct proc *p)
{
    unsigned first, n, prot = random_prot(), kind = (unsigned)rnd(5);
    vaddr_t va;
    uint64_t len, off = 0;
    unsigned flags = MAPF_FIXED;
    /* Not of a private file: it would copy pages that the model copies at the first write. */
    bool populate = rnd(4) == 0 && kind != 2;
    int err;

    random_range(&first, &n);
    va = va_of(first);
    len = (uint64_t)n * PAGE_SIZE;
    if (kind == 1 || kind == 3)
        flags |= MAPF_SHARED;
    if (kind >= 2 && kind <= 3) {
        off = rnd(FILE_PAGES - n + 1);
        if (rnd(2)) /* where blocks may be */
            off = off / GH_SMALL * GH_SMALL + first % GH_SMALL;
        off = MIN(off, FILE_PAGES - n);
        err = aspace_map_object(p->as, &va, len, prot, flags, file, off * PAGE_SIZE);
    } else {
        err = aspace_map_anon(p->as, &va, len, prot, flags);
    }
    if (err) {
        if (err != -K_ENOMEM || !vm_failed)
            vm_die("mmap fails with %d", err);
        return; /* a failed munmap may have split entries, but has changed no contents */
    }
    if (va != va_of(first))
        vm_die("a fixed mapping is at another address");
    if (populate)
        (void)aspace_populate(p->as, va, len, (prot & MAP_W) != 0);
    for (unsigned i = 0; i < n; i++) {
        struct mpage to = {.mapped = true, .prot = prot, .shared = (flags & MAPF_SHARED) != 0};

        if (kind >= 2 && kind <= 3) {
            to.cell = file_cells[off + i];
            to.file = (unsigned)(off + i + 1);
            mpage_set(&p->page[first + i], to);
        } else if (to.shared) {
            to.cell = calloc(1, sizeof(struct cell));
            mpage_set(&p->page[first + i], to);
        } else {
            mpage_set(&p->page[first + i], to);
        }
    }
}

static void op_unmap(struct proc *p)
{
    unsigned first, n;
    int err;

    random_range(&first, &n);
    err = aspace_unmap(p->as, va_of(first), (uint64_t)n * PAGE_SIZE);
    if (err) {
        if (err != -K_ENOMEM || !vm_failed)
            vm_die("munmap fails with %d", err);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        mpage_set(&p->page[first + i], (struct mpage){.mapped = false});
}

static void op_protect(struct proc *p)
{
    unsigned first, n, prot = random_prot();
    bool whole = true;
    int err;

    random_range(&first, &n);
    for (unsigned i = 0; i < n; i++)
        whole &= p->page[first + i].mapped;
    err = aspace_protect(p->as, va_of(first), (uint64_t)n * PAGE_SIZE, prot);
    if (!whole) {
        if (err != -K_ENOMEM)
            vm_die("mprotect over a hole gives %d", err);
        return;
    }
    if (err) {
        if (err != -K_ENOMEM || !vm_failed)
            vm_die("mprotect of %u pages from %u fails with %d", n, first, err);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        p->page[first + i].prot = prot;
}

static void op_forget(struct proc *p)
{
    unsigned first, n;
    bool whole = true;
    int err;

    random_range(&first, &n);
    for (unsigned i = 0; i < n; i++)
        whole &= p->page[first + i].mapped;
    err = aspace_forget(p->as, va_of(first), (uint64_t)n * PAGE_SIZE, false);
    if (err != (whole ? 0 : -K_ENOMEM))
        vm_die("madvise of %u pages from %u gives %d", n, first, err);
    for (unsigned i = first; i < first + n; i++) {
        struct mpage to = p->page[i];

        if (!to.mapped || to.shared)
            continue;
        to.cell = to.file ? file_cells[to.file - 1] : NULL;
        to.value = 0;
        mpage_set(&p->page[i], to);
    }
}

/* The pager takes pages back, and has what it had at first. */
static void op_take(void)
{
    unsigned first = (unsigned)rnd(FILE_PAGES), n = 1 + (unsigned)rnd(FILE_PAGES - first);

    if (mm_downgrade(file, first, n, 0))
        vm_die("the pages of a file cannot be taken back");
    for (unsigned i = first; i < first + n; i++)
        file_cells[i]->value = 0xF000 + i;
}

/* Whenever the file's lock is free the PTEs of its blocks agree. */
static void check_hints(const struct spinlock *l)
{
    if (!file || l != file->lock || rnd(8))
        return;
    for (struct proc *p = procs; p < procs + NPROCS; p++)
        for (unsigned w = 0; p->as && w < NPAGES; w += 8) {
            const pte_t *pte = pt_lookup(&p->as->pt, va_of(w), 3);
            struct gh_count c = {.errors = 0};

            if (pte)
                gh_count(pte, 8, va_of(w) >> PAGE_SHIFT, &c);
            if (c.errors)
                vm_die("hints of page %u of process %ld are wrong, and the lock is free", w,
                       p - procs);
        }
}

static void expect(struct proc *p, unsigned i, enum fault_access a, int err)
{
    const struct mpage *m = &p->page[i];
    int want = 0;

    if (!m->mapped)
        want = -K_EFAULT;
    else if (a == FAULT_WRITE  ? !(m->prot & MAP_W)
             : a == FAULT_EXEC ? !(m->prot & MAP_X)
                               : m->prot == 0)
        want = -K_EACCES;
    if (err != want && !(err == -K_ENOMEM && vm_failed))
        vm_die("access %d to page %u of process %ld gives %d, not %d", a, i, p - procs, err, want);
}

static void op_write(struct proc *p)
{
    unsigned i = (unsigned)rnd(NPAGES);
    struct mpage *m = &p->page[i];
    uint64_t value = rnd(UINT64_MAX);
    int err = vm_access(p->as, va_of(i), FAULT_WRITE, &value);

    expect(p, i, FAULT_WRITE, err);
    if (err)
        return;
    if (m->shared) {
        m->cell->value = value;
    } else {
        struct mpage to = *m;

        to.cell = NULL;
        to.value = value;
        mpage_set(m, to);
    }
}

static void check_page(struct proc *p, unsigned i, enum fault_access a)
{
    uint64_t value = 0, second = 0;
    int err = vm_access(p->as, va_of(i), a, &value);

    expect(p, i, a, err);
    if (err)
        return;
    if (value != mpage_value(&p->page[i]))
        vm_die("page %u of process %ld holds 0x%lx, not 0x%lx", i, p - procs, (unsigned long)value,
               (unsigned long)mpage_value(&p->page[i]));
    if (vm_access(p->as, va_of(i) + 4096, FAULT_READ, &second) == 0 && second != 0)
        vm_die("page %u holds old data 0x%lx", i, (unsigned long)second);
}

static unsigned moves;

/* Unmap a window. */
static bool clear_window(struct proc *p, unsigned w)
{
    if (aspace_unmap(p->as, va_of(w), (uint64_t)WINDOW * PAGE_SIZE))
        return false;
    for (unsigned i = 0; i < WINDOW; i++)
        mpage_set(&p->page[w + i], (struct mpage){.mapped = false});
    return true;
}

/* Pages of a file that are only read, more of them than one hold of the lock is for, and where
   blocks may be; some are used, and then they move to another window or get another protection. */
static void op_text(struct proc *p)
{
    unsigned w = (unsigned)rnd(3) * WINDOW, to = (w + WINDOW) % NPAGES;
    unsigned n = 33 + (unsigned)rnd(WINDOW - 33), first = w + (unsigned)rnd(WINDOW - n + 1);
    unsigned prot = rnd(2) ? MAP_R : MAP_R | MAP_X;
    uint64_t off = first % GH_SMALL + rnd((FILE_PAGES - n - GH_SMALL) / GH_SMALL + 1) * GH_SMALL;
    vaddr_t va = va_of(first);

    if (!clear_window(p, w) || !clear_window(p, to) ||
        aspace_map_object(p->as, &va, (uint64_t)n * PAGE_SIZE, prot, MAPF_FIXED, file,
                          off * PAGE_SIZE))
        return;
    for (unsigned i = 0; i < n; i++)
        mpage_set(&p->page[first + i], (struct mpage){.mapped = true,
                                                      .prot = prot,
                                                      .cell = file_cells[off + i],
                                                      .file = (unsigned)(off + i + 1)});
    for (unsigned i = 0; i < 8; i++)
        check_page(p, first + (unsigned)rnd(n), FAULT_READ);
    if (rnd(2)) {
        unsigned part = (unsigned)rnd(3);

        if (aspace_protect(p->as, va_of(first + part), (uint64_t)(n - part) * PAGE_SIZE,
                           MAP_R | MAP_W))
            return;
        for (unsigned i = part; i < n; i++)
            p->page[first + i].prot = MAP_R | MAP_W;
    } else {
        unsigned at = to + (unsigned)rnd(WINDOW - n + 1);
        struct remap r = {.old = va,
                          .fixed = va_of(at),
                          .old_len = (uint64_t)n * PAGE_SIZE,
                          .new_len = (uint64_t)n * PAGE_SIZE,
                          .flags = REMAP_MAYMOVE | REMAP_FIXED};

        if (aspace_remap(p->as, &r, &va))
            return;
        for (unsigned i = 0; i < n; i++) {
            mpage_set(&p->page[at + i], p->page[first + i]);
            mpage_set(&p->page[first + i], (struct mpage){.mapped = false});
        }
    }
    moves++;
}

static struct proc *slot(bool used)
{
    unsigned start = (unsigned)rnd(NPROCS);

    for (unsigned i = 0; i < NPROCS; i++)
        if ((procs[(start + i) % NPROCS].as != NULL) == used)
            return &procs[(start + i) % NPROCS];
    return NULL;
}

static void op_fork(struct proc *p)
{
    struct proc *c = slot(false);
    vaddr_t soon[] = {va_of((unsigned)rnd(NPAGES)), va_of((unsigned)rnd(NPAGES)) + 4096};

    if (!c)
        return;
    c->as = aspace_fork_writing(p->as, soon, (unsigned)rnd(3));
    if (!c->as) {
        if (!vm_failed)
            vm_die("fork fails");
        return;
    }
    for (unsigned i = 0; i < NPAGES; i++)
        mpage_set(&c->page[i], p->page[i]);
}

static void proc_end(struct proc *p)
{
    vm_unload(p->as);
    aspace_unref(p->as);
    p->as = NULL;
    for (unsigned i = 0; i < NPAGES; i++)
        mpage_set(&p->page[i], (struct mpage){.mapped = false});
}

static void op_populate(struct proc *p)
{
    unsigned first, n;
    bool whole = true;
    int err;

    random_range(&first, &n);
    for (unsigned i = 0; i < n; i++)
        whole &= p->page[first + i].mapped;
    err = aspace_populate(p->as, va_of(first), (uint64_t)n * PAGE_SIZE, false);
    if (err != (whole ? 0 : -K_ENOMEM) && !vm_failed)
        vm_die("populate gives %d", err);
    /* A private page that may be written has been copied: writes to the file no longer show. */
    for (unsigned i = first; i < first + n && p->page[i].mapped; i++) {
        struct mpage to = p->page[i];

        if (to.shared || !to.cell || !(to.prot & MAP_W))
            continue;
        to.value = to.cell->value;
        to.cell = NULL;
        mpage_set(&p->page[i], to);
    }
}

/* One random operation. fail: the allocation in it that fails, or -1. True: one has failed. */
static bool step(int64_t fail)
{
    struct proc *p = slot(true);
    uint64_t what = rnd(100);

    vm_switch((unsigned)rnd(MAX_CPUS), p->as);
    vm_failed = false;
    /* The model cannot know how far a populate or madvise came that failed. */
    if (what < 90 || what >= 95)
        vm_fail_at = fail;
    if (what < 10)
        op_map(p);
    else if (what < 14)
        op_unmap(p);
    else if (what < 20)
        op_protect(p);
    else if (what < 60)
        op_write(p);
    else if (what < 90)
        check_page(p, (unsigned)rnd(NPAGES), rnd(8) ? FAULT_READ : FAULT_EXEC);
    else if (what < 93)
        op_populate(p);
    else if (what < 95)
        op_forget(p);
    else if (what < 96)
        op_text(p);
    else if (what < 97)
        op_fork(p);
    else if (what < 98)
        op_take();
    else if (slot(false) && p != slot(true))
        proc_end(p);
    vm_fail_at = -1;
    return vm_failed;
}

static void check_everything(void)
{
    for (struct proc *p = procs; p < procs + NPROCS; p++) {
        if (!p->as)
            continue;
        vm_switch((unsigned)rnd(MAX_CPUS), p->as);
        vm_check(p->as);
        for (unsigned i = 0; i < NPAGES; i++)
            check_page(p, i, FAULT_READ);
        vm_check(p->as);
    }
}

/* Random steps, from the first process to the end of the last. fail_below: in each step the n-th
   allocation fails, for a random n below this. */
static void run(unsigned steps, unsigned fail_below)
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;
    int ended = file_ended;

    file_make();
    procs[0].as = aspace_create(0);
    for (unsigned i = 0; i < steps; i++) {
        step(fail_below ? (int64_t)rnd(fail_below) : -1);
        if (i % 500 == 499)
            check_everything();
    }
    check_everything();
    for (struct proc *p = procs; p < procs + NPROCS; p++)
        if (p->as)
            proc_end(p);
    file_drop();
    if (file_ended != ended + 1)
        vm_die("the end operation of the file's pager was not called");
    if (vm_nfree != pages || vm_pool_bytes != pool)
        vm_die("%d pages and %ld bytes of pool are lost", (int)(pages - vm_nfree),
               (long)(vm_pool_bytes - pool));
}

/* Repeat an operation from the same state with its first, second, third ... allocation failing,
   until none fails. */
static void fail_each(const char *name, void (*operation)(struct proc *, int *err))
{
    uint32_t pages = vm_nfree;
    int64_t pool = vm_pool_bytes;
    unsigned failures = 0;

    for (int64_t n = 0;; n++) {
        struct proc *p = &procs[0];
        uint64_t value;
        vaddr_t va;
        int err = 0;

        file_make();
        p->as = aspace_create(0);
        vm_switch(0, p->as);
        va = va_of(0);
        aspace_map_anon(p->as, &va, 16 * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED);
        va = va_of(WINDOW + 16);
        aspace_map_object(p->as, &va, 16 * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED, file, 0);
        for (unsigned i = 0; i < 8; i++) {
            value = i + 1;
            vm_access(p->as, va_of(i), FAULT_WRITE, &value);
        }
        value = 77;
        vm_access(p->as, va_of(WINDOW + 16), FAULT_WRITE, &value);
        vm_failed = false;
        vm_fail_at = n;
        operation(p, &err);
        vm_fail_at = -1;
        if (vm_failed && err == 0 && procs[1].as == NULL)
            vm_die("%s: allocation %ld fails and the call returns no error", name, (long)n);
        if (!vm_failed && err)
            vm_die("%s gives %d", name, err);
        failures += vm_failed;
        vm_check(p->as);
        for (unsigned i = 0; i < 8; i++)
            if (vm_access(p->as, va_of(i), FAULT_READ, &value) == 0 && value != i + 1)
                vm_die("%s: page %u lost its contents at allocation %ld", name, i, (long)n);
        if (vm_access(p->as, va_of(WINDOW + 16), FAULT_READ, &value) || value != 77)
            vm_die("%s: the file's private page lost its contents", name);
        if (procs[1].as)
            proc_end(&procs[1]);
        proc_end(p);
        file_drop();
        if (vm_nfree != pages || vm_pool_bytes != pool)
            vm_die("%s: allocation %ld leaks %d pages, %ld bytes", name, (long)n,
                   (int)(pages - vm_nfree), (long)(vm_pool_bytes - pool));
        if (!vm_failed)
            break;
    }
    ok(failures > 0, "%s survives %u failing allocations", name, failures);
}

static void do_fork(struct proc *p, int *err)
{
    procs[1].as = aspace_fork(p->as);
    *err = procs[1].as ? 0 : -K_ENOMEM;
}

static void do_fork_and_write(struct proc *p, int *err)
{
    uint64_t value = 3;

    do_fork(p, err);
    if (*err)
        return;
    *err = vm_access(p->as, va_of(2), FAULT_WRITE,
                     &value); /* the same value: the check above still holds */
    if (!*err)
        *err = vm_access(p->as, va_of(20), FAULT_READ, &value) == -K_EFAULT ? 0 : -1;
    vm_switch(1, procs[1].as);
    for (unsigned i = 0; i < 8 && !*err; i++)
        *err = vm_access(procs[1].as, va_of(i), FAULT_WRITE, &value);
    vm_switch(0, p->as);
}

static void do_first_touch(struct proc *p, int *err)
{
    uint64_t value = 0;
    vaddr_t va = va_of(2 * WINDOW);

    *err = aspace_map_anon(p->as, &va, 4 * PAGE_SIZE, MAP_R | MAP_W, MAPF_FIXED);
    if (!*err)
        *err = vm_access(p->as, va, FAULT_WRITE, &value);
}

static void do_shared_touch(struct proc *p, int *err)
{
    uint64_t value = 0;
    vaddr_t va = 0;

    *err = aspace_map_anon(p->as, &va, 4 * PAGE_SIZE, MAP_R | MAP_W, MAPF_SHARED);
    if (!*err)
        *err = vm_access(p->as, va, FAULT_WRITE, &value);
}

static void do_file_touch(struct proc *p, int *err)
{
    uint64_t value = 0;
    vaddr_t va = 0;

    *err = aspace_map_object(p->as, &va, 4 * PAGE_SIZE, MAP_R | MAP_W, 0, file, 32 * PAGE_SIZE);
    if (!*err)
        *err = vm_access(p->as, va, FAULT_WRITE, &value);
}

static void do_populate(struct proc *p, int *err)
{
    *err = aspace_populate(p->as, va_of(0), 16 * PAGE_SIZE, true);
}

static void do_unmap_middle(struct proc *p, int *err)
{
    *err = aspace_unmap(p->as, va_of(10), 2 * PAGE_SIZE);
}

static void do_protect_middle(struct proc *p, int *err)
{
    *err = aspace_protect(p->as, va_of(WINDOW + 18), 2 * PAGE_SIZE, MAP_R);
}

static void do_map_over(struct proc *p, int *err)
{
    vaddr_t va = va_of(10);

    *err = aspace_map_anon(p->as, &va, 2 * PAGE_SIZE, MAP_R, MAPF_FIXED);
}

int main(void)
{
    vm_boot();
    host_unlocked = check_hints;
    for (unsigned i = 0; i < 40; i++)
        run(6000, 0);
    ok(1, "random operations leave exactly the contents of the model");
    for (unsigned i = 0; i < 40; i++)
        run(3000, 12);
    ok(1, "and also when allocations fail");
    host_unlocked = NULL;
    ok(moves > 1000, "%u times much text was moved or protected", moves);
    ok(vm_blocks > 100, "%lu translations were those of blocks", (unsigned long)vm_blocks);
    fail_each("fork", do_fork);
    fail_each("fork, then writes by both processes", do_fork_and_write);
    fail_each("a first touch", do_first_touch);
    fail_each("a first touch of shared memory", do_shared_touch);
    fail_each("a first write to a private mapping of a file", do_file_touch);
    fail_each("populate", do_populate);
    fail_each("munmap of a part", do_unmap_middle);
    fail_each("mprotect of a part", do_protect_middle);
    fail_each("a mapping over another", do_map_over);
    return tap_done();
}
