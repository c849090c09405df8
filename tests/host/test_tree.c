// SOURCES: kernel/quota/account.c
// SOURCES: kernel/io/tree.c kernel/fs/memfs.c kernel/fs/inode.c kernel/fs/initrd.c
// SOURCES: kernel/fs/notify.c
// SOURCES: kernel/io/tree_change.c kernel/io/tree_path.c kernel/io/tree_rename.c
// SOURCES: kernel/fs/memfs_check.c kernel/fs/memfs_dir.c kernel/fs/memfs_file.c
// SOURCES: kernel/base/treap.c
// SOURCES: kernel/base/cpio.c
/*
 * The tree of names on the host: damaged archives, and random calls compared with a model. Files
 * have no contents here: the tests are about names and references.
 */
#include "kernel/io/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/initrd.h"
#include "kernel/fs/memfs_private.h"
#include "kernel/fs/name.h"
#include "tests/host/plain_objects.h"
#include "userland/lib/include/tap.h"

#define ALPHA_ELOOP 62 /* the host's number differs; other errors used here have the same */

static long paged_bytes, nonpaged_bytes, small; /* small: nonpaged bytes after the boot */
static bool no_memory;                          /* paged pool is exhausted */

void *pgd_alloc(size_t n)
{
    if (no_memory)
        return NULL;
    paged_bytes += (long)n;
    return malloc(n);
}

void *pgd_alloc_zeroed(size_t n)
{
    void *p = pgd_alloc(n);

    return p ? memset(p, 0, n) : NULL;
}

void pgd_free(void *p, size_t n)
{
    paged_bytes -= (long)n;
    free(p);
}

void *npp_alloc_zeroed(size_t n)
{
    nonpaged_bytes += (long)n;
    return calloc(1, n);
}

void npp_free(void *p, size_t n)
{
    nonpaged_bytes -= (long)n;
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

static const struct io_cred root = {.uid = 0};

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

/* Remove everything below dir. */
static void sweep(struct inode *dir, const char *path)
{
    struct fs_entry e;

    while (dir->ops->readdir(dir, 2, &e) == 0) {
        bool directory = (e.mode & S_IFMT) == S_IFDIR;
        struct inode *i;
        char sub[8192];

        snprintf(sub, sizeof(sub), "%s/%s", path, e.text);
        if (directory) {
            if (tree_lookup(&root, dir, e.text, false, &i))
                bail_out("%s is not there", sub);
            sweep(i, sub);
            inode_unref(i);
        }
        if (tree_unlink(&root, NULL, sub, directory))
            bail_out("%s cannot be removed", sub);
    }
}

static void empty(const char *what)
{
    memfs_validate(NULL, inode_root->fs);
    sweep(inode_root, "");
    is(nonpaged_bytes, small, "%s: only the root is left", what);
    is(paged_bytes, 0, "%s: and no byte of pool", what);
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
    initrd_boot(inode_root, a, n);
    ok(there("/bin/sh") && there("/abs") && there("a/b/c/d/e") && there("/link/sh"),
       "all valid entries exist");
    ok(!there("/up") && !there("/up2") && !there("/bin/through") && !there("/bin/double") &&
           !there("/fifo") && !there("/disk"),
       "no invalid entry exists");
    empty("an archive");
}

/* Archives with each byte changed, and cut at each length: everything that was created can be
   removed. */
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
        initrd_boot(inode_root, copy, n);
        copy[k] = a[k] == '0' ? '1' : '0';
        initrd_boot(inode_root, copy, n);
        initrd_boot(inode_root, a, k);
        sweep(inode_root, "");
    }
    empty("damaged archives");
}

/* Random calls; then everything can be removed, so no name and no reference was lost. */
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
    is(tree_lookup(&root, NULL, "/x", false, &i), 0, "the link itself exists");
    inode_unref(i);
    tree_create(&root, NULL, "/d", S_IFDIR, true, NULL);
    tree_create(&root, NULL, "/d/e", S_IFDIR, true, NULL);
    is(tree_rename(&root, NULL, "/d", NULL, "/d/e/f"), -EINVAL,
       "a directory cannot be moved below itself");
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
    is(tree_create(&(struct io_cred){.uid = 5, .gid = 5}, NULL, "/mine", S_IFREG, true, NULL),
       -EACCES, "calls without permission fail");
    empty("links");
}

#define MANY 5000

/* The name of number k; hash and length vary. */
static const char *many_name(int k)
{
    static char name[40];

    snprintf(name, sizeof(name), "/many/%.*s%d", k % 9, "--------", k);
    return name;
}

static bool is_there(int k)
{
    struct inode *i;
    int err = tree_lookup(&root, NULL, many_name(k), false, &i);

    if (!err)
        inode_unref(i);
    return !err;
}

/* A directory that grows and shrinks, with and without memory for a larger index. */
static void test_many(void)
{
    static bool there_now[MANY];
    struct inode *dir;
    int wrong = 0;
    long grown;

    srandom(12);
    tree_create(&root, NULL, "/many", S_IFDIR | 0755, true, &dir);
    for (int round = 0; round < 20; round++) {
        int share = round < 10 ? 9 : 1; /* creations in ten calls; the others remove */

        for (int n = 0; n < MANY; n++) {
            int k = (int)(random() % MANY);
            bool make = random() % 10 < share;
            int err = make ? tree_create(&root, NULL, many_name(k), S_IFREG, true, NULL)
                           : tree_unlink(&root, NULL, many_name(k), false);

            wrong += err != (make == there_now[k] ? (make ? -EEXIST : -ENOENT) : 0);
            there_now[k] = make;
        }
        memfs_validate(NULL, inode_root->fs);
    }
    for (int k = 0; k < MANY; k++)
        wrong += is_there(k) != there_now[k];
    is(wrong, 0, "a directory of thousands has what was made and not removed");
    for (int k = 0; k < MANY; k++)
        if (!there_now[k])
            tree_create(&root, NULL, many_name(k), S_IFREG, true, NULL);
    grown = paged_bytes;
    no_memory = true;
    is(tree_create(&root, NULL, "/many/one_more", S_IFREG, true, NULL), -ENOMEM,
       "without memory there is no new name");
    is(tree_rename(&root, NULL, many_name(1), NULL, "/many/renamed"), -ENOMEM,
       "nor can a name be changed");
    ok(is_there(1) && paged_bytes == grown, "and nothing has changed");
    for (int k = 10; k < MANY; k++) /* the index would shrink, but there is no memory */
        wrong += tree_unlink(&root, NULL, many_name(k), false) != 0;
    for (int k = 0; k < 10; k++)
        wrong += !is_there(k);
    no_memory = false;
    is(wrong, 0, "names can be removed without memory, and the others stay");
    inode_unref(dir);
    empty("thousands of names");
}

/* Reading a directory while it changes gives each name that stays once, and no name twice. */
static void test_position(void)
{
    struct inode *dir;
    struct fs_entry e;
    int seen[100] = {0}, wrong = 0, found = 0;
    uint64_t pos = 2;
    char from[300], to[32];

    tree_create(&root, NULL, "/many", S_IFDIR | 0755, true, &dir);
    for (int k = 0; k < 100; k++) {
        snprintf(from, sizeof(from), "/many/%d", k);
        tree_create(&root, NULL, from, S_IFREG, true, NULL);
    }
    while (dir->ops->readdir(dir, pos, &e) == 0) {
        int k = atoi(e.text);

        pos = e.cookie;
        seen[k]++;
        snprintf(from, sizeof(from), "/many/%s", e.text);
        snprintf(to, sizeof(to), "/many/%03d", k); /* 1 becomes 001, at the same position */
        if (k % 3 == 0) { /* remove the name at the position and the next one */
            tree_unlink(&root, NULL, from, false);
            snprintf(from, sizeof(from), "/many/%d", k + 1);
            tree_unlink(&root, NULL, from, false);
        } else {
            tree_rename(&root, NULL, from, NULL, to);
        }
    }
    for (int k = 0; k < 100; k++) {
        wrong += seen[k] != (k % 3 != 1);
        found += seen[k];
    }
    is(wrong, 0, "each name is given once, those that went before not at all: %d", found);
    inode_unref(dir);
    empty("a directory that changes while it is read");
}

/* A name of len bytes in heap memory of that size, `shift` bytes behind a multiple of 8: the byte
 * at `at` is not as the others. All names have one hash. */
static struct fs_name similar_name(char *memory, size_t shift, size_t len, size_t at)
{
    memset(memory + shift, 'm', len);
    if (at < len)
        memory[shift + at] = at % 2 ? 'a' : 'z';
    return name_with_hash(memory + shift, len, 1);
}

static bool same_name(const struct fs_name *a, const struct fs_name *b)
{
    return a->text == b->text && a->len == b->len && a->hash == b->hash && a->few == b->few;
}

/* A component is found in a path as it is where its length is known, whatever its length, its place
 * in a quadword, its end, and what is in front of it; the memory ends with the path. */
static void test_name_scan(void)
{
    enum { LONGEST = 40 };
    static const char *const ends[] = {"", "/", "/x", "//"};
    int wrong = 0;

    for (size_t len = 1; len <= LONGEST; len++)
        for (size_t shift = 0; shift < 16; shift++)
            for (size_t k = 0; k < 4; k++) {
                char *path = malloc(shift + len + strlen(ends[k]) + 1);
                struct fs_name scanned, known;

                memset(path, '/', shift);
                for (size_t i = 0; i < len; i++)
                    path[shift + i] = "\x01\x2E\x30\xAF\x80\xFF z"[(i + len) % 8];
                strcpy(path + shift + len, ends[k]);
                known = fs_name(path + shift, len);
                wrong += name_scan(&scanned, path + shift) != path + shift + len;
                wrong += !same_name(&scanned, &known);
                free(path);
            }
    is(wrong, 0, "a component of a path is the name of its bytes");
}

/* Hashes of names that differ in one byte differ, also in the bits by which a small directory finds
 * them, and with the key of the boot. */
static void test_name_hash(void)
{
    uint64_t secret = treap_secret;
    unsigned heads[MEMFS_HEADS] = {0}, most = 0, equal = 0;
    uint32_t before = fs_name("file000", 7).hash;
    char text[32];

    for (unsigned i = 0; i < 800; i++) {
        snprintf(text, sizeof(text), "%sfile%03u", i % 2 ? "" : "in a long name, ", i);
        heads[fs_name(text, strlen(text)).hash % MEMFS_HEADS]++;
    }
    for (unsigned k = 0; k < MEMFS_HEADS; k++)
        most = heads[k] > most ? heads[k] : most;
    ok(most < 150, "eight heads have at most %u of 800 names", most);
    for (unsigned i = 0; i < 100; i++) {
        treap_secret = treap_secret * 6364136223846793005u + 1;
        equal += fs_name("file000", 7).hash == before;
    }
    treap_secret = secret;
    ok(equal < 2, "the hash depends on the key");
}

/* Names of one hash, of every length and alignment, are told apart by each of their bytes. */
static void test_similar_names(void)
{
    enum { LONGEST = 20 };
    const struct fs_new what = {.mode = S_IFREG};
    struct inode *dir, *made[LONGEST + 1][LONGEST + 1], *i;
    int wrong = 0;

    tree_create(&root, NULL, "/similar", S_IFDIR | 0755, true, &dir);
    for (size_t len = 1; len <= LONGEST; len++)
        for (size_t at = 0; at <= len; at++) {
            struct fs_name name = similar_name((char[32]){0}, at % 8, len, at);

            if (dir->ops->create(dir, &name, &what, &made[len][at]))
                bail_out("a name of %zu bytes", len);
        }
    for (size_t len = 1; len <= LONGEST; len++)
        for (size_t at = 0; at <= len; at++)
            for (size_t shift = 0; shift < 8; shift++) {
                char *memory = malloc(shift + len);
                struct fs_name name = similar_name(memory, shift, len, at);

                if (dir->ops->lookup(dir, &name, &i) == 0) {
                    wrong += i != made[len][at];
                    inode_unref(i);
                } else {
                    wrong++;
                }
                free(memory);
            }
    is(wrong, 0, "names of one hash are told apart");
    for (size_t len = 1; len <= LONGEST; len++)
        for (size_t at = 0; at <= len; at++) {
            struct fs_name name = similar_name((char[32]){0}, 0, len, at);

            wrong += dir->ops->unlink(dir, &name, made[len][at]) != 0;
            inode_unref(made[len][at]);
        }
    is(wrong, 0, "and removed");
    inode_unref(dir);
    empty("names of one hash");
}

static void test_two_file_systems(void)
{
    struct fs other;
    struct inode *i;

    is(memfs_create(&other), 0, "another file system");
    tree_create(&root, NULL, "/f", S_IFREG, true, &i);
    is(tree_rename(&root, NULL, "/f", other.root, "g"), -EXDEV,
       "a file cannot be moved to another file system");
    is(tree_link(&root, NULL, "/f", other.root, "g"), -EXDEV, "or have names in both");
    is(tree_unlink(&root, NULL, "/f", false), 0, "a file");
    is(i->ops->link(inode_root, &(struct fs_name){"h", 1, 1, 'h'}, i), -ENOENT,
       "without a name cannot get one");
    inode_unref(i);
    inode_unref(other.root);
    empty("two file systems");
}

static struct inode *shortened;

static void make_shorter(void) { (void)memfs_resize(shortened, 100, false); }

/* A file of the archive becomes shorter while a page of it is filled: what lay behind its new end
   must not come with the page, where a later extension would show it. */
static void test_shorter(void)
{
    static char a[16384], data[9000];
    const char *page;
    size_t n;

    memset(data, 'x', sizeof(data) - 1);
    n = put(a, "long", 0100644, data);
    n += put(a + n, "TRAILER!!!", 0, "");
    initrd_boot(inode_root, a, n);
    ok(tree_lookup(&root, NULL, "/long", true, &shortened) == 0, "a file is in the archive");
    plain_meanwhile = make_shorter;
    page = plain_page_of(shortened->object);
    ok(page && page[99] == 'x' && page[100] == 0 && page[PAGE_SIZE - 1] == 0,
       "a page has nothing behind the end of a file that has become shorter meanwhile");
    inode_unref(shortened);
    empty("a file that becomes shorter");
}

int main(void)
{
    tree_boot();
    small = nonpaged_bytes;
    test_links();
    test_archive();
    test_shorter();
    test_damage();
    test_random();
    test_many();
    test_position();
    test_name_scan();
    test_name_hash();
    test_similar_names();
    test_two_file_systems();
    return tap_done();
}
