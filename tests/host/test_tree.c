// SOURCES: kernel/io/tree.c kernel/io/initrd.c kernel/base/cpio.c
/*
 * The tree of names on the host: hostile archives, and names against a model of what is there.
 * Inodes are made here, without contents: this is about names and references.
 */
#include "kernel/io/inode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"
#include "userland/lib/include/tap.h"

#define ALPHA_ELOOP 62 /* the host numbers it otherwise; the others here are the same */

const struct file_ops regular_ops, directory_ops;
static int live; /* inodes */
static long pool_bytes;

void *pgd_alloc(size_t n)
{
    pool_bytes += (long)n;
    return malloc(n);
}

void pgd_free(void *p, size_t n)
{
    pool_bytes -= (long)n;
    free(p);
}

size_t str_copy(char *dst, const char *src, size_t size)
{
    size_t n = strlen(src);

    if (size) {
        size_t part = n < size ? n : size - 1;

        memcpy(dst, src, part);
        dst[part] = '\0';
    }
    return n;
}

struct inode *inode_create(uint32_t mode, const struct io_cred *cred)
{
    struct inode *i = calloc(1, sizeof(*i));

    i->refs = 1;
    i->mode = mode;
    i->uid = cred->uid;
    i->gid = cred->gid;
    list_init(&i->names);
    live++;
    return i;
}

void inode_unref(struct inode *i)
{
    if (--i->refs)
        return;
    if (i->target)
        pgd_free(i->target, i->target_bytes + 1);
    free(i);
    live--;
}

int inode_access(struct inode *i, const struct io_cred *cred, unsigned mask)
{
    (void)i, (void)mask;
    return cred->uid ? -EACCES : 0;
}

void inode_set_size_locked(struct inode *i, uint64_t size) { i->size = size; }

uint64_t clock_wall_ns(void) { return 0; }

static const struct io_cred root = {0, 0};

static size_t put(char *to, const char *name, unsigned mode, const char *data)
{
    size_t n = (size_t)sprintf(to, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s",
                               1, mode, 0, 0, 1, 4, strlen(data), 0, 0, 0, 0, strlen(name) + 1, 0,
                               name);

    for (n++; n % 4;)
        to[n++] = 0;
    memcpy(to + n, data, strlen(data));
    for (n += strlen(data); n % 4;)
        to[n++] = 0;
    return n;
}

static bool there(const char *path)
{
    struct inode *i;

    if (tree_lookup(&root, NULL, path, true, &i))
        return false;
    inode_unref(i);
    return true;
}

/* Everything under dir goes; then only the root is left. */
static void sweep(struct inode *dir, const char *path)
{
    while (!list_empty(&dir->names)) {
        struct dir_name *d = list_first_entry(&dir->names, struct dir_name, link);
        bool directory = (d->inode->mode & S_IFMT) == S_IFDIR;
        char sub[8192];

        snprintf(sub, sizeof(sub), "%s/%.*s", path, d->len, d->text);
        if (directory)
            sweep(d->inode, sub);
        if (tree_unlink(&root, NULL, sub, directory))
            bail_out("%s does not go", sub);
    }
}

static void empty(const char *what)
{
    sweep(inode_root, "");
    is(live, 1, "%s: only the root is left", what);
    is(pool_bytes, 0, "%s: and no byte of pool", what);
    is(inode_root->nlink, 2, "%s: with its two links", what);
}

static void test_archive(void)
{
    static char a[16384];
    size_t n = 0;
    char longest[300];

    memset(longest, 'n', sizeof(longest));
    longest[299] = '\0';
    n += put(a + n, ".", 040755, "");
    n += put(a + n, "bin/sh", 0100755, "shell");
    n += put(a + n, "bin/sh", 0100755, "another");
    n += put(a + n, "bin/sh/below", 0100755, "x");
    n += put(a + n, "../up", 0100755, "x");
    n += put(a + n, "bin/../../up2", 0100755, "x");
    n += put(a + n, "bin//double", 0100755, "x");
    n += put(a + n, "/abs", 0100644, "x");
    n += put(a + n, "link", 0120777, "/bin");
    n += put(a + n, "link/through", 0100755, "x");
    n += put(a + n, longest, 0100755, "x");
    n += put(a + n, "fifo", 0010644, "");
    n += put(a + n, "disk", 0060644, "");
    n += put(a + n, "a/b/c/d/e", 0100644, "deep");
    n += put(a + n, "TRAILER!!!", 0, "");
    initrd_boot(a, n);
    ok(there("/bin/sh") && there("/abs") && there("a/b/c/d/e") && there("/link/sh"),
       "what can be is there");
    ok(!there("/up") && !there("/up2") && !there("/bin/through") && !there("/bin/double") &&
           !there("/fifo") && !there("/disk"),
       "what cannot be is not");
    empty("an archive");
}

/* Every byte of an archive changed, and every length: nothing breaks, and all of it can be removed.
 */
static void test_damage(void)
{
    static char a[4096], copy[4096];
    size_t n = 0;

    n += put(a + n, "bin", 040755, "");
    n += put(a + n, "bin/sh", 0100755, "shell");
    n += put(a + n, "lib", 0120777, "bin");
    n += put(a + n, "TRAILER!!!", 0, "");
    for (size_t k = 0; k < n; k++) {
        memcpy(copy, a, n);
        copy[k] = (char)~copy[k];
        initrd_boot(copy, n);
        copy[k] = a[k] == '0' ? '1' : '0';
        initrd_boot(copy, n);
        initrd_boot(a, k);
        sweep(inode_root, "");
    }
    empty("damaged archives");
}

/* Random calls; afterwards all can be removed, so no name and no reference was lost. */
static void test_random(void)
{
    static const char *const parts[] = {"a", "b", "c", "..", ".", "a/", "//b", "link"};
    int done[7] = {0};

    srandom(11);
    diag("seed 11");
    for (int round = 0; round < 300000; round++) {
        char p[2][64] = {"/", "/"};
        struct inode *i;
        int what = (int)(random() % 7), err;

        for (int k = 0; k < 2; k++)
            for (int n = 1 + (int)(random() % 4); n; n--)
                strcat(strcat(p[k], parts[random() % 8]), "/");
        for (int k = 0; k < 2; k++)
            if (random() % 4)
                p[k][strlen(p[k]) - 1] = '\0';
        switch (what) {
        case 0:
            err = tree_create(&root, NULL, p[0], S_IFDIR | 0755, true, NULL);
            break;
        case 1:
            err = tree_create(&root, NULL, p[0], S_IFREG | 0644, random() % 2, &i);
            if (!err)
                inode_unref(i);
            break;
        case 2:
            err = tree_unlink(&root, NULL, p[0], random() % 2);
            break;
        case 3:
            err = tree_rename(&root, NULL, p[0], NULL, p[1]);
            break;
        case 4:
            err = tree_link(&root, NULL, p[0], NULL, p[1]);
            break;
        case 5:
            err = tree_symlink(&root, NULL, p[0], p[1]);
            break;
        default:
            err = tree_lookup(&root, NULL, p[0], random() % 2, &i);
            if (!err) {
                char path[256];

                if ((i->mode & S_IFMT) == S_IFDIR && tree_path(i, path, sizeof(path)) > 0 &&
                    !there(path))
                    bail_out("%s: path %s", p[0], path);
                inode_unref(i);
            }
        }
        done[what] += !err;
    }
    for (int k = 0; k < 7; k++)
        ok(done[k] > 100, "operation %d succeeded %d times", k, done[k]);
    empty("random calls");
}

static void test_links(void)
{
    struct inode *i, *up;
    char path[64];

    tree_symlink(&root, NULL, "/x", "/y");
    tree_symlink(&root, NULL, "/y", "x");
    is(tree_lookup(&root, NULL, "/x", true, &i), -ALPHA_ELOOP, "a circle of links");
    is(tree_create(&root, NULL, "/x", S_IFREG, false, &i), -ALPHA_ELOOP,
       "also when something is made");
    is(tree_lookup(&root, NULL, "/x", false, &i), 0, "is there itself");
    inode_unref(i);
    tree_create(&root, NULL, "/d", S_IFDIR, true, NULL);
    tree_create(&root, NULL, "/d/e", S_IFDIR, true, NULL);
    is(tree_rename(&root, NULL, "/d", NULL, "/d/e/f"), -EINVAL, "no directory goes below itself");
    is(tree_lookup(&root, NULL, "/d/e", true, &i), 0, "a directory");
    is(tree_unlink(&root, NULL, "/d/e", true), 0, "that is removed while it is used");
    is(tree_path(i, path, sizeof(path)), -ENOENT, "has no path");
    is(tree_create(&root, i, "new", S_IFREG, true, NULL), -ENOENT, "takes no name");
    tree_create(&root, NULL, "/f", S_IFREG, true, &up);
    inode_unref(up);
    tree_symlink(&root, NULL, "/to_f", "f");
    tree_symlink(&root, NULL, "/to_none", "none");
    is(tree_lookup(&root, NULL, "/to_f/", true, &up), -ENOTDIR, "a slash behind a link to a file");
    is(tree_create(&root, NULL, "/to_none/", S_IFREG, false, &up), -EISDIR, "or to nothing");
    is(tree_lookup(&root, i, "..", true, &up), -ENOENT, "and leads nowhere");
    inode_unref(i);
    is(tree_unlink(&root, NULL, "/", true), -EBUSY, "the root stays");
    is(tree_unlink(&root, NULL, "/d/.", true), -EINVAL, "a dot is no name");
    is(tree_create(&(struct io_cred){5, 5}, NULL, "/mine", S_IFREG, true, NULL), -EACCES,
       "who may not, may not");
    empty("links");
}

int main(void)
{
    tree_boot();
    test_links();
    test_archive();
    test_damage();
    test_random();
    return tap_done();
}
