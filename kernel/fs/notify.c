/*
 * Watches of inodes: lists, and which of them an event concerns. notify.h has the rules.
 *
 * A file reports to its directory too. A file does not know its directory; but it is known where
 * one of its names is (inode_ops.place_of), and with several names only that one counts. The bit
 * NOTIFY_PARENT makes the file ask. It is set in all files of a directory when that gets a watch,
 * and in each that gets a name there later. Who finds that the directory has no watches clears it,
 * and looks again:
 *
 *     clearing: no watches there;                  clear the bit; look again
 *     other:          put a watch there; set the bit
 *     or:             move the file;     set the bit
 *
 * If the bit was set before it was cleared, what preceded that is seen by the second look, which
 * sets it again.
 */
#include "kernel/fs/notify.h"

#include "kernel/base/errno.h"
#include "kernel/sched/freeze.h"

#define MUTEXES 32u

static struct mutex mutexes[MUTEXES];
static uint32_t last_cookie; /* atomic */

static uint32_t place_of(const struct inode *i)
{
    return (uint32_t)(i->ino * UINT64_C(0x9E3779B97F4A7C15) >> 59);
}

_Static_assert(MUTEXES == 1u << (64 - 59), "a place is the number of a mutex");

void notify_boot(void)
{
    for (unsigned k = 0; k < MUTEXES; k++)
        mutex_init(&mutexes[k], "watches of files", MUTEX_NOTIFY);
}

uint32_t notify_cookie(void) { return __atomic_add_fetch(&last_cookie, 1, __ATOMIC_RELAXED); }

static struct mutex *mutex_of(const struct inode *i) { return &mutexes[place_of(i)]; }

/* ---- the list of an inode ---- */

static void put_on_locked(struct inode *i, struct notify_watch *w)
{
    w->next = i->watches;
    i->watches = w;
    w->inode = i;
    if (!i->fs->keeps)
        inode_ref(i);
    __atomic_fetch_or(&i->notify, NOTIFY_SELF, __ATOMIC_SEQ_CST);
}

/* Take w off its inode, and give up the reference that it had, never the last: so the caller has
 * one, or the inode has a name that keeps it. */
static void take_off_locked(struct notify_watch *w)
{
    struct inode *i = w->inode;
    struct notify_watch **link = &i->watches;

    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    w->inode = NULL;
    if (!i->watches)
        __atomic_fetch_and(&i->notify, ~NOTIFY_SELF, __ATOMIC_RELEASE); /* notify_ended() */
}

static struct notify_watch *find_locked(const struct inode *i, const void *owner)
{
    struct notify_watch *w = i->watches;

    while (w && w->owner != owner)
        w = w->next;
    return w;
}

int notify_add(struct inode *i, struct notify_watch *w, enum notify_how how,
               int (*entered)(struct notify_watch *w, bool new))
{
    struct notify_watch *old;
    int r = mutex_lock_killable(mutex_of(i));

    if (r)
        return r;
    w->place = place_of(i);
    old = find_locked(i, w->owner);
    if (!old) {
        r = entered(w, true);
        if (r >= 0)
            put_on_locked(i, w);
    } else if (how == NOTIFY_NEW) {
        r = -EEXIST;
    } else {
        old->mask = how == NOTIFY_MERGE ? old->mask | w->mask : w->mask;
        r = entered(old, false);
    }
    mutex_unlock(mutex_of(i));
    return r;
}

/* Drop the reference that a watch had to i, to which the caller has one, too. */
static void let_go(struct inode *i)
{
    if (!i->fs->keeps)
        inode_unref(i);
}

/* The end of an inode waits for the mutex if it has watches. So without a reference the inode is
 * there until w is off, and not longer. */
bool notify_drop(struct notify_watch *w)
{
    struct inode *i, *held = NULL;

    mutex_lock(&mutexes[w->place]);
    i = w->inode;
    if (i) {
        held = i->fs->keeps ? NULL : i;
        take_off_locked(w);
        w->ended(w);
    }
    mutex_unlock(&mutexes[w->place]);
    if (held)
        inode_unref(held);
    return i != NULL;
}

/* ---- reports ---- */

/* Report e to the watches of i. How many references to i the watches gave up that ended with it. */
static unsigned report_locked(struct inode *i, const struct notify_event *e)
{
    struct notify_watch *w, *next;
    unsigned ended = 0;

    for (w = i->watches; w; w = next) {
        next = w->next;
        if (!(w->mask & e->mask & IN_ALL_EVENTS))
            continue;
        w->report(w, e);
        if (w->mask & IN_ONESHOT) {
            take_off_locked(w);
            w->ended(w);
            ended++;
        }
    }
    return ended;
}

/* Report to the watches of i, to which the caller has a reference. */
static void report(struct inode *i, const struct notify_event *e)
{
    unsigned ended;

    if (!(__atomic_load_n(&i->notify, __ATOMIC_RELAXED) & NOTIFY_SELF))
        return;
    mutex_lock(mutex_of(i));
    ended = report_locked(i, e);
    mutex_unlock(mutex_of(i));
    while (ended--)
        let_go(i);
}

static uint32_t with_type(const struct inode *i, uint32_t mask)
{
    return inode_is_dir(i) ? mask | IN_ISDIR : mask;
}

void notify_self(struct inode *i, uint32_t mask)
{
    struct notify_event e = {.mask = with_type(i, mask)};

    if (mask == IN_MOVE_SELF) /* as Linux */
        e.mask = mask;
    report(i, &e);
}

void notify_name(struct inode *dir, const struct fs_name *name, const struct inode *i,
                 uint32_t mask, uint32_t cookie)
{
    struct notify_event e = {
        .mask = with_type(i, mask), .cookie = cookie, .name = name->text, .len = name->len};

    report(dir, &e);
}

/* ---- what files report to their directory ---- */

/* The directory of the known name of i, with a reference, and that name. */
static int find_directory(struct inode *i, struct inode **dir, struct fs_entry *e)
{
    int err;

    if (!inode_is_dir(i))
        return i->ops->place_of ? i->ops->place_of(i, dir, e) : -ENOENT;
    if (i == i->fs->root)
        return -ENOENT;
    err = mutex_lock_shared_killable(&rename_mutex);
    if (err)
        return err;
    err = i->parent && i->ops->name_of ? i->ops->name_of(i, e) : -ENOENT;
    if (!err) {
        *dir = i->parent;
        inode_ref(*dir);
    }
    mutex_unlock_shared(&rename_mutex);
    return err;
}

/* Tell the directory of i. False: it has no watches, or is not known. */
static bool tell_directory(struct inode *i, uint32_t mask)
{
    struct notify_event to = {.mask = with_type(i, mask)};
    struct inode *dir;
    struct fs_entry e;
    bool watched;

    if (find_directory(i, &dir, &e))
        return false;
    watched = (__atomic_load_n(&dir->notify, __ATOMIC_RELAXED) & NOTIFY_SELF) != 0;
    if (watched) {
        to.name = e.text;
        to.len = e.len;
        report(dir, &to);
    }
    inode_unref(dir);
    return watched;
}

void notify_event(struct inode *i, uint32_t mask)
{
    uint32_t bits = __atomic_load_n(&i->notify, __ATOMIC_RELAXED);

    if ((bits & NOTIFY_PARENT) && !tell_directory(i, mask)) {
        __atomic_fetch_and(&i->notify, ~NOTIFY_PARENT, __ATOMIC_SEQ_CST);
        if (tell_directory(i, mask))
            __atomic_fetch_or(&i->notify, NOTIFY_PARENT, __ATOMIC_SEQ_CST);
    }
    if (bits & NOTIFY_SELF)
        notify_self(i, mask);
}

static void set_parent_bit(struct inode *i)
{
    if (!(__atomic_load_n(&i->notify, __ATOMIC_RELAXED) & NOTIFY_PARENT))
        __atomic_fetch_or(&i->notify, NOTIFY_PARENT, __ATOMIC_SEQ_CST);
}

void notify_entered(struct inode *dir, struct inode *i)
{
    if (__atomic_load_n(&dir->notify, __ATOMIC_RELAXED) & NOTIFY_SELF)
        set_parent_bit(i);
}

/* Set the bit in the next few files of dir, whose names come after *pos. 1: there are more. */
static int mark_some(struct inode *dir, uint64_t *pos)
{
    struct fs_name name;
    struct fs_entry e;
    struct inode *i;
    int err = mutex_lock_shared_killable(&dir->lock);

    if (err)
        return err;
    for (unsigned k = 0; !err && k < 16; k++) {
        err = dir->parent ? dir->ops->readdir(dir, *pos, &e) : -ENOENT;
        if (err)
            break;
        *pos = e.cookie;
        name = fs_name(e.text, e.len);
        err = dir->ops->lookup(dir, &name, &i);
        if (!err) {
            set_parent_bit(i);
            inode_unref(i); /* never the last: its name keeps it */
        }
    }
    mutex_unlock_shared(&dir->lock);
    return err ? err : 1;
}

int notify_children(struct inode *i)
{
    uint64_t pos = 2;
    int more = 1;

    if (!inode_is_dir(i) || !i->fs->keeps)
        return 0;
    while (more > 0) {
        more = mark_some(i, &pos);
        if (more > 0 && sched_loop_point())
            return -EINTR;
    }
    return more == -EINTR ? more : 0;
}

/* ---- the end of an inode ---- */

/* Report that i is gone, and take all watches off. */
static unsigned end_all(struct inode *i)
{
    struct notify_event e = {.mask = IN_DELETE_SELF};
    struct notify_watch *w;
    unsigned n = 0;

    mutex_lock(mutex_of(i));
    if (!__atomic_load_n(&i->nlink, __ATOMIC_RELAXED))
        n = report_locked(i, &e);
    for (; (w = i->watches) != NULL; n++) {
        take_off_locked(w);
        w->ended(w);
    }
    mutex_unlock(mutex_of(i));
    return n;
}

/* Who has taken the last watch off may not have released the mutex yet, but accesses i no more once
 * the bit is clear. */
void notify_ended(struct inode *i)
{
    if (__atomic_load_n(&i->notify, __ATOMIC_ACQUIRE) & NOTIFY_SELF)
        (void)end_all(i);
}

void notify_unlinked(struct inode *i)
{
    bool last = !__atomic_load_n(&i->nlink, __ATOMIC_RELAXED);

    if (!inode_is_dir(i))
        notify_self(i, IN_ATTRIB);
    if (last && !i->fs->keeps) /* watches keep it: it does not end before them */
        for (unsigned n = end_all(i); n; n--)
            let_go(i);
}
