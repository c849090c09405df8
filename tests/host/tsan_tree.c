// SOURCES: kernel/quota/account.c
// SOURCES: kernel/io/tree.c kernel/fs/memfs.c kernel/fs/inode.c kernel/base/treap.c
// SOURCES: kernel/fs/notify.c
// SOURCES: kernel/io/tree_change.c kernel/io/tree_path.c kernel/io/tree_rename.c
// SOURCES: kernel/fs/memfs_check.c kernel/fs/memfs_dir.c kernel/fs/memfs_file.c
/*
 * The tree of names used by several threads at once, under ThreadSanitizer. First each thread has
 * names of its own, in directories that all threads move around, so the result of every call on
 * these names is known. Then all threads create, move and remove the same few names. At the end
 * each directory is where its path says, everything can be removed, and no memory is left.
 */
#include "kernel/io/tree.h"

#include <pthread.h>
#include <stdio.h>

#include "kernel/base/errno.h"
#include "kernel/fs/memfs.h"
#include "tests/host/plain_objects.h"
#include "userland/lib/include/tap.h"

#define THREADS 4
#define DIRS    6
#define OWN     8 /* names of a thread in each directory */
#define ROUNDS  6000

static const struct io_cred root = {.uid = 0};
static long bytes; /* atomic: of both pools */
static struct inode *dirs[DIRS];
static int moved, refused, shared[4]; /* atomic */

void *npp_alloc_zeroed(size_t n)
{
    __atomic_add_fetch(&bytes, (long)n, __ATOMIC_RELAXED);
    return calloc(1, n);
}

void *pgd_alloc(size_t n) { return npp_alloc_zeroed(n); }
void *pgd_alloc_zeroed(size_t n) { return npp_alloc_zeroed(n); }

void pgd_free(void *p, size_t n)
{
    __atomic_sub_fetch(&bytes, (long)n, __ATOMIC_RELAXED);
    free(p);
}

void npp_free(void *p, size_t n) { pgd_free(p, n); }

/* Under rename_mutex directories may be locked in any order, which ThreadSanitizer cannot know.
   tests/host/shim.c, like the kernel, checks that this mutex is held. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "detect_deadlocks=0"; }

struct thread_state {
    unsigned number, seed;
    struct inode *file[DIRS][OWN]; /* the inodes of these names, without a reference */
};

static unsigned below(struct thread_state *t, unsigned n)
{
    t->seed = t->seed * 1103515245 + 12345;
    return (t->seed >> 16) % n;
}

static void own_name(const struct thread_state *t, unsigned n, char *to)
{
    sprintf(to, "t%u_%u", t->number, n);
}

static void expect(int err, int expected, const char *call, const char *name)
{
    if (err != expected)
        bail_out("%s %s: %d, not %d", call, name, err, expected);
}

/* Move a directory into another one, perhaps below itself; others may have moved it meanwhile. */
static void move_directory(struct thread_state *t)
{
    unsigned k = below(t, DIRS), to = below(t, DIRS + 1);
    char path[512], name[8];
    int err;

    if (tree_path(dirs[k], path, sizeof(path)) < 0)
        bail_out("directory %u has no path", k);
    sprintf(name, "d%u", k);
    err = tree_rename(&root, NULL, path, to == DIRS ? NULL : dirs[to], name);
    if (err && err != -ENOENT && err != -EINVAL)
        bail_out("rename of %s to directory %u: %d", path, to, err);
    __atomic_add_fetch(err ? &refused : &moved, 1, __ATOMIC_RELAXED);
}

static void own_step(struct thread_state *t)
{
    unsigned d = below(t, DIRS), d2 = below(t, DIRS), n = below(t, OWN), n2 = below(t, OWN);
    struct inode **at = &t->file[d][n], **to = &t->file[d2][n2], *i = NULL;
    char name[32], name2[32];

    own_name(t, n, name);
    own_name(t, n2, name2);
    switch (below(t, 6)) {
    case 0:
        expect(tree_create(&root, dirs[d], name, S_IFREG | 0644, true, &i), *at ? -EEXIST : 0,
               "create", name);
        if (i) {
            *at = i;
            inode_unref(i);
        }
        break;
    case 1:
        expect(tree_unlink(&root, dirs[d], name, false), *at ? 0 : -ENOENT, "unlink", name);
        *at = NULL;
        break;
    case 2:
    case 3:
        expect(tree_rename(&root, dirs[d], name, dirs[d2], name2), *at ? 0 : -ENOENT, "rename",
               name);
        if (*at && *at != *to) {
            *to = *at;
            *at = NULL;
        }
        break;
    case 4:
        expect(tree_lookup(&root, dirs[d], name, false, &i), *at ? 0 : -ENOENT, "lookup", name);
        if (i != *at)
            bail_out("%s is another file", name);
        if (i)
            inode_unref(i);
        break;
    default:
        move_directory(t);
    }
}

static void *own_names(void *arg)
{
    struct thread_state *t = arg;

    for (int k = 0; k < ROUNDS; k++)
        own_step(t);
    return NULL;
}

static void some_path(struct thread_state *t, char *to)
{
    static const char *const parts[] = {"a", "b", "c", "..", "link"};

    *to = '\0';
    for (unsigned n = 1 + below(t, 3); n; n--)
        strcat(strcat(to, "/"), parts[below(t, 5)]);
    if (below(t, 8) == 0)
        strcat(to, "/");
}

static void *same_names(void *arg)
{
    struct thread_state *t = arg;
    struct fs_entry e;

    for (int k = 0; k < ROUNDS; k++) {
        char p[2][64], path[512];
        struct inode *i;
        unsigned what = below(t, 9);
        int err;

        some_path(t, p[0]);
        some_path(t, p[1]);
        switch (what) {
        case 0:
        case 1:
            err = tree_create(&root, NULL, p[0], what ? S_IFREG | 0644 : S_IFDIR | 0755, true,
                              NULL);
            break;
        case 2:
            err = tree_unlink(&root, NULL, p[0], below(t, 2));
            break;
        case 3:
        case 4:
            err = tree_rename(&root, NULL, p[0], NULL, p[1]);
            break;
        case 5:
            err = tree_link(&root, NULL, p[0], NULL, p[1]);
            break;
        case 6:
            err = tree_symlink(&root, NULL, p[0], p[1]);
            break;
        default:
            err = tree_lookup(&root, NULL, p[0], below(t, 2), &i);
            if (err)
                break;
            if (inode_is_dir(i)) {
                uint64_t pos = 2;
                int gone;

                do {
                    mutex_lock_shared(&i->lock);
                    gone = i->ops->readdir(i, pos, &e);
                    mutex_unlock_shared(&i->lock);
                    if (!gone && e.cookie <= pos)
                        bail_out("a name comes twice");
                    pos = e.cookie;
                } while (!gone);
                tree_path(i, path, sizeof(path));
            }
            inode_unref(i);
        }
        if (!err)
            __atomic_add_fetch(&shared[what < 2    ? 0
                                       : what == 2 ? 1
                                       : what < 5  ? 2
                                                   : 3],
                               1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Create and remove a directory, while others create files in it. */
static void *into_the_removed(void *arg)
{
    const struct thread_state *t = arg;

    for (int k = 0; k < ROUNDS; k++) {
        if (t->number == 0) {
            tree_create(&root, NULL, "/r", S_IFDIR | 0755, true, NULL);
            tree_unlink(&root, NULL, "/r", true);
        } else {
            tree_create(&root, NULL, "/r/x", S_IFREG | 0644, true, NULL);
            tree_unlink(&root, NULL, "/r/x", false);
        }
    }
    return NULL;
}

static void run(void *(*fn)(void *), struct thread_state *states)
{
    pthread_t threads[THREADS];

    for (unsigned k = 0; k < THREADS; k++)
        pthread_create(&threads[k], NULL, fn, &states[k]);
    for (unsigned k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    memfs_validate(NULL, inode_root->fs);
}

static void sweep(struct inode *dir)
{
    struct fs_entry e;
    struct inode *i;

    while (dir->ops->readdir(dir, 2, &e) == 0) {
        if ((e.mode & S_IFMT) == S_IFDIR) {
            expect(tree_lookup(&root, dir, e.text, false, &i), 0, "lookup", e.text);
            sweep(i);
            inode_unref(i);
        }
        expect(tree_unlink(&root, dir, e.text, (e.mode & S_IFMT) == S_IFDIR), 0, "unlink", e.text);
    }
}

int main(void)
{
    static struct thread_state states[THREADS];
    int wrong = 0;
    long small;
    char path[512];

    tree_boot();
    small = bytes;
    for (unsigned k = 0; k < THREADS; k++)
        states[k] = (struct thread_state){.number = k, .seed = k + 1};
    for (unsigned k = 0; k < DIRS; k++) {
        sprintf(path, "/d%u", k);
        tree_create(&root, NULL, path, S_IFDIR | 0755, true, &dirs[k]);
    }
    run(own_names, states);
    ok(moved > 100 && refused > 100, "%d moves of directories, %d refused", moved, refused);
    for (unsigned k = 0; k < DIRS; k++) {
        struct inode *i = NULL;
        uint32_t below_it = 0;

        wrong += tree_path(dirs[k], path, sizeof(path)) < 0 ||
                 tree_lookup(&root, NULL, path, false, &i) != 0 || i != dirs[k];
        if (i)
            inode_unref(i);
        for (unsigned n = 0; n < DIRS; n++)
            below_it += dirs[n]->parent == dirs[k];
        wrong += dirs[k]->nlink != 2 + below_it;
        for (unsigned t = 0; t < THREADS; t++)
            for (unsigned n = 0; n < OWN; n++) {
                struct inode *file = NULL;

                own_name(&states[t], n, path);
                if (!tree_lookup(&root, dirs[k], path, false, &file))
                    inode_unref(file);
                wrong += file != states[t].file[k][n];
            }
    }
    is(wrong, 0, "every directory is where its path says, every name where its thread left it");
    for (unsigned k = 0; k < DIRS; k++)
        inode_unref(dirs[k]);
    sweep(inode_root);
    is(bytes, small, "no memory of them is left");
    run(into_the_removed, states);
    sweep(inode_root);
    is(bytes, small, "a directory that was removed has no file");
    run(same_names, states);
    ok(shared[0] > 100 && shared[1] > 100 && shared[2] > 100 && shared[3] > 100,
       "the same names: %d made, %d removed, %d moved, %d others", shared[0], shared[1], shared[2],
       shared[3]);
    sweep(inode_root);
    is(bytes, small, "no memory of these is left either");
    is(inode_root->nlink, 2, "the root has its two links");
    return tap_done();
}
