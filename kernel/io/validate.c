/*
 * What files have of memory, for the self-check (mm/check/validate.h): objects of regular files,
 * found in the tree of names and behind open files, and the pages of pipes. And of pool, for the
 * census (mm/pool/pool_census.h): every name, inode and object, so that files that a test leaves
 * are counted exactly.
 */
#include "mm/check/validate.h"

#include "kernel/base/string.h"
#include "kernel/io/io_private.h"
#include "mm/pool/pool_census.h"

static void inode_validate(struct validate *v, struct inode *i)
{
    if (i->object)
        validate_file_object(v, i->object);
}

void file_validate(struct validate *v, struct file *f)
{
    if (f->inode)
        inode_validate(v, f->inode);
    else
        pipe_validate(v, f);
}

/* The name behind d in dir, or the first; NULL behind the last. */
static struct dir_name *name_next(struct inode *dir, const struct dir_name *d)
{
    struct list *l = d ? list_next(&dir->names, &d->link) : list_first(&dir->names);

    return l ? list_entry(l, struct dir_name, link) : NULL;
}

static struct dir_name *name_of(struct inode *parent, const struct inode *dir)
{
    struct dir_name *d = NULL;

    while ((d = name_next(parent, d)) && d->inode != dir)
        ;
    return d;
}

/* Call fn for each name below the root. From directory to directory without recursion: the tree may
 * be deeper than a kernel stack. False: a directory is not among the names of its parent. */
static bool for_each_name(void (*fn)(void *arg, struct dir_name *d), void *arg)
{
    struct inode *dir = inode_root;
    struct dir_name *d = NULL;
    bool whole = true;

    mutex_lock_shared(&tree_lock);
    while (whole) {
        d = name_next(dir, d);
        if (d) {
            fn(arg, d);
            if (d->inode->parent) {
                dir = d->inode;
                d = NULL;
            }
        } else if (dir == inode_root) {
            break;
        } else {
            d = name_of(dir->parent, dir);
            whole = d != NULL;
            dir = dir->parent;
        }
    }
    mutex_unlock_shared(&tree_lock);
    return whole;
}

static void validate_name(void *arg, struct dir_name *d) { inode_validate(arg, d->inode); }

void io_validate(struct validate *v)
{
    if (!for_each_name(validate_name, v))
        validate_error(v, "a directory is not among the names of its parent");
}

/* ---- the census ---- */

/* An inode without open files: names, for a directory children too, are all that refers to it. A
 * directory's nlink counts its own "." besides. */
static void explain_inode(struct census *c, const struct inode *i, const char *name)
{
    uint32_t refs = i->nlink - (i->parent != NULL);

    if (i->refs != refs)
        census_error(c, "file %s has %u references, %u without open files", name, i->refs, refs);
    census_explain(c, CENSUS_NONPAGED, sizeof(*i), 1);
    if (i->object)
        object_census(c, i->object);
    if (i->target)
        census_explain(c, CENSUS_PAGED, i->target_bytes + 1, 1);
}

/* An inode of several names is explained at the last of them. */
static void explain_name(void *arg, struct dir_name *d)
{
    struct inode *i = d->inode;
    char name[32];

    census_explain(arg, CENSUS_PAGED, sizeof(*d) + d->len, 1);
    if (!i->parent && ++i->found < i->nlink)
        return;
    i->found = 0;
    memcpy(name, d->text, MIN(d->len, sizeof(name) - 1));
    name[MIN(d->len, sizeof(name) - 1)] = 0;
    explain_inode(arg, i, name);
}

static void explain(struct census *c)
{
    for_each_name(explain_name, c);
    explain_inode(c, inode_root, "/");
}

void io_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"inode", CENSUS_NONPAGED, sizeof(struct inode)},
        {"open file", CENSUS_NONPAGED, sizeof(struct file)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
