/*
 * A plain model of the file tree, with which fuzz_tree.c compares the kernel's: nodes, names given
 * by numbers, and paths as lists of such numbers. The result of a call is that of kernel/io/tree.h
 * or, where that does not define it, of Linux. The contents of a file are modelled as the list of
 * its changes.
 */
#ifndef TESTS_FUZZ_TREE_MODEL_H
#define TESTS_FUZZ_TREE_MODEL_H

#include <string.h>

#include "kernel/base/errno.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/tree.h"
#include "tests/fuzz/fuzz.h"

#define NODES     80
#define ENTRIES   12 /* in one directory */
#define COMPS     6  /* in one path */
#define CHANGES   24 /* of one file */
#define LINKS     16
#define DOT       6u
#define DOTDOT    7u
#define NAME_LONG 4u /* the longest name allowed; the next is longer by one */
#define TOO_LONG  5u
#define NAMES     8u

static char names[NAMES][260] = {"a", "b", "c", "dd", "", "", ".", ".."};

struct path {
    bool absolute, slash; /* slash: the path ends with one */
    uint8_t n, comp[COMPS];
};

struct change { /* of a file: bytes written, truncated, or unknown */
    enum { WRITTEN, CUT, UNKNOWN } what;
    uint64_t at;
    uint16_t n;
    uint8_t value;
};

struct node {
    struct inode *real; /* NULL: the node is free */
    uint32_t type, mode, uid, gid;
    unsigned nlink, held; /* held: references of the fuzzer */
    struct node *parent;  /* directory; NULL: removed */
    unsigned nentries;
    struct {
        uint8_t name;
        struct node *node;
    } entry[ENTRIES];
    struct path target;
    uint64_t size;
    unsigned nchanges;
    struct change change[CHANGES];
};

static struct node nodes[NODES];
static struct node *const model_root = &nodes[0];

static void names_boot(void)
{
    memset(names[NAME_LONG], 'L', NAME_MAX);
    memset(names[TOO_LONG], 'T', NAME_MAX + 1);
}

static size_t path_length(const struct path *p)
{
    size_t n = p->absolute + p->slash;

    for (unsigned i = 0; i < p->n; i++)
        n += strlen(names[p->comp[i]]) + (i ? 1 : 0);
    return n;
}

static void path_text(const struct path *p, char *to)
{
    *to = 0;
    if (p->absolute)
        strcat(to, "/");
    for (unsigned i = 0; i < p->n; i++)
        strcat(strcat(to, i ? "/" : ""), names[p->comp[i]]);
    if (p->slash)
        strcat(to, "/");
}

static struct node *entry_of(const struct node *dir, unsigned name)
{
    for (unsigned i = 0; i < dir->nentries; i++)
        if (dir->entry[i].name == name)
            return dir->entry[i].node;
    return NULL;
}

static int m_access(const struct node *n, const struct io_cred *cred, unsigned mask)
{
    unsigned shift = cred->uid == n->uid ? 6 : cred->gid == n->gid ? 3 : 0;

    if (cred->uid == 0)
        return !(mask & 1) || (n->mode & 0111) || n->type == S_IFDIR ? 0 : -EACCES;
    return (n->mode >> shift & mask) == mask ? 0 : -EACCES;
}

struct place { /* the result of a path walk */
    struct node *dir, *node;
    int name; /* -1: the directory itself */
    bool slash;
};

/* Resolve p from dir (NULL: the root). 0 or an error. */
static int m_walk(const struct io_cred *cred, struct node *dir, const struct path *p, bool follow,
                  struct place *w)
{
    uint8_t queue[COMPS * (LINKS + 2)];
    unsigned n = p->n, links = 0;
    bool slash = p->slash;
    size_t rest = 0;

    memcpy(queue, p->comp, n);
    *w = (struct place){.dir = p->absolute || !dir ? model_root : dir, .name = -1};
    if (!p->absolute && !p->slash && !p->n)
        return -ENOENT;
    for (;;) {
        struct node *found;
        uint8_t c;

        if (n == 0) {
            w->node = w->dir;
            w->slash = true;
            return 0;
        }
        if (m_access(w->dir, cred, 1))
            return -EACCES;
        c = queue[0];
        memmove(queue, queue + 1, --n);
        if (c == TOO_LONG)
            return -ENAMETOOLONG;
        if (c == DOT)
            continue;
        if (c == DOTDOT) {
            if (!w->dir->parent)
                return -ENOENT;
            w->dir = w->dir->parent;
            continue;
        }
        found = entry_of(w->dir, c);
        if (found && found->type == S_IFLNK && (n || slash || follow)) {
            const struct path *t = &found->target;

            if (++links > LINKS)
                return -ELOOP;
            rest = n ? slash : 0;
            for (unsigned i = 0; i < n; i++)
                rest += strlen(names[queue[i]]) + (i ? 1 : 0);
            if (path_length(t) + 1 + rest + 1 > PATH_MAX)
                return -ENAMETOOLONG;
            fuzz_check(n + t->n <= sizeof(queue), "the model's queue is short");
            memmove(queue + t->n, queue, n);
            memcpy(queue, t->comp, t->n);
            slash |= n == 0 && t->slash;
            n += t->n;
            if (t->absolute)
                w->dir = model_root;
            continue;
        }
        if (n == 0) {
            w->name = c;
            w->node = found;
            w->slash = slash;
            return slash && found && found->type != S_IFDIR ? -ENOTDIR : 0;
        }
        if (!found)
            return -ENOENT;
        if (found->type != S_IFDIR)
            return -ENOTDIR;
        w->dir = found;
    }
}

/* ---- changes of names ---- */

static struct node *node_new(uint32_t mode, const struct io_cred *cred)
{
    for (unsigned i = 1; i < NODES; i++)
        if (!nodes[i].real && !nodes[i].nlink && !nodes[i].held) {
            nodes[i] = (struct node){
                .type = mode & S_IFMT, .mode = mode & 07777, .uid = cred->uid, .gid = cred->gid};
            return &nodes[i];
        }
    return NULL;
}

static bool node_room(void) { return node_new(0, &(struct io_cred){.uid = 0}) != NULL; }

static void node_gone(struct node *n)
{
    if (n->nlink == 0 && n->held == 0)
        n->real = NULL;
}

static void enter(struct node *dir, unsigned name, struct node *n)
{
    dir->entry[dir->nentries].name = (uint8_t)name;
    dir->entry[dir->nentries++].node = n;
    n->nlink++;
    if (n->type == S_IFDIR) {
        n->parent = dir;
        n->nlink++;
        dir->nlink++;
    }
}

static void take_out(struct node *dir, unsigned name)
{
    unsigned i = 0;
    struct node *n;

    while (dir->entry[i].name != name)
        i++;
    n = dir->entry[i].node;
    memmove(&dir->entry[i], &dir->entry[i + 1], (--dir->nentries - i) * sizeof(dir->entry[0]));
    n->nlink--;
    if (n->type == S_IFDIR) {
        n->parent = NULL;
        n->nlink--;
        dir->nlink--;
    }
}

static int m_may_change(const struct io_cred *cred, const struct place *w)
{
    if (w->name < 0)
        return w->node == model_root ? -EBUSY : -EINVAL;
    if (!w->dir->parent)
        return -ENOENT;
    return m_access(w->dir, cred, 2);
}

static int m_may_remove(const struct io_cred *cred, const struct place *w)
{
    int err = m_may_change(cred, w);

    if (err)
        return err;
    if (!w->node)
        return -ENOENT;
    if ((w->dir->mode & S_ISVTX) && cred->uid && cred->uid != w->node->uid &&
        cred->uid != w->dir->uid)
        return -EPERM;
    return 0;
}

/* May a name for a node of this type be created at p? Fills in *w. */
static int m_may_enter(const struct io_cred *cred, struct node *dir, const struct path *p,
                       uint32_t type, bool excl, int slash, struct place *w)
{
    int err = m_walk(cred, dir, p, !excl, w);

    if (err)
        return err;
    if (w->node)
        return excl ? -EEXIST : 0;
    return w->slash && type != S_IFDIR ? slash : m_may_change(cred, w);
}

static int m_may_unlink(const struct io_cred *cred, struct node *dir, const struct path *p,
                        bool directory, struct place *w)
{
    int err = m_walk(cred, dir, p, false, w);

    if (!err)
        err = m_may_remove(cred, w);
    if (!err && (w->node->type == S_IFDIR) != directory)
        err = directory ? -ENOTDIR : -EISDIR;
    return !err && directory && w->node->nentries ? -ENOTEMPTY : err;
}

static bool below(const struct node *down, const struct node *up)
{
    while (down && down != up && down != model_root)
        down = down->parent;
    return down == up;
}

/* 0 or an error; 1: there is nothing to do. */
static int m_may_rename(const struct io_cred *cred, struct node *olddir, const struct path *from,
                        struct node *newdir, const struct path *to, struct place *f,
                        struct place *t)
{
    int err = m_walk(cred, olddir, from, false, f);

    if (!err)
        err = m_walk(cred, newdir, to, false, t);
    if (!err && (f->name < 0 || t->name < 0))
        err = -EBUSY;
    if (!err)
        err = m_may_remove(cred, f);
    if (!err)
        err = t->node ? m_may_remove(cred, t) : m_may_change(cred, t);
    if (err)
        return err;
    if (f->node == t->node)
        return 1;
    if (f->node->type == S_IFDIR && below(t->dir, f->node))
        return -EINVAL;
    if (t->node && (t->node->type == S_IFDIR) != (f->node->type == S_IFDIR))
        return t->node->type == S_IFDIR ? -EISDIR : -ENOTDIR;
    if (t->node && t->node->nentries)
        return -ENOTEMPTY;
    return !t->node && t->slash && f->node->type != S_IFDIR ? -ENOTDIR : 0;
}

/* ---- contents ---- */

static void m_change(struct node *n, int what, uint64_t at, uint64_t length, uint8_t value)
{
    if (length && n->nchanges < CHANGES)
        n->change[n->nchanges++] = (struct change){
            .what = what, .at = at, .n = (uint16_t)length, .value = value};
}

static void m_set_size(struct node *n, uint64_t size)
{
    if (size < n->size)
        m_change(n, CUT, size, 1, 0);
    n->size = size;
}

/* The byte at an offset below the size; -1: unknown. The bytes of one change differ. */
static int m_byte(const struct node *n, uint64_t at)
{
    for (unsigned i = n->nchanges; i-- > 0;) {
        const struct change *c = &n->change[i];

        if (c->what == CUT ? at >= c->at : at >= c->at && at - c->at < c->n)
            return c->what == CUT       ? 0
                   : c->what == UNKNOWN ? -1
                                        : (uint8_t)(c->value + (at - c->at));
    }
    return 0;
}

#endif
