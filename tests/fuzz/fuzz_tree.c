// SOURCES: kernel/quota/account.c
// SOURCES: kernel/io/tree.c kernel/io/regular.c kernel/io/file.c kernel/io/directory.c
// SOURCES: kernel/io/tree_change.c kernel/io/tree_path.c kernel/io/tree_rename.c
// SOURCES: kernel/fs/inode.c kernel/fs/notify.c kernel/fs/memfs.c
// SOURCES: kernel/fs/memfs_check.c kernel/fs/memfs_dir.c kernel/fs/memfs_file.c
// SOURCES: kernel/base/span.c
// SOURCES: mm/pt/pt.c mm/pt/gh.c mm/pt/pt_system.c mm/pt/shootdown.c
// SOURCES: mm/space/aspace.c mm/space/aspace_tree.c
// SOURCES: mm/space/fault.c mm/space/fork.c
// SOURCES: mm/space/anon.c mm/object/object.c mm/object/object_index.c
// SOURCES: mm/object/mappings.c kernel/base/treap.c
// SOURCES: mm/object/pager.c mm/object/rmap.c
// SOURCES: mm/space/object_fault.c kernel/base/string_extra.c
// TARGETS: kernel/io/tree.c kernel/io/regular.c kernel/io/file.c kernel/io/directory.c
// TARGETS: kernel/io/tree_change.c kernel/io/tree_path.c kernel/io/tree_rename.c
// TARGETS: kernel/fs/inode.c kernel/fs/memfs.c
// TARGETS: kernel/fs/memfs_check.c kernel/fs/memfs_dir.c kernel/fs/memfs_file.c
// RUNS: 1500
// SOURCES: mm/pagefile/pagefile.c mm/space/page_in.c mm/object/object_paging.c
/*
 * Files and directories compared with tree_model.h. The input is read as calls by several users,
 * with paths of a few names, links and dots, absolute or relative to directories that may have been
 * removed; reads and writes near the ends of pages and of the longest file; user memory that ends
 * in the middle of a buffer; allocations that fail. Every status must be that of the model. The
 * whole tree is compared after every few calls; at the end everything is removed and nothing may be
 * left.
 */
#include "mm/object/pager.h"
#include "mm/pt/pt_system.h"
#include "tests/host/vm.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/epoll.h"
#include "kernel/io/lock.h"
#include "kernel/sched/timer.h"
#include "mm/phys/fluid.h"
#include "tests/fuzz/tree_model.h"

int page_alloc_contig(uint64_t npages, uint64_t align, unsigned flags, enum page_type type,
                      unsigned rad, pfn_t *first)
{
    (void)flags, (void)type, (void)rad;
    return vm_fails() ? -ENOMEM : vm_page_stretch(npages, align, first);
}

#define USER_BASE  0x10000ul
#define USER_BYTES 24576u
#define HELD       2

static uint8_t *user; /* on the heap: not reset by fuzz_begin() */
static struct node *held[HELD];
static struct {
    struct file *file;
    struct node *node;
    int64_t pos;
} open_file;
static const struct io_cred users[] = {{.uid = 0}, {.uid = 5, .gid = 5}, {.uid = 6, .gid = 5}};
static long small; /* bytes of nonpaged pool after the boot */

uint64_t clock_wall_ns(void) { return 0; }

/* What statfs shows. */
uint64_t fluid_count(void) { return VM_PAGES; }
uint64_t fluid_minimum(void) { return 0; }
void page_stats(struct page_stats *s) { *s = (struct page_stats){0}; }

/* Nobody locks files. */
void lock_release(struct inode *i, const void *owner) { (void)i, (void)owner; }

/* There are no devices and no FIFOs here. */
const struct file_ops fifo_ops, disk_ops;
const struct file_ops *device_ops(uint32_t rdev)
{
    (void)rdev;
    return NULL;
}

/* Nor is any file watched. */
void epoll_file_ends(struct file *f)
{
    (void)f;
    fuzz_fail("a file that nobody can watch is watched");
}

/* How many of n bytes at ua can be accessed before a fault. */
static size_t valid(vaddr_t ua, size_t n)
{
    return ua < USER_BASE || ua >= USER_BASE + USER_BYTES ? 0 : MIN(n, USER_BASE + USER_BYTES - ua);
}

int copyin(void *dst, vaddr_t ua, size_t n)
{
    memcpy(dst, user + (ua - USER_BASE), valid(ua, n));
    return valid(ua, n) == n ? 0 : -EFAULT;
}

int copyout(vaddr_t ua, const void *src, size_t n)
{
    memcpy(user + (ua - USER_BASE), src, valid(ua, n));
    return valid(ua, n) == n ? 0 : -EFAULT;
}

static struct path in_path(struct fuzz_in *in)
{
    unsigned how = in_u8(in);
    struct path p = {.absolute = how & 1, .slash = (how & 6) == 6, .n = (how >> 3) % (COMPS + 1)};

    if (p.n == 0 && !p.absolute)
        p.n = 1;
    for (unsigned i = 0; i < p.n; i++) {
        unsigned c = in_u8(in);

        p.comp[i] = (uint8_t)(c & 0xC0 ? c % 4 : c % NAMES); /* mostly the short ones */
    }
    if (p.n == 0)
        p.slash = false; /* "/" */
    return p;
}

static struct inode *real_of(struct node *n) { return n ? n->real : NULL; }

/* Compare the result err of a call with the model's. True: the call has had its effect. */
static bool agree(const char *call, const struct path *p, int err, int expected)
{
    char text[4096];

    path_text(p, text);
    if (fuzz_pool_failed && err == -ENOMEM)
        return false;
    /* A failed allocation need not fail the call: a directory works with a smaller index. */
    fuzz_check((fuzz_pool_failed && err) || err == expected, "%s %s: %d, not %d", call, text, err,
               expected);
    return err == 0;
}

/* ---- names ---- */

static void create(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                   const struct path *p, const char *text)
{
    static const uint32_t modes[] = {0755, 0777, 01777, 0700, 0, 0644};
    unsigned how = in_u8(in);
    uint32_t type = how & 1 ? S_IFREG : S_IFDIR, mode = type | modes[(how >> 2) % 6];
    bool excl = type == S_IFDIR || (how & 2);
    struct inode *i = NULL;
    struct place w;
    int expected = m_may_enter(cred, dir, p, type, excl, -EISDIR, &w), err;
    bool made = !expected && !w.node;

    if (made && (!node_room() || w.dir->nentries == ENTRIES))
        return;
    err = tree_create(cred, real_of(dir), text, mode, excl, &i);
    if (!agree("create", p, err, expected))
        return;
    if (made) {
        struct node *n = node_new(mode, cred);

        n->real = i;
        enter(w.dir, (unsigned)w.name, n);
    } else {
        fuzz_check(i == w.node->real, "create %s: another inode", text);
    }
    inode_unref(i);
}

static void make_link(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                      const struct path *p, const char *text)
{
    struct path target = in_path(in);
    char to[4096];
    struct place w;
    int expected = m_may_enter(cred, dir, p, S_IFLNK, true, -ENOENT, &w), err;

    if (!expected && (!node_room() || w.dir->nentries == ENTRIES))
        return;
    path_text(&target, to);
    err = tree_symlink(cred, real_of(dir), text, to);
    if (agree("symlink", p, err, expected)) {
        struct node *n = node_new(S_IFLNK | 0777, cred);
        struct inode *i;

        n->target = target;
        enter(w.dir, (unsigned)w.name, n);
        err = tree_lookup(&users[0], w.dir->real, names[w.name], false, &i);
        fuzz_check(!err, "the new link is not there: %d", err);
        n->real = i;
        inode_unref(i);
    }
}

/* A hard link to a file of another user: only to a regular one that cred may read and write, and
 * that gives nobody other rights when it is executed. */
static bool m_may_link(const struct io_cred *cred, const struct node *n)
{
    bool gives_group = (n->mode & S_ISGID) && (n->mode & 010);

    if (n->type == S_IFDIR)
        return false;
    if (cred->uid == 0 || cred->uid == n->uid)
        return true;
    return n->type == S_IFREG && !(n->mode & S_ISUID) && !gives_group && !m_access(n, cred, 6);
}

static void hard_link(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                      const struct path *p, const char *text)
{
    struct path to = in_path(in);
    char new[4096];
    struct place from, w = {0};
    int expected = m_walk(cred, dir, p, false, &from), err;

    if (!expected && !from.node)
        expected = -ENOENT;
    if (!expected && !m_may_link(cred, from.node))
        expected = -EPERM;
    if (!expected)
        expected = m_may_enter(cred, held[1], &to, from.node->type, true, -ENOENT, &w);
    if (!expected && w.dir->nentries == ENTRIES)
        return;
    path_text(&to, new);
    err = tree_link(cred, real_of(dir), text, real_of(held[1]), new);
    if (agree("link", p, err, expected))
        enter(w.dir, (unsigned)w.name, from.node);
}

static void unlink_one(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                       const struct path *p, const char *text)
{
    bool directory = in_u8(in) & 1;
    struct place w;
    int expected = m_may_unlink(cred, dir, p, directory, &w);
    int err = tree_unlink(cred, real_of(dir), text, directory);

    if (agree("unlink", p, err, expected)) {
        take_out(w.dir, (unsigned)w.name);
        node_gone(w.node);
    }
}

static void rename_one(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                       const struct path *p, const char *text)
{
    struct path to = in_path(in);
    struct place f, t;
    char new[4096];
    int expected = m_may_rename(cred, dir, p, held[1], &to, &f, &t), err;

    if (!expected && t.dir->nentries == ENTRIES)
        return;
    path_text(&to, new);
    err = tree_rename(cred, real_of(dir), text, real_of(held[1]), new);
    if (!agree("rename", p, err, expected == 1 ? 0 : expected) || expected == 1)
        return;
    if (t.node) {
        take_out(t.dir, (unsigned)t.name);
        node_gone(t.node);
    }
    take_out(f.dir, (unsigned)f.name);
    enter(t.dir, (unsigned)t.name, f.node);
}

static void look(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                 const struct path *p, const char *text)
{
    bool follow = in_u8(in) & 1, keep = in_u8(in) & 1;
    unsigned slot = in_below(in, HELD);
    struct inode *i;
    struct place w;
    int expected = m_walk(cred, dir, p, follow, &w);
    int err = tree_lookup(cred, real_of(dir), text, follow, &i);

    if (!agree("lookup", p, err, !expected && !w.node ? -ENOENT : expected))
        return;
    fuzz_check(i == w.node->real, "%s names another inode", text);
    if (keep && w.node->type == S_IFDIR) { /* it becomes a working directory */
        if (held[slot]) {
            held[slot]->held--;
            inode_unref(held[slot]->real);
            node_gone(held[slot]);
        }
        held[slot] = w.node;
        w.node->held++;
    } else {
        inode_unref(i);
    }
}

/* ---- contents ---- */

static void close_it(void)
{
    if (!open_file.file)
        return;
    file_unref(open_file.file);
    open_file.node->held--;
    node_gone(open_file.node);
    open_file.file = NULL;
}

static void open_it(struct fuzz_in *in, const struct io_cred *cred, struct node *dir,
                    const struct path *p, const char *text)
{
    static const uint32_t extras[] = {0,           O_CREAT,  O_CREAT | O_EXCL, O_TRUNC,
                                      O_DIRECTORY, O_APPEND, O_NOFOLLOW,       O_CREAT | O_TRUNC};
    uint32_t flags = in_below(in, 4) | extras[in_below(in, 8)];
    bool creat = flags & O_CREAT, excl = creat && (flags & O_EXCL), made = false, created;
    unsigned access = (flags & O_ACCMODE) == O_RDONLY ? 4 : (flags & O_ACCMODE) == O_WRONLY ? 2 : 6;
    struct place w = {0};
    struct file *f;
    int err, expected = m_walk(cred, dir, p, !(flags & O_NOFOLLOW) && !excl, &w);

    if ((flags & O_ACCMODE) == O_ACCMODE)
        expected = -EINVAL;
    else if (!expected && !w.node)
        expected = -ENOENT;
    else if (!expected && excl)
        expected = -EEXIST;
    if (expected == -ENOENT && creat) {
        expected = m_may_enter(cred, dir, p, S_IFREG, excl, -EISDIR, &w);
        made = !expected;
    }
    if (!expected && !made) {
        uint32_t type = w.node->type;

        expected = type == S_IFLNK                            ? -ELOOP
                   : (flags & O_DIRECTORY) && type != S_IFDIR ? -ENOTDIR
                   : type == S_IFDIR && (access != 4 || creat || (flags & O_TRUNC))
                       ? -EISDIR
                       : m_access(w.node, cred, access);
    }
    close_it();
    if (made && (!node_room() || w.dir->nentries == ENTRIES))
        return;
    err = file_open_at(cred, real_of(dir), text, flags, 0644, &f, &created);
    if (fuzz_pool_failed && err == -ENOMEM && made) {
        struct inode *i;
        int missing = tree_lookup(&users[0], w.dir->real, names[w.name], false, &i);

        fuzz_check(created == !missing, "open %s: created: %d, found: %d", text, created, missing);
        if (missing)
            return;
        struct node *n = node_new(S_IFREG | 0644, cred);

        n->real = i;
        enter(w.dir, (unsigned)w.name, n);
        inode_unref(i);
        return;
    }
    if (fuzz_pool_failed && err == -ENOMEM && !expected && w.node->type == S_IFREG &&
        (flags & O_TRUNC) && (access & 2))
        m_set_size(w.node, w.node->real->size); /* it was truncated before memory ran out, or not */
    if (!agree("open", p, err, expected))
        return;
    if (made) {
        struct node *n = node_new(S_IFREG | 0644, cred);

        n->real = f->inode;
        enter(w.dir, (unsigned)w.name, n);
        w.node = n;
    } else if ((flags & O_TRUNC) && (access & 2) && w.node->type == S_IFREG) {
        m_set_size(w.node, 0);
    }
    fuzz_check(f->inode == w.node->real, "open %s: another inode", text);
    open_file.file = f;
    open_file.node = w.node;
    open_file.pos = 0;
    w.node->held++;
}

/* An offset near a page boundary or anywhere, near the beginning or the end of the longest file. */
static uint64_t in_offset(struct fuzz_in *in)
{
    static const uint64_t pages[] = {0,
                                     1,
                                     2,
                                     3,
                                     63,
                                     64,
                                     4095,
                                     4096,
                                     262144,
                                     INODE_MAX_PAGES - 1,
                                     INODE_MAX_PAGES,
                                     UINT64_C(1) << 40};
    uint64_t page = pages[in_below(in, 12)] * PAGE_SIZE;
    uint16_t within = in_u16(in);

    return within & 0x8000 ? page + (within & PAGE_MASK) : page + within % 64 - (page ? 32 : 0);
}

static void write_some(struct fuzz_in *in, struct node *n, struct file *f, uint64_t at)
{
    size_t length = in_u8(in) & 1 ? in_below(in, 20000) : in_below(in, 100);
    vaddr_t from = USER_BASE + (in_u8(in) % 4 == 0 ? USER_BYTES - in_below(in, 20000) : 0);
    uint8_t value = in_u8(in);
    uint64_t old = n->size, done = 0, part;
    int64_t fail = in_u8(in) % 8 == 0 ? in_below(in, 6) : -1;
    long r, expected;

    if (n->nchanges + 3 > CHANGES)
        return;
    for (size_t i = 0; i < USER_BYTES; i++)
        user[i] = (uint8_t)(value + i - (from - USER_BASE));
    if (f->flags & O_APPEND)
        at = n->size;
    f->pos = (int64_t)at;
    vm_fail_at = fail;
    vm_failed = false;
    r = f->ops->write(f, from, length);
    vm_fail_at = -1;
    if (length && at >= INODE_MAX_BYTES) {
        fuzz_check(r == -EFBIG, "a write behind the longest file: %ld", r);
        return;
    }
    length = length ? MIN(length, INODE_MAX_BYTES - at) : 0;
    while (done < length) { /* the accessible memory, page by page of the file */
        part = MIN(length - done, PAGE_SIZE - ((at + done) & PAGE_MASK));
        if (valid(from + done, part) < part)
            break;
        done += part;
    }
    expected = length && !done ? -EFAULT : (long)done;
    if (vm_failed) {
        fuzz_check(r == expected || r == -ENOSPC || (r > 0 && (uint64_t)r < done),
                   "a write without memory: %ld", r);
        if (r < (long)done) { /* it ended before the end of user memory */
            m_change(n, WRITTEN, at, r > 0 ? (uint64_t)r : 0, value);
            n->size = r > 0 ? MAX(old, at + (uint64_t)r) : old;
            fuzz_check(n->real->size == n->size, "then %lu bytes, not %lu", n->real->size, n->size);
            return;
        }
    }
    fuzz_check(r == expected, "a write of %zu at %lu: %ld, not %ld", length, at, r, expected);
    m_change(n, WRITTEN, at, done, value);
    n->size = done ? MAX(old, at + done) : old;
    /* A part of the page that failed may have been written, if it is within the file. */
    if (done < length && at + done < n->size) {
        part = valid(from + done, length - done);
        m_change(n, UNKNOWN, at + done, MIN(part, n->size - at - done), 0);
    }
    fuzz_check(n->real->size == n->size, "then %lu bytes, not %lu", n->real->size, n->size);
}

static void read_some(struct fuzz_in *in, struct node *n, struct file *f, uint64_t at)
{
    size_t length = in_u8(in) & 1 ? in_below(in, 20000) : in_below(in, 100);
    uint64_t end = at < n->size ? MIN(n->size - at, length) : 0;
    long r;

    f->pos = (int64_t)at;
    memset(user, 0xEE, USER_BYTES);
    r = f->ops->read(f, USER_BASE, length);
    fuzz_check(r == (long)end, "a read of %zu at %lu of %lu: %ld", length, at, n->size, r);
    for (uint64_t i = 0; i < end; i++) {
        int byte = m_byte(n, at + i);

        fuzz_check(byte < 0 || byte == user[i], "byte %lu is %u, not %d", at + i, user[i], byte);
    }
    fuzz_check(user[end] == 0xEE, "a byte more than read");
}

static void contents(struct fuzz_in *in)
{
    struct file *f = open_file.file;
    struct node *n = open_file.node;
    uint64_t at = in_offset(in);
    unsigned what = in_u8(in) % 4;
    int err;

    if (!f || n->type != S_IFREG)
        return;
    switch (what) {
    case 0:
        err = f->ops->truncate(f, at);
        fuzz_check(err == (at > INODE_MAX_BYTES ? -EFBIG : 0), "truncate to %lu: %d", at, err);
        if (!err && n->nchanges < CHANGES)
            m_set_size(n, at);
        else if (!err) {
            close_it(); /* the model has no room for more */
            n->nchanges = 0;
            m_change(n, UNKNOWN, 0, UINT16_MAX, 0);
            n->size = at;
        }
        break;
    case 1:
        read_some(in, n, f, at);
        break;
    default:
        write_some(in, n, f, at);
    }
}

/* ---- comparing ---- */

/* Compare the names that getdents returns, with a buffer of `portion` bytes, with the model's. */
static void compare_dir(struct node *n, size_t portion)
{
    struct file f = {.ops = &directory_ops, .inode = n->real, .refs = 1};
    unsigned seen = 0, wanted = n->parent ? n->nentries + 2 : 0;
    long got;

    while ((got = f.ops->getdents(&f, USER_BASE, portion, false)) > 0) {
        for (long at = 0; at < got;) {
            const char *name = (char *)user + at + 19;
            uint16_t bytes = (uint16_t)(user[at + 16] | user[at + 17] << 8);
            struct node *to = NULL;
            uint64_t ino;

            memcpy(&ino, user + at, 8);
            if (!strcmp(name, "."))
                to = n;
            else if (!strcmp(name, ".."))
                to = n->parent;
            else
                for (unsigned i = 0; i < n->nentries; i++)
                    if (!strcmp(name, names[n->entry[i].name]))
                        to = n->entry[i].node;
            fuzz_check(to && to->real->ino == ino, "getdents gives %s", name);
            fuzz_check(user[at + 18] == to->type >> 12, "%s: type %u", name, user[at + 18]);
            seen++;
            at += bytes;
        }
    }
    fuzz_check(got == (n->parent ? 0 : -ENOENT) && seen == wanted,
               "getdents gives %u names of %u, then %ld", seen, wanted, got);
}

static void compare(void)
{
    memfs_validate(NULL, inode_root->fs);
    for (unsigned i = 0; i < NODES; i++) {
        struct node *n = &nodes[i];
        struct inode *r = n->real;

        if (!r)
            continue;
        fuzz_check(r->nlink == n->nlink, "node %u: %u links, not %u", i, r->nlink, n->nlink);
        fuzz_check(r->mode == (n->type | n->mode) && r->uid == n->uid && r->gid == n->gid,
                   "node %u: mode %o or owner", i, r->mode);
        if (n->type == S_IFDIR) {
            char path[PATH_MAX];
            long length = tree_path(r, path, sizeof(path));

            fuzz_check(r->parent == real_of(n->parent), "node %u: another parent", i);
            fuzz_check(length == -ERANGE || (length > 0) == below(n, model_root),
                       "node %u: its path: %ld", i, length);
            compare_dir(n, 300 + 8 * i);
        } else if (n->type == S_IFREG) {
            fuzz_check(r->size == n->size, "node %u: %lu bytes, not %lu", i, r->size, n->size);
        }
    }
}

/* Remove everything, leaves first. */
static void sweep(struct node *dir)
{
    while (dir->nentries) {
        struct node *n = dir->entry[0].node;
        unsigned name = dir->entry[0].name;
        int err;

        if (n->type == S_IFDIR)
            sweep(n);
        err = tree_unlink(&users[0], dir->real, names[name], n->type == S_IFDIR);
        fuzz_check(!err, "%s does not go: %d", names[name], err);
        take_out(dir, name);
        node_gone(n);
    }
}

static void step(struct fuzz_in *in)
{
    static void (*const calls[])(struct fuzz_in *, const struct io_cred *, struct node *,
                                 const struct path *, const char *) = {
        create, create, make_link, hard_link, unlink_one, rename_one, look, open_it};
    unsigned what = in_u8(in), who = in_u8(in);
    struct path p;
    char text[4096];

    if (what % 11 >= 8) {
        contents(in);
        return;
    }
    p = in_path(in);
    path_text(&p, text);
    fuzz_pool_failed = false;
    fuzz_pool_fail = who >= 240 ? 1 + in_below(in, 4) : 0;
    calls[what % 11](in, &users[who & 0x10 ? who % 3 : 0], who & 0x20 ? held[0] : NULL, &p, text);
    fuzz_pool_fail = 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    user = malloc(USER_BYTES);
    names_boot();
    cpu_count = 1;
    vm_switch(0, NULL);
    vm_pages_init();
    pt_system_boot();
    pager_boot();
    tree_boot();
    nodes[0] = (struct node){.real = inode_root, .type = S_IFDIR, .mode = 0755, .nlink = 2};
    nodes[0].parent = &nodes[0];
    small = vm_pool_bytes;
    fuzz_keep();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    uint32_t pages;

    fuzz_begin();
    fuzz_pool_begin();
    pages = vm_nfree;
    for (unsigned i = 0; in_more(&in) && i < 200; i++) {
        step(&in);
        if (i % 16 == 15)
            compare();
    }
    compare();
    close_it();
    sweep(model_root);
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            inode_unref(held[i]->real);
    fuzz_check(inode_root->refs == 1 && inode_root->nlink == 2, "the root: %u references, %u links",
               inode_root->refs, inode_root->nlink);
    fuzz_check(fuzz_pool_bytes == 0, "%ld bytes of paged pool are left", fuzz_pool_bytes);
    fuzz_check(vm_pool_bytes == small, "%ld bytes of nonpaged pool are left",
               vm_pool_bytes - small);
    fuzz_check(vm_nfree == pages, "%d pages are left", (int)(pages - vm_nfree));
    return 0;
}
