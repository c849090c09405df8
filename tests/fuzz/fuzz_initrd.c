// SOURCES: kernel/quota/account.c
// SOURCES: kernel/io/tree.c kernel/fs/memfs.c kernel/fs/inode.c kernel/fs/initrd.c
// SOURCES: kernel/fs/notify.c
// SOURCES: kernel/io/tree_change.c kernel/io/tree_path.c kernel/io/tree_rename.c
// SOURCES: kernel/fs/memfs_check.c kernel/fs/memfs_dir.c kernel/fs/memfs_file.c
// SOURCES: kernel/base/treap.c
// SOURCES: kernel/base/cpio.c kernel/base/string_extra.c
// TARGETS: kernel/fs/initrd.c kernel/base/cpio.c
// RUNS: 4000
/*
 * The initrd's archive, from its bytes to the tree of names. The reader never reads beyond the
 * archive, which is copied to a block of its exact length. Everything that is in the tree
 * afterwards comes from the archive, no name leads out of the tree, and when everything has been
 * removed no pool and no inode is left allocated.
 *
 * The first byte of an input:
 *   bit 0  the rest is the archive; otherwise it chooses well-formed entries, then bytes to change
 *   bit 1  an allocation fails; the next byte says which
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/cpio.h"
#include "kernel/base/errno.h"
#include "kernel/fs/initrd.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/tree.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/plain_objects.h"

static const struct io_cred root = {.uid = 0};

/* ---- making an archive from the input ---- */

static const char *const parts[] = {"a", "b", "bin", "..", ".", "", "TRAILER!!!", "boot"};

static size_t entry(struct fuzz_in *in, char *to)
{
    static const unsigned modes[] = {0040755, 0100644, 0120777, 0100755, 0010644, 0};
    char name[600] = "", data[64];
    unsigned mode = modes[in_below(in, 6)], nparts = 1 + in_below(in, 5);
    size_t n = in_below(in, sizeof(data)), at;

    for (unsigned i = 0; i < nparts; i++) {
        unsigned which = in_u8(in);

        if (which & 0x80)
            memset(name + strlen(name), 'n', 100);
        strcat(name, parts[which & 7]);
        strcat(name, which & 8 ? "" : "/");
        if (strlen(name) > 480)
            break;
    }
    if (in_u8(in) & 1 && *name)
        name[strlen(name) - 1] = 0;
    for (size_t i = 0; i < n; i++)
        data[i] = (char)in_u8(in);
    at = (size_t)sprintf(to, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s", 1,
                         mode, 2, 3, 1, 4, n, 0, 0, 0, 0, strlen(name) + 1, 0, name);
    for (at++; at % 4;)
        to[at++] = 0;
    memcpy(to + at, data, n);
    for (at += n; at % 4;)
        to[at++] = 0;
    return at;
}

static size_t archive(struct fuzz_in *in, char *to)
{
    unsigned entries = 1 + in_below(in, 12);
    size_t n = 0;

    for (unsigned i = 0; i < entries; i++)
        n += entry(in, to + n);
    n += (size_t)sprintf(to + n, "070701%0104dTRAILER!!!", 0) + 1;
    to[n - 12 - 9] = '0', to[n - 12 - 8] = 'B'; /* its name's size, the field before the checksum */
    while (in_more(in)) {
        unsigned at = in_u16(in) % (unsigned)n;

        to[at] = (char)in_u8(in);
    }
    return n;
}

/* ---- checking the tree ---- */

static const char *bytes;
static size_t nbytes;

/* Is there an entry whose bytes are these? */
static bool in_archive(const uint8_t *p, uint64_t n)
{
    return n == 0 || ((const char *)p >= bytes && (const char *)p + n <= bytes + nbytes);
}

/* The file's first page must be bytes of the archive followed by zeros. */
static void check_bytes(struct inode *i)
{
    const char *page = i->object ? plain_page_of(i->object) : NULL;
    size_t n = MIN(i->size, PAGE_SIZE);

    if (!i->object || !i->size)
        return;
    fuzz_check(page && memmem(bytes, nbytes, page, n), "bytes from elsewhere");
    for (size_t k = n; k < PAGE_SIZE; k++)
        fuzz_check(page[k] == 0, "bytes behind the end");
}

static unsigned depth;

static void sweep(struct inode *dir, const char *path)
{
    struct fs_entry *e = malloc(sizeof(*e));

    fuzz_check(++depth < 300, "directories without end");
    while (dir->ops->readdir(dir, 2, e) == 0) {
        bool directory = (e->mode & S_IFMT) == S_IFDIR;
        struct inode *i, *found;
        char sub[8192];
        int err;

        fuzz_check(e->len >= 1 && strlen(e->text) == e->len && !strchr(e->text, '/'),
                   "a name that is none");
        fuzz_check(strcmp(e->text, ".") && strcmp(e->text, ".."), "a name of dots");
        fuzz_check(!tree_lookup(&root, dir, e->text, false, &i), "%s is not there", e->text);
        snprintf(sub, sizeof(sub), "%s/%s", path, e->text);
        if (directory)
            fuzz_check(i->parent == dir, "another parent");
        else
            check_bytes(i);
        if (strlen(sub) < PATH_MAX) {
            fuzz_check(!tree_lookup(&root, NULL, sub, false, &found) && found == i,
                       "%s is not found", sub);
            inode_unref(found);
        }
        if (directory)
            sweep(i, sub);
        inode_unref(i);
        err = tree_unlink(&root, NULL, sub, directory);
        fuzz_check(!err, "%s does not go: %d", sub, err);
    }
    free(e);
    depth--;
}

/* Read all entries; each must be within the archive. */
static unsigned walk(void)
{
    struct cpio c;
    struct cpio_entry e;
    unsigned entries = 0;

    cpio_open(&c, bytes, nbytes);
    while (cpio_next(&c, &e)) {
        entries++;
        fuzz_check(e.name >= bytes && e.name + strlen(e.name) < bytes + nbytes, "a name outside");
        fuzz_check(in_archive(e.data, e.nbytes), "data outside");
        fuzz_check((uintptr_t)((const char *)e.data - bytes) % 4 == 0 || e.nbytes == 0,
                   "unaligned");
    }
    fuzz_check(entries <= nbytes / 110, "more entries than headers");
    return entries;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    unsigned how = in_u8(&in), fail = in_u8(&in);
    char *heap, built[12288];
    long small;

    fuzz_begin();
    fuzz_pool_begin();
    if (how & 1) {
        nbytes = (size_t)(in.end - in.p);
        heap = malloc(nbytes + 1);
        memcpy(heap, in.p, nbytes);
        heap = realloc(heap, nbytes ? nbytes : 1);
    } else {
        nbytes = archive(&in, built);
        nbytes -= how & 4 ? fail % nbytes : 0; /* cut the archive short */
        heap = malloc(nbytes ? nbytes : 1);
        memcpy(heap, built, nbytes);
    }
    bytes = heap;
    tree_boot();
    small = fuzz_pool_bytes;
    walk();
    fuzz_pool_fail = how & 2 ? 1 + fail : 0;
    initrd_boot(inode_root, heap, nbytes);
    fuzz_pool_fail = 0;
    sweep(inode_root, "");
    fuzz_check(inode_root->refs == 1, "the root has %u references", inode_root->refs);
    fuzz_check(fuzz_pool_bytes == small, "%ld bytes of pool are left", fuzz_pool_bytes - small);
    inode_unref(inode_root);
    free(heap);
    return 0;
}
