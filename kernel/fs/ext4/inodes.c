/*
 * The inodes of a mount: which are known, and their end.
 *
 * A file is known by its number, so all its names lead to one inode, and to one set of pages. A
 * directory has one name: its inode remembers it, and its parent. A damaged disk may have a
 * directory below itself, or in two places. It is then found in the index with another parent or
 * name than that of the look-up, which fails. So the directories in memory are a tree, always: a
 * new one comes below the one that it was found in, which it keeps.
 *
 * References: the index has one to each inode in it. While index_lock is held, an inode whose only
 * reference is that of the index can gain no other: look-ups take theirs under the lock, and
 * everybody else must have one already, or a mapping of its object, which ext4_trim() asks for.
 *
 * An inode is freed by the mount's thread, one after the other: the end of a directory may be that
 * of its parent, and so on upward.
 */
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/change.h"
#include "kernel/fs/ext4/private.h"
#include "kernel/sched/thread.h"
#include "mm/object/object.h"
#include "mm/pool/pool_charged.h"

static uint32_t type_of(uint32_t mode) { return mode & S_IFMT; }

static struct list *head_of(struct ext4 *m, uint32_t number)
{
    return &m->heads[number & (EXT4_HEADS - 1)];
}

/* ---- making and ending ---- */

static void free_memory(struct ext4_inode *i)
{
    if (i->name)
        npp_free_charged(i->name, i->name_len, i->account);
    account_release(&accounts[i->account], QUOTA_INODES, 1);
    npp_free(i, sizeof(*i));
}

static struct ext4_inode *alloc(struct ext4 *m)
{
    struct account *a = account_self();
    struct ext4_inode *i;

    if (!account_charge(a, QUOTA_INODES, 1)) {
        (void)ext4_trim(m, 0, a, UINT32_MAX);
        ext4_free_dead(m); /* the thread would do it later */
        if (!account_charge(a, QUOTA_INODES, 1))
            return NULL;
    }
    i = npp_alloc_zeroed(sizeof(*i));
    if (!i) {
        account_release(a, QUOTA_INODES, 1);
        return NULL;
    }
    i->account = (uint16_t)(a - accounts);
    return i;
}

/* What a regular file or a directory has besides. */
static int make_parts(struct ext4_inode *i, struct inode *dir, const struct fs_name *name)
{
    uint64_t size = i->node.size;

    i->inode.size = size;
    if (type_of(i->node.mode) == S_IFREG) {
        uint64_t npages = size > INODE_MAX_BYTES ? 0 : (size + PAGE_MASK) >> PAGE_SHIFT;

        i->inode.object = object_create(npages, &ext4_pager, i);
        return i->inode.object ? 0 : -ENOMEM;
    }
    if (type_of(i->node.mode) != S_IFDIR || !dir)
        return 0;
    i->name = npp_alloc_charged(name->len, i->account);
    if (!i->name)
        return -ENOMEM;
    i->name_len = name->len;
    memcpy(i->name, name->text, name->len);
    inode_ref(dir);
    i->inode.parent = dir;
    return 0;
}

int ext4_inode_new(struct ext4 *m, struct inode *dir, const struct fs_name *name,
                   const struct ext4_node *n, struct ext4_inode **out)
{
    struct fs_new what = {.mode = n->mode, .uid = n->uid, .gid = n->gid, .rdev = n->rdev};
    struct ext4_inode *i = alloc(m);
    ipl_t ipl;
    int err;

    if (!i)
        return -ENOMEM;
    list_init(&i->head_link);
    list_init(&i->order_link);
    list_init(&i->dead_link);
    list_init(&i->cut_link);
    list_init(&i->dirty_link);
    mutex_init(&i->back_lock, "writing back", MUTEX_EXT4_BACK);
    inode_init(&i->inode, &m->fs, &ext4_ops, &what);
    i->inode.ino = n->number;
    i->inode.nlink = n->nlink;
    i->inode.atime_ns = n->atime_ns;
    i->inode.mtime_ns = n->mtime_ns;
    i->inode.ctime_ns = n->ctime_ns;
    i->mount = m;
    i->node = *n;
    err = make_parts(i, dir, name);
    if (err) {
        free_memory(i);
        return err;
    }
    ipl = spin_lock(&m->lock);
    list_add_tail(&m->all, &i->all_link);
    m->alive++;
    spin_unlock(&m->lock, ipl);
    *out = i;
    return 0;
}

/* Is something of i left to be done on the disk? Nobody can reach i any more. */
static bool is_doomed(const struct ext4_inode *i) { return !i->node.nlink || i->node.cutting; }

/* Nobody can reach i any more: have the thread free it. */
static void bury(struct ext4_inode *i)
{
    struct ext4 *m = i->mount;
    ipl_t ipl = spin_lock(&m->lock);

    list_add_tail(is_doomed(i) ? &m->doomed : &m->dead, &i->dead_link);
    ext4_wake(m); /* under the lock: who frees i may end the mount next */
    spin_unlock(&m->lock, ipl);
}

void ext4_object_ended(struct mm_object *o) { bury(object_pager_data(o)); }

void ext4_end(struct inode *in)
{
    struct ext4_inode *i = ext4_inode_of(in);
    ipl_t ipl = spin_lock(&i->mount->lock);

    i->ended = true;
    ext4_ended_locked(i);
    spin_unlock(&i->mount->lock, ipl);
    if (in->object)
        object_unref(
            in->object); /* ext4_object_ended() buries i, now or after the last unmapping */
    else
        bury(i);
}

/* The next inode to be freed, or NULL. It is in no list afterwards. */
static struct ext4_inode *next_dead(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);
    struct list *l = list_pop_head(&m->dead);
    struct ext4_inode *i = l ? list_entry(l, struct ext4_inode, dead_link) : NULL;

    if (i)
        list_remove(&i->all_link);
    spin_unlock(&m->lock, ipl);
    return i;
}

/* A step: some of what a killed truncation has left is cut, or of what has no name is erased. If
 * that fails, the inode stays an orphan on the disk until it is mounted again. Is there more? */
static bool finish_on_disk(struct ext4_inode *i)
{
    struct ext4 *m = i->mount;
    bool more = false;
    int err = 0;

    mutex_lock(&m->mutex);
    if (!i->node.nlink)
        err = ext4_erase(m->volume, &i->node, &more);
    else if (i->node.cutting)
        err = ext4_cut(m->volume, &i->node, &more);
    mutex_unlock(&m->mutex);
    if (err && err != -EROFS)
        printk("%s: ext4: inode %u cannot be freed (error %d): it is when the disk is mounted "
               "again\n",
               m->disk->name, i->node.number, -err);
    return !err && more;
}

bool ext4_finish_doomed(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);
    struct list *l = list_first(&m->doomed);
    struct ext4_inode *i = l ? list_entry(l, struct ext4_inode, dead_link) : NULL;

    spin_unlock(&m->lock, ipl);
    if (!i || finish_on_disk(i))
        return i != NULL;
    ipl = spin_lock(&m->lock);
    list_remove(&i->dead_link);
    list_add_tail(&m->dead, &i->dead_link);
    spin_unlock(&m->lock, ipl);
    return true;
}

void ext4_cut_later(struct ext4_inode *i)
{
    struct ext4 *m = i->mount;
    ipl_t ipl = spin_lock(&m->lock);

    if (list_empty(&i->cut_link)) {
        inode_ref(&i->inode);
        list_add_tail(&m->uncut, &i->cut_link);
        ext4_wake(m);
    }
    spin_unlock(&m->lock, ipl);
}

/* One that has lost its last name meanwhile is not to be erased yet: others may use it. */
bool ext4_finish_cut(struct ext4 *m)
{
    ipl_t ipl = spin_lock(&m->lock);
    struct list *l = list_first(&m->uncut);
    struct ext4_inode *i = l ? list_entry(l, struct ext4_inode, cut_link) : NULL;
    bool more = false;
    int err = 0;

    spin_unlock(&m->lock, ipl);
    if (!i)
        return false;
    mutex_lock(&m->mutex);
    if (i->node.cutting)
        err = ext4_cut(m->volume, &i->node, &more);
    mutex_unlock(&m->mutex);
    if (!err && more)
        return true;
    ipl = spin_lock(&m->lock);
    list_remove(&i->cut_link);
    spin_unlock(&m->lock, ipl);
    inode_unref(&i->inode);
    return true;
}

void ext4_free_dead(struct ext4 *m)
{
    struct ext4_inode *i;

    while ((i = next_dead(m)) != NULL) {
        struct inode *parent = i->inode.parent;
        ipl_t ipl;

        free_memory(i);
        if (parent && parent != &i->inode)
            inode_unref(parent);
        ipl = spin_lock(&m->lock); /* counted to its end: the mount stays until then */
        m->alive--;
        spin_unlock(&m->lock, ipl);
    }
}

/* ---- the index ---- */

static struct ext4_inode *find_locked(struct ext4 *m, uint32_t number)
{
    struct ext4_inode *i;

    list_for_each_entry(i, head_of(m, number), head_link)
        if (i->node.number == number)
            return i;
    return NULL;
}

static void take_out_locked(struct ext4_inode *i)
{
    list_remove(&i->head_link);
    list_remove(&i->order_link);
    __atomic_fetch_sub(&i->mount->count, 1, __ATOMIC_RELAXED);
}

/* The known inode of a number, with a reference, or NULL. It counts as looked up now. */
static struct ext4_inode *find(struct ext4 *m, uint32_t number)
{
    struct ext4_inode *i;

    mutex_lock(&m->index_lock);
    i = find_locked(m, number);
    if (i) {
        inode_ref(&i->inode);
        list_remove(&i->order_link);
        list_add_tail(&m->order, &i->order_link);
    }
    mutex_unlock(&m->index_lock);
    return i;
}

/* m->mutex is held, so nobody else enters the same one. */
void ext4_enter_index(struct ext4_inode *i)
{
    struct ext4 *m = i->mount;

    mutex_lock(&m->index_lock);
    inode_ref(&i->inode);
    list_add_head(head_of(m, i->node.number), &i->head_link);
    list_add_tail(&m->order, &i->order_link);
    __atomic_fetch_add(&m->count, 1, __ATOMIC_RELAXED);
    mutex_unlock(&m->index_lock);
}

void ext4_take_out(struct ext4_inode *i)
{
    bool there;

    mutex_lock(&i->mount->index_lock);
    there = !list_empty(&i->head_link);
    if (there)
        take_out_locked(i);
    mutex_unlock(&i->mount->index_lock);
    if (there)
        inode_unref(&i->inode); /* the caller has another reference */
}

/* Is i what the name in dir leads to, and no directory from somewhere else? */
static bool fits(const struct ext4_inode *i, const struct inode *dir, const struct fs_name *name)
{
    if (!inode_is_dir(&i->inode) || !dir)
        return true;
    return i->inode.parent == dir && i->name && i->name_len == name->len &&
           memcmp(i->name, name->text, name->len) == 0;
}

int ext4_found(struct ext4 *m, struct inode *dir, const struct fs_name *name, uint32_t number,
               struct inode **out)
{
    struct ext4_inode *i = find(m, number);
    struct ext4_node n;
    int err = 0;

    if (!i) {
        err = ext4_read_node(m->volume, number, &n);
        if (!err && dir && number == EXT4_ROOT)
            err = -EUCLEAN;
        if (!err)
            err = ext4_inode_new(m, dir, name, &n, &i);
        if (err)
            return err;
        ext4_enter_index(i);
    } else if (!fits(i, dir, name)) {
        inode_unref(&i->inode);
        return -EUCLEAN;
    }
    *out = &i->inode;
    return 0;
}

/* Does only the index refer to i? index_lock is held. Mappings first: who unmaps the file may have
 * taken a reference before, or stored to it. */
static bool is_unused(struct ext4_inode *i)
{
    if (i->inode.object && (object_is_mapped(i->inode.object) || ext4_is_dirty(i)))
        return false;
    return __atomic_load_n(&i->inode.refs, __ATOMIC_ACQUIRE) == 1;
}

/* One of those, among the first few that were looked up longest ago; it is taken out. Adds to
 * *looked how many were looked at. */
static struct ext4_inode *pick(struct ext4 *m, uint32_t keep, const struct account *of,
                               uint32_t *looked)
{
    struct ext4_inode *i, *tmp, *found = NULL;
    unsigned n = 0;

    mutex_lock(&m->index_lock);
    list_for_each_entry_safe(i, tmp, &m->order, order_link) {
        if (n++ == EXT4_TRIM || m->count <= keep)
            break;
        if ((!of || &accounts[i->account] == of) && is_unused(i)) {
            take_out_locked(i);
            found = i;
            break;
        }
        list_remove(&i->order_link); /* look at others next time */
        list_add_tail(&m->order, &i->order_link);
    }
    mutex_unlock(&m->index_lock);
    *looked += MAX(n, 1u);
    return found;
}

unsigned ext4_trim(struct ext4 *m, uint32_t keep, const struct account *of, uint32_t look)
{
    uint32_t looked = 0, count = __atomic_load_n(&m->count, __ATOMIC_RELAXED);
    unsigned k = 0;

    while (looked < MIN(look, count) && k < EXT4_TRIM && !thread_killed()) {
        struct ext4_inode *i = pick(m, keep, of, &looked);

        if (i) {
            inode_unref(&i->inode);
            k++;
        } else if (__atomic_load_n(&m->count, __ATOMIC_RELAXED) <= keep) {
            break;
        }
    }
    return k;
}

void ext4_drop_index(struct ext4 *m)
{
    struct ext4_inode *i;

    do {
        struct list *l;

        mutex_lock(&m->index_lock);
        l = list_first(&m->order);
        i = l ? list_entry(l, struct ext4_inode, order_link) : NULL;
        if (i)
            take_out_locked(i);
        mutex_unlock(&m->index_lock);
        if (i)
            inode_unref(&i->inode);
    } while (i);
}

struct ext4_inode *ext4_next_file(struct ext4 *m, uint32_t *looked)
{
    struct ext4_inode *i, *tmp, *found = NULL;
    unsigned n = 0;

    mutex_lock(&m->index_lock);
    list_for_each_entry_safe(i, tmp, &m->order, order_link) {
        if (found || n++ == EXT4_TRIM)
            break;
        list_remove(&i->order_link);
        list_add_tail(&m->order, &i->order_link);
        if (i->inode.object) {
            inode_ref(&i->inode);
            found = i;
        }
    }
    mutex_unlock(&m->index_lock);
    *looked += MAX(n, 1u);
    return found;
}
