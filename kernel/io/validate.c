/* What open files and pipes have of memory, for the self-check (mm/check/validate.h) and for the
 * census of pool blocks (mm/pool/pool_census.h). What has a name is the file system's to count. */
#include "mm/check/validate.h"

#include "kernel/fs/memfs.h"
#include "kernel/io/io_private.h"
#include "mm/pool/pool_census.h"

void file_validate(struct validate *v, struct file *f)
{
    if (f->inode)
        inode_validate(v, f->inode);
    else
        pipe_validate(v, f);
}

void io_validate(struct validate *v) { memfs_validate(v, inode_root->fs); }

/* Open files do not outlive the processes that have them. */
static void explain(struct census *c) { (void)c; }

void io_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"open file", CENSUS_NONPAGED, sizeof(struct file)},
    };

    memfs_census_boot(inode_root->fs);
    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
