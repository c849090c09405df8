/*
 * A mount: made, served by a thread of its own, and ended.
 *
 * The thread reads pages, lets them be stored to, frees inodes, and commits what was changed some
 * seconds ago. It is told to end when nothing of the mount is in use any more, and then frees the
 * mount itself, since it is the last to look at it. A second thread, of a mount that is written,
 * writes back what was stored through mappings (stores.c): it waits for files that are locked, by
 * readers perhaps whose fault waits for the first one.
 */
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/library/checksums.h"
#include "kernel/fs/ext4/library/memory.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"
#include "mm/phys/page.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

#define RESERVE_PART  4u  /* of memory is not used for pages that are only kept */
#define STORES_PART   32u /* of memory, stored to through mappings, is written back at once */
#define LOOK_NS       UINT64_C(1000000000)
#define FINISH_ROUNDS 4u
#define COMMIT_LOOKS  5u /* after which a transaction is committed */

/* All mounts, also those that are being made, and whether the boot's part is done. */
static struct mutex mounts_lock = MUTEX_INIT("mounts of ext4", MUTEX_MOUNTS, mounts_lock);
static struct list mounts = LIST_INIT(mounts);                          /* mounts_lock */
static struct wait_queue ended = WAIT_QUEUE_INIT("end of ext4", ended); /* for one to leave */

/* Only the thread waits there. Who wakes it is about to wait for it, or for the disk. */
void ext4_wake(struct ext4 *m) { wake_all_follow(&m->work); }

/* ---- the thread ---- */

/* What is only in memory is written. */
static void end_volume(struct ext4 *m)
{
    int err = 0;

    mutex_lock(&m->mutex);
    if (ext4_volume_writes(m->volume))
        err = ext4_journal_detach(m->volume);
    if (err)
        printk("%s: ext4: not unmounted well (error %d): the journal is to be replayed\n",
               m->disk->name, -err);
    ext4_volume_close(m->volume);
    ext4_lines_free(&m->lines);
    mutex_unlock(&m->mutex);
}

static void finish(struct ext4 *m)
{
    end_volume(m);
    mutex_lock(&mounts_lock);
    list_remove(&m->mounted);
    mutex_unlock(&mounts_lock);
    npp_free_charged(m, sizeof(*m), m->account);
    wake_all(&ended);
}

static bool has_work(struct ext4 *m)
{
    return !list_empty(&m->jobs) || !list_empty(&m->grants) || !list_empty(&m->dead) ||
           !list_empty(&m->doomed) || !list_empty(&m->uncut);
}

/* Called while the thread waits for work: is there some? If not, who waits for that is told. */
static bool look(struct ext4 *m, bool *ending)
{
    ipl_t ipl = spin_lock(&m->lock);
    bool work = has_work(m);

    *ending = m->ending && m->writer_gone;
    spin_unlock(&m->lock, ipl);
    if (!work)
        wake_all(&m->quiet);
    return work;
}

/* A transaction runs for some seconds at most, if the disk takes it. */
static void commit_in_time(struct ext4 *m)
{
    struct ext4_journal *j = m->volume->journal;

    if (!j)
        return;
    mutex_lock(&m->mutex);
    m->age = j->changed ? m->age + 1 : 0;
    if (m->age >= COMMIT_LOOKS && ext4_commit(m->volume) == 0)
        m->age = 0;
    if (j->aborted)
        __atomic_store_n(&m->fs.read_only, true, __ATOMIC_RELAXED);
    mutex_unlock(&m->mutex);
}

static void serve(void *arg)
{
    struct ext4 *m = arg;
    uint64_t next = clock_ns() + LOOK_NS;

    for (;;) {
        struct waiter w;
        bool work, ending;

        ext4_do_jobs(m);
        ext4_do_grants(m);
        (void)ext4_finish_cut(m); /* nobody waits longer for a page than for such steps */
        (void)ext4_finish_doomed(m);
        ext4_free_dead(m);
        if (clock_ns() >= next) {
            (void)ext4_trim(m, EXT4_KEPT, NULL, EXT4_TRIM);
            ext4_shrink(m);
            commit_in_time(m);
            next = clock_ns() + LOOK_NS;
        }
        wait_enqueue(&m->work, &w);
        work = look(m, &ending);
        if (!work && !ending)
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, next);
        wait_finish(&w);
        if (!work && ending)
            break;
    }
    finish(m);
    thread_exit();
}

/* ---- what the file system offers to others ---- */

static void usage(const struct fs *fs, struct fs_usage *u)
{
    struct ext4_about a;
    uint64_t each;

    ext4_volume_about(ext4_of(fs)->volume, &a);
    each = a.block_bytes;
    u->magic = EXT4_MAGIC;
    u->blocks = (uint64_t)((unsigned __int128)a.blocks * each / PAGE_SIZE);
    u->free = u->available = (uint64_t)((unsigned __int128)a.blocks_free * each / PAGE_SIZE);
    u->inodes = a.inodes;
    u->inodes_free = a.inodes_free;
}

static void sync_all(const struct fs *fs)
{
    struct ext4 *m = ext4_of(fs);

    ext4_sweep(m);
    if (mutex_lock_killable(&m->mutex))
        return;
    (void)ext4_sync_volume(m);
    mutex_unlock(&m->mutex);
}

static void validate(struct validate *v, const struct fs *fs)
{
    const struct ext4 *m = ext4_of(fs);
    const struct ext4_inode *i;

    list_for_each_entry(i, &m->all, all_link)
        if (i->inode.object && !i->ended)
            validate_file_object(v, i->inode.object);
    ext4_jobs_validate(v, m);
}

/* Wait until the thread has nothing to do. 0, -EINTR, or -ETIMEDOUT. */
static int wait_quiet(struct ext4 *m, uint64_t deadline_ns)
{
    struct waiter w;
    int err = 0;

    for (;;) {
        bool quiet;
        ipl_t ipl;

        wait_enqueue(&m->quiet, &w);
        ipl = spin_lock(&m->lock);
        quiet = !has_work(m) && list_empty(&m->doing);
        spin_unlock(&m->lock, ipl);
        if (quiet || err)
            break;
        ext4_wake(m); /* it tells when it looks and finds nothing */
        err = wait_block(&w, WAIT_KILLABLE, deadline_ns);
    }
    wait_finish(&w);
    return err;
}

/* Directories are let go of after what is in them: each round reaches the next ones above. */
static int settle(struct fs *fs)
{
    struct ext4 *m = ext4_of(fs);
    unsigned n;
    int err;

    ext4_sweep(m);
    do {
        n = ext4_trim(m, 0, NULL, UINT32_MAX);
        err = wait_quiet(m, WAIT_FOREVER);
    } while (!err && n);
    return err;
}

/* Write what is only in memory, and nothing afterwards. A file that has no name any more, and is
 * open, is freed by the next mount, which replays the journal. Under m->mutex. */
static void write_last(struct ext4 *m)
{
    uint32_t orphan;
    int err;

    if (!ext4_volume_writes(m->volume))
        return;
    err = ext4_orphan_first(m->volume, &orphan);
    if (!err)
        err = orphan ? ext4_sync_volume(m) : ext4_journal_detach(m->volume);
    if (err)
        printk("%s: ext4: not finished well (error %d): the journal is to be replayed\n",
               m->disk->name, -err);
    if (!m->volume->journal->aborted)
        m->volume->journal->aborted = -EROFS;
}

/* Programs that read have the index fill as fast as it is emptied, so the rounds are counted. Times
 * of files that nobody uses are stored in the first one. */
static void finish_changes(struct fs *fs, uint64_t deadline_ns)
{
    struct ext4 *m = ext4_of(fs);

    ext4_sweep(m);
    __atomic_store_n(&fs->read_only, true, __ATOMIC_RELAXED);
    ext4_sweep(m); /* what was written between the first one and the last change */
    for (unsigned k = 0; k < FINISH_ROUNDS; k++) {
        unsigned n = ext4_trim(m, 0, NULL, UINT32_MAX);

        if (wait_quiet(m, deadline_ns) || n == 0)
            break;
    }
    if (mutex_lock_killable(&m->mutex))
        return;
    write_last(m);
    mutex_unlock(&m->mutex);
}

/* The root has three references: ours, that of the index, and the caller's. Everything else in the
 * mount keeps an inode, or has one that was not freed yet. */
static bool is_unused(struct fs *fs)
{
    struct ext4 *m = ext4_of(fs);
    ipl_t ipl = spin_lock(&m->lock);
    bool unused = m->alive == 1 && !has_work(m) && list_empty(&m->doing);

    spin_unlock(&m->lock, ipl);
    return unused && __atomic_load_n(&fs->root->refs, __ATOMIC_ACQUIRE) == 3;
}

static bool is_listed(const struct block_volume *v)
{
    const struct ext4 *m;
    bool found = false;

    mutex_lock(&mounts_lock);
    list_for_each_entry(m, &mounts, mounted)
        found |= m->disk == v;
    mutex_unlock(&mounts_lock);
    return found;
}

/* Have the thread write and free everything, and wait until the volume can be mounted again. The
 * thread waits for the disk only, which answers or fails. */
static void end_thread(struct ext4 *m)
{
    const struct block_volume *v = m->disk;
    struct waiter w;
    ipl_t ipl = spin_lock(&m->lock);

    m->ending = true;
    wake_all(&m->back);
    ext4_wake(m);
    spin_unlock(&m->lock, ipl); /* m may be gone */
    for (;;) {
        wait_enqueue(&ended, &w);
        if (!is_listed(v))
            break;
        (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
}

/* Nobody has any inode. The index has the other reference to the root. */
static void end(struct fs *fs)
{
    struct ext4 *m = ext4_of(fs);

    if (fs->root)
        inode_unref(fs->root);
    ext4_drop_index(m);
    end_thread(m);
}

/* ---- making ---- */

static void init(struct ext4 *m, const struct block_volume *v)
{
    struct page_stats pages;

    page_stats(&pages);
    m->disk = v;
    m->reserve = pages.total / RESERVE_PART;
    m->stores_most = pages.total / STORES_PART;
    m->dirty_since = UINT64_MAX;
    m->writer_gone = true;
    m->fs.name = "ext4";
    m->fs.dev = fs_new_dev();
    m->fs.usage = usage;
    m->fs.sync = sync_all;
    m->fs.reclaim = ext4_reclaim;
    m->fs.validate = validate;
    m->fs.settle = settle;
    m->fs.is_unused = is_unused;
    m->fs.end = end;
    m->fs.finish = finish_changes;
    m->fs.private = m;
    format(m->fs.source, sizeof(m->fs.source), "/dev/%s", v->name);
    mutex_init(&m->mutex, "ext4", MUTEX_EXT4);
    mutex_init(&m->index_lock, "inodes of ext4", MUTEX_SHARE);
    mutex_init(&m->sweep, "stores of ext4", MUTEX_EXT4_SWEEP);
    spin_init(&m->lock, "ext4", RANK_SHARE, IPL_ASTDEL);
    for (unsigned k = 0; k < EXT4_HEADS; k++)
        list_init(&m->heads[k]);
    list_init(&m->order);
    list_init(&m->all);
    list_init(&m->dead);
    list_init(&m->doomed);
    list_init(&m->uncut);
    list_init(&m->grants);
    list_init(&m->dirty);
    list_init(&m->jobs);
    list_init(&m->doing);
    wait_queue_init(&m->work, "ext4 work");
    wait_queue_init(&m->quiet, "ext4 quiet");
    wait_queue_init(&m->back, "ext4 stores");
    wait_queue_init(&m->advance, "ext4 written");
}

/* Nobody else mounts this volume from now on. The first one fills in the table of checksums. */
static int claim(struct ext4 *m)
{
    static bool prepared; /* mounts_lock */
    const struct ext4 *other;
    int err = mutex_lock_killable(&mounts_lock);

    if (err)
        return err;
    list_for_each_entry(other, &mounts, mounted)
        if (other->disk == m->disk)
            err = -EBUSY;
    if (!err)
        list_add_tail(&mounts, &m->mounted);
    if (!prepared)
        ext4_checksums_prepare();
    prepared = true;
    mutex_unlock(&mounts_lock);
    return err;
}

static int open_root(struct ext4 *m)
{
    struct inode *root = NULL;
    int err = mutex_lock_killable(&m->mutex);

    if (err)
        return err;
    err = ext4_found(m, NULL, NULL, EXT4_ROOT, &root);
    mutex_unlock(&m->mutex);
    if (err)
        return err;
    m->fs.root = root;
    return inode_is_dir(root) ? 0 : -EUCLEAN;
}

/* Make what m is for, up to the thread. */
static int begin(struct ext4 *m, unsigned flags)
{
    struct thread *t = thread_create("ext4", serve, m, PRIO_NORMAL + 4);
    struct thread *back = t ? thread_create("ext4 writer", ext4_writer, m, PRIO_NORMAL + 4) : NULL;
    int err = back ? mutex_lock_killable(&m->mutex) : -ENOMEM;
    bool writes;

    if (!err) {
        err = ext4_volume_open(&m->lines, m->disk->name, flags, &m->volume);
        mutex_unlock(&m->mutex);
    }
    writes = !err && ext4_volume_writes(m->volume);
    if (back && !writes)
        thread_discard(back);
    if (t && err)
        thread_discard(t);
    if (err)
        return err;
    ext4_volume_about(m->volume, &m->about);
    m->fs.read_only = !writes;
    m->writer_gone = !writes;
    thread_start(t);
    if (writes)
        thread_start(back);
    return 0;
}

int ext4_create(const struct block_volume *v, unsigned flags, struct fs **out)
{
    uint16_t account = pool_account();
    struct ext4 *m = npp_alloc_charged(sizeof(*m), account);
    int err;

    if (!m)
        return -ENOMEM;
    memset(m, 0, sizeof(*m));
    m->account = account;
    init(m, v);
    err = ext4_lines_init(&m->lines, v);
    if (!err)
        err = claim(m);
    if (!err && (err = begin(m, flags)) != 0) {
        mutex_lock(&mounts_lock);
        list_remove(&m->mounted);
        mutex_unlock(&mounts_lock);
    }
    if (err) {
        ext4_lines_free(&m->lines);
        npp_free_charged(m, sizeof(*m), account);
        return err;
    }
    err = open_root(m);
    if (err) {
        end(&m->fs);
        return err;
    }
    m->fs.root->parent = m->fs.root; /* no reference is counted: tree_mount() sets the real one */
    *out = &m->fs;
    return 0;
}

/* ---- census ---- */

static void explain(struct census *c)
{
    const struct ext4_inode *i;
    const struct ext4 *m;

    list_for_each_entry(m, &mounts, mounted) {
        census_explain(c, CENSUS_NONPAGED, sizeof(*m), 1);
        ext4_lines_census(c, &m->lines);
        ext4_volume_census(c, m->volume);
        ext4_jobs_census(c, m);
        ext4_grants_census(c, m);
        list_for_each_entry(i, &m->all, all_link) {
            census_explain(c, CENSUS_NONPAGED, sizeof(*i), 1);
            if (i->name)
                census_explain(c, CENSUS_NONPAGED, i->name_len, 1);
            if (i->inode.object && !i->ended)
                object_census(c, i->inode.object);
        }
    }
    ext4_library_census(c);
}

void ext4_boot(void)
{
    static const struct census_kind kinds[] = {
        {"inode of ext4", CENSUS_NONPAGED, sizeof(struct ext4_inode)},
        {"mount of ext4", CENSUS_NONPAGED, sizeof(struct ext4)},
        {"line of ext4", CENSUS_PAGED, EXT4_LINE},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
