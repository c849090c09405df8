/* The memory of open files and pipes, for the self-check (mm/check/validate.h) and for the
 * census of pool blocks (mm/pool/pool_census.h). Inodes that have names are counted by their
 * file system. */
#include "mm/check/validate.h"

#include "kernel/fs/memfs.h"
#include "kernel/io/io_private.h"
#include "mm/pool/pool_census.h"

void file_validate(struct validate *v, struct file *f)
{
    if (f->inode)
        inode_validate(v, f->inode);
    pipe_validate(v, f);
}

void io_validate(struct validate *v)
{
    const struct fs *fs = inode_root->fs;

    memfs_validate(v, inode_root->fs);
    while ((fs = fs->next) != NULL)
        if (fs->validate)
            fs->validate(v, fs);
}

/* The census is taken without processes, so there are no open files to account for. */
static void explain(struct census *c) { (void)c; }

void io_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"open file", CENSUS_NONPAGED, sizeof(struct file)},
    };

    memfs_census_boot(inode_root->fs);
    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
