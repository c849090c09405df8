/* The memory file system in the self-check and in the census of pool blocks. */
#include "kernel/base/string.h"
#include "kernel/fs/memfs_private.h"
#include "kernel/fs/name.h"
#include "mm/check/census.h"
#include "mm/check/validate.h"
#include "mm/object/object.h"

/* Call fn for each name below the root. The walk does not recurse, because the tree may be deeper
 * than a kernel stack. False: names, indexes and parents do not agree. */
static bool for_each_name(struct inode *root, void (*fn)(void *arg, struct memfs_name *e),
                          void *arg)
{
    struct memfs_dir *d = dir_of(root);
    uint64_t pos = 0;

    for (;;) {
        struct memfs_name *e = memfs_after(d, pos);

        if (e) {
            struct fs_name name = name_with_hash(e->text, e->len, e->node.hash);

            if (memfs_find(d, &name) != e)
                return false;
            fn(arg, e);
            pos = e->cookie;
            if (inode_is_dir(e->inode)) {
                if (e->inode->parent != &d->inode || dir_of(e->inode)->self != e)
                    return false;
                d = dir_of(e->inode);
                pos = 0;
            }
        } else if (&d->inode == root) {
            return true;
        } else {
            pos = d->self->cookie;
            d = dir_of(d->inode.parent);
        }
    }
}

static void validate_name(void *arg, struct memfs_name *e) { inode_validate(arg, e->inode); }

void memfs_validate(struct validate *v, struct fs *fs)
{
    struct list *l;

    if (!for_each_name(fs->root, validate_name, v))
        validate_error(v, "a directory is not among the names of its parent, or a name is lost");
    list_for_each(l, &memfs_nameless) /* all threads are stopped: no lock */
        inode_validate(v, &container_of(l, struct memfs_file, nameless_link)->inode);
}

static struct fs *counted; /* constant after boot */

/* References of mounts: to the directory that one covers, and to its parent. */
static uint32_t refs_of_mounts(const struct inode *i)
{
    uint32_t refs = 0;

    for (const struct fs *fs = counted->next; fs; fs = fs->next)
        refs += (fs->covered == i) + (fs->root->parent == i);
    return refs;
}

/* Account for an inode without open files: only its names, and for a directory its children and
 * mounts, refer to it. A directory's nlink also counts its own ".". */
static void explain_inode(struct census *c, struct inode *i, const char *name)
{
    bool directory = inode_is_dir(i);
    uint32_t refs = i->nlink - directory + refs_of_mounts(i);

    if (i->refs != refs)
        census_error(c, "file %s has %u references, %u without open files", name, i->refs, refs);
    census_explain(c, CENSUS_NONPAGED,
                   directory ? sizeof(struct memfs_dir) : sizeof(struct memfs_file), 1);
    if (i->object)
        object_census(c, i->object);
    if (directory && dir_of(i)->heads != dir_of(i)->small)
        census_explain(c, CENSUS_PAGED, dir_of(i)->nheads * sizeof(struct treap), 1);
    if (!directory && file_of(i)->target)
        census_explain(c, CENSUS_PAGED, i->size, 1);
}

/* An inode with several names is accounted for at the last of them. */
static void explain_name(void *arg, struct memfs_name *e)
{
    struct inode *i = e->inode;
    char name[32];

    census_explain(arg, CENSUS_PAGED, entry_bytes(e->len), 1);
    if (!inode_is_dir(i)) {
        if (++file_of(i)->found < i->nlink)
            return;
        file_of(i)->found = 0;
    }
    memcpy(name, e->text, MIN(e->len, sizeof(name) - 1));
    name[MIN(e->len, sizeof(name) - 1)] = 0;
    explain_inode(arg, i, name);
}

static void explain(struct census *c)
{
    for_each_name(counted->root, explain_name, c);
    explain_inode(c, counted->root, "/");
}

void memfs_census_boot(struct fs *fs)
{
    static const struct census_kind kinds[] = {
        {"inode", CENSUS_NONPAGED, sizeof(struct memfs_file)},
        {"directory", CENSUS_NONPAGED, sizeof(struct memfs_dir)},
    };

    counted = fs;
    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
