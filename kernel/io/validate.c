/*
 * What files have of memory, for the self-check (mm/validate.h): objects of regular files, found in
 * the tree of names and behind open files, and the pages of pipes.
 */
#include "mm/validate.h"

#include "kernel/io/io_private.h"

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

/* From directory to directory without recursion: the tree may be deeper than a kernel stack. */
void io_validate(struct validate *v)
{
    struct inode *dir = inode_root;
    struct dir_name *d = NULL;

    mutex_lock_shared(&tree_lock);
    for (;;) {
        d = name_next(dir, d);
        if (d) {
            inode_validate(v, d->inode);
            if (d->inode->parent) {
                dir = d->inode;
                d = NULL;
            }
        } else if (dir == inode_root) {
            break;
        } else {
            d = name_of(dir->parent, dir);
            if (!d) {
                validate_error(v, "a directory is not among the names of its parent");
                break;
            }
            dir = dir->parent;
        }
    }
    mutex_unlock_shared(&tree_lock);
}
