/* Descriptor tables: fdtable.h describes the sharing and the growth. Under a table's lock at most
 * 64 slots are copied, or STEPS words looked at, before it is released again. */
#include "kernel/proc/fdtable.h"

#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "kernel/io/lock.h"
#include "kernel/proc/rlimit.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool.h"

/* The state between hold and let_go: whether the lock was taken. */
struct hold {
    bool locked; /* kept, because other users may leave meanwhile and the count change */
    ipl_t ipl;
};

static __attribute__((noinline)) ipl_t lock_shared(struct file_table *t)
{
    ipl_t ipl = spin_lock(&t->lock);

    __atomic_store_n(&t->owner, thread_self(), __ATOMIC_RELAXED); /* if it is the only one now */
    /* With the acquire of on_cpu() (fd_remote.c): who sees no others sees this owner too. */
    __atomic_store_n(&t->others, t->others - t->gone, __ATOMIC_RELEASE);
    t->gone = 0;
    return ipl;
}

static inline struct hold hold(struct file_table *t)
{
    if (fdtable_shared(t))
        return (struct hold){true, lock_shared(t)};
    return (struct hold){false, 0};
}

static inline void let_go(struct file_table *t, struct hold h)
{
    if (unlikely(h.locked))
        spin_unlock(&t->lock, h.ipl);
}

/* ---- slots and their bits: t's lock is held, or it has one user ---- */

/* What those who are no users may look at in an interrupt of the only user (fd_remote.c) is atomic
 * for that. */
#define GET(x_)     __atomic_load_n(&(x_), __ATOMIC_RELAXED)
#define SET(x_, v_) __atomic_store_n(&(x_), (v_), __ATOMIC_RELAXED)

/* The chunk of fd, NULL: there is none, or the table is small. */
static inline __attribute__((always_inline)) struct fd_chunk *chunk_of(const struct file_table *t,
                                                                       uint64_t fd)
{
    const struct fd_directory *more;

    if (fd < FD_CHUNK)
        return GET(t->chunk0);
    more = GET(t->more);
    return more && fd < FD_MAX ? GET(more->chunk[fd / FD_CHUNK]) : NULL;
}

struct file *fd_get_far(const struct file_table *t, uint64_t fd)
{
    const struct fd_chunk *c = chunk_of(t, fd);

    return c ? c->file[fd % FD_CHUNK] : NULL;
}

/* The slot of fd, whose chunk is c; NULL: there is none. */
static inline struct file **slot_in(struct file_table *t, struct fd_chunk *c, uint64_t fd)
{
    if (likely(!c))
        return fd < FD_FIRST && !t->chunk0 ? &t->first[fd] : NULL;
    return &c->file[fd % FD_CHUNK];
}

static inline uint64_t *used_word(struct file_table *t, unsigned fd)
{
    struct fd_chunk *c = chunk_of(t, fd);

    return c ? &c->used[fd % FD_CHUNK / 64] : &t->used;
}

static inline const uint64_t *cloexec_of(const struct file_table *t, unsigned fd)
{
    const struct fd_chunk *c = chunk_of(t, fd);

    return c ? &c->cloexec[fd % FD_CHUNK / 64] : &t->cloexec;
}

static inline uint64_t *cloexec_word(struct file_table *t, unsigned fd)
{
    struct fd_chunk *c = chunk_of(t, fd);

    return c ? &c->cloexec[fd % FD_CHUNK / 64] : &t->cloexec;
}

static void mark(struct file_table *t, unsigned fd, bool on)
{
    uint64_t *word = cloexec_word(t, fd), bit = UINT64_C(1) << fd % 64;

    SET(*word, on ? *word | bit : *word & ~bit);
}

/* Chunk n has a free number, or none: say so in the directory, if there is one. */
static void note_full(struct fd_directory *d, unsigned n, bool full)
{
    uint64_t bit = UINT64_C(1) << n % 64;

    if (!d)
        return;
    d->full[n / 64] = full ? d->full[n / 64] | bit : d->full[n / 64] & ~bit;
    if (~d->full[n / 64])
        d->full_words &= ~(1u << n / 64);
    else
        d->full_words |= 1u << n / 64;
}

#define FULL_CHUNK ((1u << FD_CHUNK / 64) - 1)

/* Mark fd, which has a slot, as used; c: its chunk. */
static inline void take(struct file_table *t, struct fd_chunk *c, unsigned fd)
{
    unsigned word = fd % FD_CHUNK / 64;
    uint64_t bit = UINT64_C(1) << fd % 64;

    if (likely(!c)) {
        SET(t->used, t->used | bit);
        return;
    }
    if (c->used[word] & bit)
        return;
    SET(c->used[word], c->used[word] | bit);
    if (c->count == 0 && fd >= FD_CHUNK)
        t->more->nempty--;
    SET(c->count, c->count + 1);
    if (unlikely(fd >= FD_CHUNK))
        SET(t->nfar, t->nfar + 1);
    if (~c->used[word])
        return;
    c->full |= 1u << word;
    if (c->full == FULL_CHUNK)
        note_full(t->more, fd / FD_CHUNK, true);
}

/* Mark fd as free; c: its chunk. Returns that if it is to be freed, which the caller does without
   lock. */
static inline struct fd_chunk *release(struct file_table *t, struct fd_chunk *c, unsigned fd)
{
    unsigned word = fd % FD_CHUNK / 64;
    uint64_t bit = UINT64_C(1) << fd % 64;

    if (likely(!c)) {
        SET(t->used, t->used & ~bit);
        SET(t->cloexec, t->cloexec & ~bit);
        return NULL;
    }
    SET(c->used[word], c->used[word] & ~bit);
    SET(c->cloexec[word], c->cloexec[word] & ~bit);
    if (c->full == FULL_CHUNK)
        note_full(t->more, fd / FD_CHUNK, false);
    c->full &= ~(1u << word);
    SET(c->count, c->count - 1);
    if (unlikely(fd >= FD_CHUNK))
        SET(t->nfar, t->nfar - 1);
    if (c->count > 0 || fd < FD_CHUNK)
        return NULL;
    if (t->more->nempty++ == 0)
        return NULL;
    t->more->nempty--;
    SET(t->more->chunk[fd / FD_CHUNK], NULL);
    return c;
}

static void chunk_free(struct fd_chunk *c)
{
    if (unlikely(c))
        npp_free(c, sizeof(*c));
}

/* The lowest free number of c from `from` on; FD_CHUNK: there is none. */
static unsigned lowest_in(const struct fd_chunk *c, unsigned from)
{
    unsigned word = from / 64;
    uint64_t free = ~c->used[word] & ~UINT64_C(0) << from % 64;

    if (!free) {
        uint32_t words = ~c->full & FULL_CHUNK & ~1u << word;

        if (!words)
            return FD_CHUNK;
        word = bit_lowest(words);
        free = ~c->used[word];
    }
    return 64 * word + bit_lowest(free);
}

/* The lowest free number from the chunk n on, n > 0; FD_MAX: there is none. */
static __attribute__((noinline)) unsigned lowest_beyond(const struct fd_directory *d, unsigned n)
{
    unsigned word = n / 64;
    uint64_t free;

    if (n >= FD_CHUNKS)
        return FD_MAX;
    free = ~d->full[word] & ~UINT64_C(0) << n % 64;
    if (!free) {
        uint32_t words = ~d->full_words & ((1u << FD_CHUNKS / 64) - 1) & ~1u << word;

        if (!words)
            return FD_MAX;
        word = bit_lowest(words);
        free = ~d->full[word];
    }
    n = 64 * word + bit_lowest(free);
    return n * FD_CHUNK + (d->chunk[n] ? lowest_in(d->chunk[n], 0) : 0);
}

/* The lowest free number that is at least `from`, which is below FD_MAX; it may have no slot yet.
   FD_MAX: there is none. */
static unsigned lowest_free(const struct file_table *t, unsigned from)
{
    const struct fd_chunk *c = chunk_of(t, from);
    unsigned n = from / FD_CHUNK, at;

    if (likely(!t->chunk0)) {
        uint64_t free = from < FD_FIRST ? ~t->used & ~UINT64_C(0) << from : 0;

        return free ? bit_lowest(free) : MAX(from, FD_FIRST);
    }
    if (!c)
        return from;
    at = c->full == FULL_CHUNK ? FD_CHUNK : lowest_in(c, from % FD_CHUNK);
    if (at < FD_CHUNK)
        return n * FD_CHUNK + at;
    return t->more ? lowest_beyond(t->more, n + 1) : FD_CHUNK;
}

/* A descriptor of t that stood for f is closed. The locks of t's process on the file end with the
 * first of its descriptors that is closed, as POSIX has it. */
static __attribute__((noinline)) void drop_told(struct file_table *t, struct file *f)
{
    if (f->inode)
        lock_release(f->inode, t);
    else
        f->ops->left(f);
    file_unref(f);
}

static inline void drop(struct file_table *t, struct file *f)
{
    if (unlikely(f->inode ? lock_any(f->inode) : f->ops->left != NULL))
        drop_told(t, f);
    else
        file_unref(f);
}

/* ---- growth ---- */

#define SMALL_USED (~UINT64_C(0) << FD_FIRST) /* numbers that a small table has not */

struct file_table *fdtable_create(void)
{
    struct file_table *t = npp_alloc_zeroed(sizeof(*t));

    if (t) {
        t->lock = (struct spinlock)SPINLOCK_INIT("descriptors", RANK_FILE, IPL_ASTDEL);
        t->size = FD_FIRST;
        t->owner = thread_self();
        t->file = t->first;
        t->used = SMALL_USED;
    }
    return t;
}

/* Each of these installs what the caller has allocated, unless another user has done so meanwhile.
   Lock held, or one user. True: installed. */
static bool install_first(struct file_table *t, struct fd_chunk *c)
{
    if (t->chunk0)
        return false;
    memcpy(c->file, t->first, sizeof(t->first));
    c->used[0] = t->used & ~SMALL_USED;
    c->cloexec[0] = t->cloexec;
    c->count = bit_count(c->used[0]);
    __atomic_store_n(&t->chunk0, c, __ATOMIC_RELEASE); /* complete for fdtable_peek() */
    t->file = c->file;
    t->size = FD_CHUNK;
    return true;
}

static bool install_directory(struct file_table *t, struct fd_directory *d)
{
    if (t->more)
        return false;
    d->chunk[0] = t->chunk0;
    __atomic_store_n(&t->more, d, __ATOMIC_RELEASE);
    note_full(d, 0, t->chunk0->full == FULL_CHUNK);
    return true;
}

static bool install_chunk(struct file_table *t, struct fd_chunk *c, unsigned n)
{
    if (t->more->chunk[n])
        return false;
    __atomic_store_n(&t->more->chunk[n], c, __ATOMIC_RELEASE);
    t->more->nempty++;
    return true;
}

/* Take a step towards a slot for fd, which is below FD_MAX: allocate one of the blocks that are
   missing. 0 or -ENOMEM. */
static __attribute__((noinline)) int extend(struct file_table *t, unsigned fd)
{
    struct hold h = hold(t);
    bool small = !t->chunk0, far = fd >= FD_CHUNK && !t->more, done;
    bool there = !small && fd < FD_CHUNK; /* another user has made it since the caller looked */
    size_t nbytes = !small && far ? sizeof(struct fd_directory) : sizeof(struct fd_chunk);
    void *block;

    let_go(t, h);
    if (unlikely(there))
        return 0;
    block = npp_alloc_zeroed(nbytes);
    if (!block)
        return -ENOMEM;
    h = hold(t);
    if (small)
        done = install_first(t, block);
    else if (far)
        done = install_directory(t, block);
    else
        done = install_chunk(t, block, fd / FD_CHUNK);
    let_go(t, h);
    if (unlikely(!done))
        npp_free(block, nbytes);
    return 0;
}

/* ---- tables ---- */

/* Which of the 64 numbers from `fd` on, a multiple of 64, are in use? Lock held, or one user. */
static uint64_t in_use(const struct file_table *t, unsigned fd)
{
    const struct fd_chunk *c = chunk_of(t, fd);

    if (c)
        return GET(c->used[fd % FD_CHUNK / 64]);
    return fd == 0 ? GET(t->used) & ~SMALL_USED : 0;
}

/* The slots of numbers from fd on, in one chunk. */
static struct file **slots_at(const struct file_table *t, unsigned fd)
{
    return fd < t->size ? t->file + fd : chunk_of(t, fd)->file + fd % FD_CHUNK;
}

#define STEPS 16 /* words or chunks that are looked at under the lock at a time */

/* The next multiple of 64 after `fd`, itself a multiple of 64, of whose numbers one may be in use;
   FD_MAX: there are none. After STEPS words without one, where it has got to. Lock held, or one
   user. */
static unsigned next_word(const struct file_table *t, unsigned fd)
{
    unsigned end = GET(t->more) ? FD_MAX : GET(t->chunk0) ? FD_CHUNK : 64;

    fd += 64;
    for (unsigned i = 0; i < STEPS && fd < end && !in_use(t, fd); i++) {
        const struct fd_chunk *c = chunk_of(t, fd);

        fd = c && GET(c->count) ? fd + 64 : (fd / FD_CHUNK + 1) * FD_CHUNK;
    }
    return fd < end ? fd : FD_MAX;
}

/* Copy the files of the 64 numbers from `fd` on into t, which has one user, and no file there yet,
   and slots for them. Lock of `from` held, or one user. */
static void copy_word(struct file_table *t, struct file_table *from, unsigned fd, uint64_t used)
{
    struct file **to = slots_at(t, fd), **old = slots_at(from, fd);
    struct fd_chunk *c = chunk_of(t, fd);

    for (uint64_t left = used; left; left &= left - 1) {
        struct file *f = old[bit_lowest(left)];

        if (likely(f != NULL)) {
            to[bit_lowest(left)] = f;
            file_ref(f);
        } else { /* reserved by a call of another user, so not in the copy */
            used &= ~(left & -left);
        }
    }
    *cloexec_word(t, fd) = *cloexec_word(from, fd) & used;
    if (!c) {
        t->used |= used;
        return;
    }
    if (used && c->count == 0 && fd >= FD_CHUNK)
        t->more->nempty--;
    c->used[fd % FD_CHUNK / 64] = used;
    c->count += bit_count(used);
    if (unlikely(fd >= FD_CHUNK))
        t->nfar += bit_count(used);
    if (~used)
        return;
    c->full |= 1u << fd % FD_CHUNK / 64;
    if (c->full == FULL_CHUNK)
        note_full(t->more, fd / FD_CHUNK, true);
}

/* The lock is held for one word of numbers at a time. What other users change meanwhile is in the
   copy or not, as if the fork had come a little later or earlier for that descriptor. */
struct file_table *fdtable_fork(struct file_table *from)
{
    struct file_table *t = fdtable_create();
    unsigned fd = 0;

    while (t && fd < FD_MAX) {
        struct hold h = hold(from);
        uint64_t used = in_use(from, fd);
        bool fits = !used || !from->chunk0 || chunk_of(t, fd);

        if (fits) {
            if (used)
                copy_word(t, from, fd, used);
            fd = next_word(from, fd);
        }
        let_go(from, h);
        if (!fits && extend(t, fd)) {
            fdtable_release(t);
            t = NULL;
        }
    }
    return t;
}

void fdtable_share(struct file_table *t)
{
    ipl_t ipl = lock_shared(t);

    __atomic_store_n(&t->others, t->others + 1, __ATOMIC_RELAXED);
    spin_unlock(&t->lock, ipl);
}

void fdtable_release(struct file_table *t)
{
    if (fdtable_shared(t)) {
        ipl_t ipl = lock_shared(t);
        bool last = t->others == 0;

        t->gone = !last;
        spin_unlock(&t->lock, ipl);
        if (!last)
            return;
    }
    for (unsigned fd = 0; fd < FD_MAX; fd = next_word(t, fd)) {
        for (uint64_t used = in_use(t, fd); used; used &= used - 1)
            drop(t, slots_at(t, fd)[bit_lowest(used)]);
    }
    for (unsigned n = 1; t->more && n < FD_CHUNKS; n++)
        chunk_free(t->more->chunk[n]);
    if (t->more)
        npp_free(t->more, sizeof(*t->more));
    chunk_free(t->chunk0);
    npp_free(t, sizeof(*t));
}

void fdtable_exec(struct file_table *t)
{
    for (unsigned fd = 0; fd < FD_MAX; fd = next_word(t, fd)) {
        for (uint64_t cloexec = in_use(t, fd) ? *cloexec_word(t, fd) : 0; cloexec;
             cloexec &= cloexec - 1)
            fd_close(t, fd + bit_lowest(cloexec));
    }
}

/* The slot of fd, whatever state an interrupted user has left t in; NULL: there is none. */
static struct file *const *slot_of(const struct file_table *t, uint64_t fd)
{
    const struct fd_chunk *c = chunk_of(t, fd);

    return c ? &c->file[fd % FD_CHUNK] : fd < FD_FIRST ? &t->first[fd] : NULL;
}

struct file *fdtable_peek(const struct file_table *t, uint64_t fd, bool *cloexec)
{
    struct file *const *slot = slot_of(t, fd);
    struct file *f = slot ? GET(*slot) : NULL;

    if (f) {
        file_ref(f);
        *cloexec = GET(*cloexec_of(t, (unsigned)fd)) >> fd % 64 & 1;
    }
    return f;
}

uint32_t fdtable_count(const struct file_table *t)
{
    const struct fd_chunk *c = __atomic_load_n(&t->chunk0, __ATOMIC_ACQUIRE);

    return (c ? GET(c->count) : (uint32_t)bit_count(GET(t->used) & ~SMALL_USED)) + GET(t->nfar);
}

bool fdtable_look(const struct file_table *t, uint64_t *fd)
{
    uint64_t from = *fd, used;
    unsigned at = (unsigned)from & ~63u;

    if (from >= FD_MAX) {
        *fd = FD_MAX;
        return false;
    }
    for (used = in_use(t, at) & ~UINT64_C(0) << from % 64; used; used &= used - 1) {
        struct file *const *slot = slot_of(t, at + bit_lowest(used));

        if (slot && GET(*slot)) { /* otherwise it is reserved */
            *fd = at + bit_lowest(used);
            return true;
        }
    }
    *fd = next_word(t, at);
    return false;
}

uint64_t fd_next(struct file_table *t, uint64_t from)
{
    bool found = false;

    while (!found && from < FD_MAX) {
        struct hold h = hold(t);

        found = fdtable_look(t, &from);
        let_go(t, h);
    }
    return found ? from : FD_MAX;
}

struct file *fd_get_counted(struct file_table *t, uint64_t fd)
{
    ipl_t ipl = lock_shared(t);
    struct file *f = fd_file(t, fd);

    if (f)
        file_ref(f);
    spin_unlock(&t->lock, ipl);
    return f;
}

long fd_call_slowly(struct file_table *t, uint64_t fd, fd_fn fn, uint64_t a, uint64_t b, uint64_t c)
{
    struct fd_use use = fd_get(t, fd);
    long r;

    if (!use.file)
        return -EBADF;
    r = fn(use.file, a, b, c);
    fd_put(use);
    return r;
}

int fd_cloexec(struct file_table *t, unsigned fd)
{
    struct hold h = hold(t);
    bool on = fd_file(t, fd) && (*cloexec_word(t, fd) >> fd % 64 & 1);

    let_go(t, h);
    return on;
}

int fd_set_cloexec(struct file_table *t, unsigned fd, bool on)
{
    struct hold h = hold(t);

    if (fd_file(t, fd))
        mark(t, fd, on);
    let_go(t, h);
    return 0;
}

int fd_find(struct file_table *t, unsigned from)
{
    uint64_t limit = rlimit_files(process_self());
    bool fails;

    if (from >= limit)
        return -EINVAL;
    fails = failure_inject(MEGA_ALLOC_FD);
    for (;;) {
        struct hold h = hold(t);
        unsigned fd = fails ? FD_MAX : lowest_free(t, from);
        struct fd_chunk *c = chunk_of(t, fd);
        bool fits = fd < limit && slot_in(t, c, fd);

        if (fits)
            take(t, c, fd);
        let_go(t, h);
        if (likely(fits))
            return (int)fd;
        if (fd >= limit)
            return -EMFILE;
        if (extend(t, fd))
            return -ENOMEM;
    }
}

static __attribute__((noinline)) void fill_and_mark(struct file_table *t, struct file *f,
                                                    unsigned fd, bool cloexec)
{
    struct hold h = hold(t);

    SET(*slot_in(t, chunk_of(t, fd), fd), f);
    if (cloexec) /* a number that was free has no mark */
        mark(t, fd, true);
    let_go(t, h);
}

static inline void fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec)
{
    if (unlikely(fdtable_shared(t) || cloexec))
        fill_and_mark(t, f, fd, cloexec);
    else
        SET(*slot_in(t, chunk_of(t, fd), fd), f);
}

void fd_fill(struct file_table *t, struct file *f, unsigned fd, bool cloexec)
{
    fill(t, f, fd, cloexec);
}

void fd_cancel(struct file_table *t, unsigned fd)
{
    struct hold h = hold(t);
    struct fd_chunk *empty = release(t, chunk_of(t, fd), fd);

    let_go(t, h);
    chunk_free(empty);
}

int fd_add(struct file_table *t, struct file *f, unsigned from, bool cloexec)
{
    int fd = fd_find(t, from);

    if (fd >= 0)
        fill(t, f, (unsigned)fd, cloexec);
    return fd;
}

int fd_replace(struct file_table *t, struct file *f, uint64_t fd, bool cloexec)
{
    struct fd_chunk *c;
    struct file *old;
    struct hold h;

    if (fd >= rlimit_files(process_self()))
        return -EBADF;
    while (h = hold(t), c = chunk_of(t, fd), !slot_in(t, c, fd)) {
        let_go(t, h);
        if (extend(t, (unsigned)fd))
            return -ENOMEM;
    }
    old = *slot_in(t, c, fd);
    if (unlikely(!old && (*used_word(t, (unsigned)fd) >> fd % 64 & 1))) {
        let_go(t, h);
        return -EBUSY;
    }
    take(t, c, (unsigned)fd);
    SET(*slot_in(t, c, fd), f);
    mark(t, (unsigned)fd, cloexec);
    let_go(t, h);
    if (old)
        drop(t, old);
    return (int)fd;
}

/* Take the file off fd, whose number is free then. NULL: it has none. *empty: a chunk that the
   caller is to free, or NULL. Lock held, or one user. */
static inline struct file *take_out(struct file_table *t, uint64_t fd, struct fd_chunk **empty)
{
    struct fd_chunk *c = chunk_of(t, fd);
    struct file **slot = slot_in(t, c, fd), *f = slot ? *slot : NULL;

    if (likely(f != NULL)) {
        SET(*slot, NULL);
        *empty = release(t, c, (unsigned)fd);
    }
    return f;
}

long fd_close(struct file_table *t, uint64_t fd)
{
    struct fd_chunk *empty = NULL;
    struct hold h = hold(t);
    struct file *f = take_out(t, fd, &empty);

    let_go(t, h);
    if (!f)
        return -EBADF;
    chunk_free(empty);
    drop(t, f);
    return 0;
}
