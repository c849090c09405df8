/* The memory of files and pipes, for the self-check (mm/check/validate.h) and for the census of
 * pool blocks (mm/pool/pool_census.h). Files and pipes are found in lists of their own and not from
 * who has opened them: a message may hold them, a call, or the end of a process. */
#include "mm/check/validate.h"

#include "kernel/block/block.h"
#include "kernel/drivers/virtio/disk.h"
#include "kernel/drivers/virtio/entropy.h"
#include "kernel/fs/memfs.h"
#include "kernel/io/io_private.h"
#include "mm/pool/pool_census.h"
#include "mm/space/pin_set.h"

static void pin_of_set(pfn_t pfn, void *arg) { validate_pin(arg, pfn); }

void io_validate(struct validate *v)
{
    const struct fs *fs = inode_root->fs;

    memfs_validate(v, inode_root->fs);
    entropy_validate(v);
    virtio_disk_validate(v);
    block_validate(v);
    pin_set_walk(pin_of_set, v);
    while ((fs = fs->next) != NULL)
        if (fs->validate)
            fs->validate(v, fs);
    pipes_validate(v);
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
