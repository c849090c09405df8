/* What the files that call libext2fs share. */
#ifndef KERNEL_FS_EXT4_VOLUME_PRIVATE_H
#define KERNEL_FS_EXT4_VOLUME_PRIVATE_H

#include <ext2fs/ext2fs.h>

#include "kernel/fs/ext4/volume.h"

/* The buffers' contents belong to one function at a time. */
struct ext4_volume {
    struct ext4_lines *lines;
    struct ext4_journal *journal;      /* NULL: it is only read */
    const char *name;                  /* for the console */
    uint64_t blocks_free, inodes_free; /* atomic; after the last step */
    ext2_filsys fs;
    struct struct_io_channel io;
    uint32_t block_bytes, shift; /* block_bytes is 1 << shift */
    uint64_t blocks;
    uint8_t *block;       /* a block: of a directory, or an inode */
    uint8_t *inline_data; /* INLINE_MOST(block_bytes) */
};

#define IN_INODE                 60u /* bytes of contents in i_block */
#define INLINE_MOST(block_bytes) ((block_bytes) + IN_INODE)

static inline const struct ext2_inode *raw_of(const struct ext4_node *n)
{
    return (const struct ext2_inode *)n->raw;
}

/* A negative errno for a result of the library. */
int ext4_error(errcode_t result);
/* May the superblock be used, on a volume of `bytes`? Results as of ext4_volume_open(); says on the
 * console what is wrong. (super.c) */
int ext4_check_super(const struct ext2_super_block *s, uint64_t bytes, const char *name,
                     unsigned flags);
/* May it be written, on disks with such sectors? Says on the console what is in the way. */
bool ext4_check_writable(const struct ext2_super_block *s, uint32_t sector_bytes, const char *name);
/* As ext4_read_node(), for any inode: one of the file system's own, one without names. */
int ext4_read_node_of(struct ext4_volume *v, uint32_t number, struct ext4_node *n);
/* Have blocks_free and inodes_free say what the superblock says. (groups.c) */
void ext4_count_free(struct ext4_volume *v);
/* The contents of a file that are in its inode, in v->inline_data. Their number, or an error.
 * (inline.c) */
long ext4_read_inline(struct ext4_volume *v, const struct ext4_node *n);

#endif
