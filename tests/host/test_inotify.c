// SOURCES: kernel/io/inotify.c kernel/fs/notify.c kernel/base/treap.c kernel/quota/account.c
/*
 * The end of a watch, while another CPU closes its instance: at each place where the thread that
 * ends the watch has released the lock of the instance, the other one closes it. It ends at once if
 * it finds no watch any more, and waits for the mutex of the inode otherwise. AddressSanitizer
 * reports what is used of an instance that is gone.
 */
#include "kernel/io/inotify.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/alpha/hw/usercopy.h"
#include "kernel/io/poll.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/wait.h"
#include "mm/pool/pool.h"
#include "userland/lib/include/tap.h"

#define WAIT_MS 200 /* for who closes, who ends at once or waits for the mutex */

static long blocks; /* atomic */

void *npp_alloc(size_t n)
{
    __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
    return malloc(n);
}

void *npp_alloc_zeroed(size_t n)
{
    void *p = npp_alloc(n);

    return memset(p, 0, n);
}

void npp_free(void *p, size_t n)
{
    (void)n;
    __atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
    free(p);
}

/* ---- the files around ---- */

struct mutex rename_mutex;

int copyout(vaddr_t ua, const void *src, size_t n)
{
    (void)ua, (void)src, (void)n;
    return -EFAULT;
}

int copyout_u32(vaddr_t ua, uint32_t v) { return copyout(ua, &v, sizeof(v)); }

void inode_end(struct inode *i) { bail_out("the last reference to %p is gone", (void *)i); }

struct fs_name fs_name(const char *text, size_t len)
{
    return (struct fs_name){.text = text, .len = (uint32_t)len};
}

int file_why_not(void) { return -ENFILE; }

struct file *file_alloc(const struct file_ops *ops, uint32_t flags)
{
    struct file *f = calloc(1, sizeof(*f));

    f->ops = ops;
    f->flags = flags;
    return f;
}

int anon_stat(struct file *f, struct file_stat *st)
{
    (void)f, (void)st;
    return 0;
}

int64_t anon_lseek(struct file *f, int64_t off, int whence)
{
    (void)f, (void)off, (void)whence;
    return 0;
}

void poll_source_init(struct poll_source *s) { memset(s, 0, sizeof(*s)); }
void poll_source_leave(struct poll_source *s) { (void)s; }
void poll_register(struct poll_source *s, struct poll_entry *e) { (void)s, (void)e; }
void poll_wake_some(struct poll_source *s, uint32_t events) { (void)s, (void)events; }

/* ---- the end of a watch, and of its instance ---- */

enum way { BY_EVENT, BY_REMOVAL, BY_END, WAYS };
static const char *const names[] = {"by its only event", "with the last name", "with its file"};

static struct file *instance;
static unsigned released, close_after; /* how often the lock was released; when to close */
static pthread_t closer;
static bool closed; /* atomic */

static void *close_it(void *arg)
{
    host_cpu_enter(1, NULL);
    instance->ops->close(instance);
    __atomic_store_n(&closed, true, __ATOMIC_RELEASE);
    return arg;
}

/* A spinlock was released: each of them is an instance's. */
static void between(const struct spinlock *l)
{
    if (host_cpu_id != 0 || strcmp(l->name, "inotify") != 0 || ++released != close_after)
        return;
    pthread_create(&closer, NULL, close_it, NULL);
    for (int ms = 0; ms < WAIT_MS && !__atomic_load_n(&closed, __ATOMIC_ACQUIRE); ms++)
        usleep(1000);
}

static void end_watch(struct inode *i, enum way way)
{
    if (way == BY_EVENT)
        notify_event(i, IN_MODIFY);
    else if (way == BY_REMOVAL)
        notify_unlinked(i);
    else
        notify_ended(i);
}

/* Close the instance after the lock was released for the k-th time. False: it was not as often.
 * *met: it was closed when the watch had not ended yet. */
static bool meet(enum way way, unsigned k, bool *met)
{
    static struct fs kept = {.keeps = true}, others;
    struct inode i = {
        .refs = 9, .mode = 0100644, .ino = 7, .fs = way == BY_REMOVAL ? &others : &kept};

    if (inotify_create_file(true, &instance) ||
        inotify_watch(instance, &i, IN_MODIFY | IN_ONESHOT, NOTIFY_REPLACE) != 1)
        bail_out("no instance, or no watch");
    closed = false;
    released = 0;
    close_after = k;
    host_unlocked = between;
    end_watch(&i, way);
    host_unlocked = NULL;
    *met = __atomic_load_n(&closed, __ATOMIC_ACQUIRE);
    if (released >= k)
        pthread_join(closer, NULL);
    else
        close_it(NULL);
    host_cpu_enter(0, NULL);
    free(instance);
    if (i.watches || i.refs != 9)
        bail_out("a watch or its reference to the file is left");
    return released >= k;
}

static long charged(enum quota_kind kind) { return (long)account_self()->count[kind].used; }

int main(void)
{
    bool met, ever;

    notify_boot();
    mutex_init(&rename_mutex, "rename", MUTEX_RENAME);
    for (enum way way = 0; way < WAYS; way++) {
        unsigned k = 1;

        for (ever = false; meet(way, k, &met); k++)
            ever = ever || met;
        ok(k > 2 && ever, "a watch ends %s, and its instance at any of %u times", names[way],
           k - 1);
    }
    is(blocks, 0, "no block is left");
    is(charged(QUOTA_INOTIFY) + charged(QUOTA_INOTIFY_WATCHES) + charged(QUOTA_NONPAGED), 0,
       "and nothing is charged");
    return tap_done();
}
