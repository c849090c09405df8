// SOURCES: kernel/io/tree.c kernel/io/initrd.c kernel/base/cpio.c kernel/base/string_extra.c
// TARGETS: kernel/io/initrd.c kernel/base/cpio.c
// RUNS: 10000
/*
 * The initrd's archive, from its bytes to the tree of names. The reader never looks beyond the
 * archive, whose copy has its exact length. What is in the tree afterwards is in the archive; no
 * name leads out of it; everything can be removed, and then not a byte of pool and no inode is
 * left.
 *
 * First byte of an input: bit 0: the rest is the archive; else it chooses entries that are well
 * formed, then bytes to bend; bit 1: allocations fail, the one that the next byte says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/cpio.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/sched/timer.h"
#include "mm/pool/pool.h"
#include "tests/fuzz/fuzz.h"

const struct file_ops regular_ops, directory_ops;
static int live; /* inodes */
static const struct io_cred root = {0, 0};

struct inode *inode_create(uint32_t mode, const struct io_cred *cred)
{
    struct inode *i = npp_alloc_zeroed(sizeof(*i));

    if (!i)
        return NULL;
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
    fuzz_check(i->refs, "a reference that was not there");
    if (--i->refs)
        return;
    if (i->target)
        pgd_free(i->target, i->target_bytes + 1);
    npp_free(i, sizeof(*i));
    live--;
}

int inode_access(struct inode *i, const struct io_cred *cred, unsigned mask)
{
    (void)i, (void)mask, (void)cred;
    return 0;
}

void inode_set_size_locked(struct inode *i, uint64_t size) { i->size = size; }
uint64_t clock_wall_ns(void) { return 0; }

/* ---- an archive made of choices ---- */

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
    to[n - 12 - 9] = '0', to[n - 12 - 8] = 'B'; /* its name's size; it stands before the checksum */
    while (in_more(in)) {
        unsigned at = in_u16(in) % (unsigned)n;

        to[at] = (char)in_u8(in);
    }
    return n;
}

/* ---- what came of it ---- */

static const char *bytes;
static size_t nbytes;

/* Is there an entry whose bytes are these? */
static bool in_archive(const uint8_t *p, uint64_t n)
{
    return n == 0 || ((const char *)p >= bytes && (const char *)p + n <= bytes + nbytes);
}

static unsigned depth;

static void sweep(struct inode *dir, const char *path)
{
    fuzz_check(++depth < 300, "directories without end");
    while (!list_empty(&dir->names)) {
        struct dir_name *d = list_first_entry(&dir->names, struct dir_name, link);
        struct inode *i = d->inode, *found;
        bool directory = (i->mode & S_IFMT) == S_IFDIR;
        char sub[8192];
        int err;

        fuzz_check(d->len >= 1 && !memchr(d->text, '/', d->len) && !memchr(d->text, 0, d->len),
                   "a name that is none");
        fuzz_check(!(d->len == 1 && d->text[0] == '.') &&
                       !(d->len == 2 && d->text[0] == '.' && d->text[1] == '.'),
                   "a name of dots");
        snprintf(sub, sizeof(sub), "%s/%.*s", path, d->len, d->text);
        if (directory)
            fuzz_check(i->parent == dir, "another parent");
        else
            fuzz_check(in_archive(i->backing, i->backing_bytes), "bytes from elsewhere");
        if (strlen(sub) < PATH_MAX) {
            fuzz_check(!tree_lookup(&root, NULL, sub, false, &found) && found == i,
                       "%s is not found", sub);
            inode_unref(found);
        }
        if (directory)
            sweep(i, sub);
        err = tree_unlink(&root, NULL, sub, directory);
        fuzz_check(!err, "%s does not go: %d", sub, err);
    }
    depth--;
}

/* Every entry is within the archive. */
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

    fuzz_begin();
    fuzz_pool_begin();
    if (how & 1) {
        nbytes = (size_t)(in.end - in.p);
        heap = malloc(nbytes + 1);
        memcpy(heap, in.p, nbytes);
        heap = realloc(heap, nbytes ? nbytes : 1);
    } else {
        nbytes = archive(&in, built);
        nbytes -= how & 4 ? fail % nbytes : 0; /* cut */
        heap = malloc(nbytes ? nbytes : 1);
        memcpy(heap, built, nbytes);
    }
    bytes = heap;
    tree_boot();
    walk();
    fuzz_pool_fail = how & 2 ? 1 + fail : 0;
    initrd_boot(heap, nbytes);
    fuzz_pool_fail = 0;
    sweep(inode_root, "");
    fuzz_check(live == 1 && inode_root->refs == 1, "%d inodes are left, the root has %u references",
               live, inode_root->refs);
    fuzz_check(fuzz_pool_bytes == (long)sizeof(struct inode), "%ld bytes of pool are left",
               fuzz_pool_bytes);
    inode_unref(inode_root);
    free(heap);
    return 0;
}
