/*
 * An ext4 file system on a volume, read through libext2fs: the superblock, inodes, the blocks of a
 * file, names. Nothing here knows the kernel's inodes. change.h has what changes it. The caller
 * holds the mutex of the mount, for all functions; IPL 0; they wait for the disk. Results: 0, -EIO,
 * -ENOMEM, -EINTR (the thread is to end), or -EUCLEAN: the file system is damaged.
 */
#ifndef KERNEL_FS_EXT4_VOLUME_H
#define KERNEL_FS_EXT4_VOLUME_H

#include "kernel/base/types.h"

#define EXT4_ROOT 2u /* the number of the root's inode */

struct census;
struct ext4_lines;
struct ext4_volume;

struct ext4_about {
    uint32_t block_bytes;
    uint64_t blocks, blocks_free, inodes, inodes_free;
};

/* Consecutive blocks of a file, and where they are. */
struct ext4_run {
    uint64_t first, count; /* of the file */
    uint64_t physical;     /* of the volume; 0: they are zeroes (a hole) */
    uint64_t reserved;     /* of a hole: the blocks that it has all the same; 0: none */
};

/* An inode as it is on disk. */
struct ext4_node {
    uint32_t number, mode, uid, gid, nlink, rdev;
    uint32_t flags; /* of the disk: EXT4_EXTENTS_FL and so on */
    uint64_t size;
    int64_t atime_ns, mtime_ns, ctime_ns;
    uint64_t raw[16];     /* its first 128 bytes, for the library */
    struct ext4_run last; /* found by ext4_find_run() last; count 0: none */
    uint32_t changed_in;  /* the transaction that has changed it last; 0: none */
    bool cutting;         /* blocks behind its end are being freed: it is an orphan until then */
    uint64_t hint;        /* of a directory: the block where ext4_find_name() found one last */
    uint64_t space;       /* and before which there is no room for a further name */
};

/* A name in a directory. */
struct ext4_name {
    uint32_t number; /* of its inode */
    uint8_t type;    /* S_IFMT of the inode, shifted by 12; 0: not known */
    uint8_t len;
    char text[256]; /* without a NUL */
    uint64_t place; /* in the directory: from 3 on, constant, the order of ext4_next_name() */
};

/* Flags: a journal that has not been replayed is ignored, and nothing is written; write if that is
 * possible, and replay the journal. */
#define EXT4_OPEN_NOLOAD 0x1u
#define EXT4_OPEN_WRITE  0x2u

/* Open the file system whose bytes are l's, which stay the caller's. name: of the volume, for
 * messages on the console, which say what is wrong; it stays. Besides: -EINVAL: there is no ext4;
 * -EOPNOTSUPP: it has a feature that is not known; -EROFS: it needs recovery, which was not asked
 * for or is not possible; -EFBIG: it is too large. What can only be read is opened so. */
int ext4_volume_open(struct ext4_lines *l, const char *name, unsigned flags,
                     struct ext4_volume **out);
/* Is it written? */
bool ext4_volume_writes(const struct ext4_volume *v);
/* What was changed and not committed is lost. */
void ext4_volume_close(struct ext4_volume *v);
/* Account for its memory, but that of the library. Nothing else runs. */
void ext4_volume_census(struct census *c, const struct ext4_volume *v);
void ext4_volume_about(const struct ext4_volume *v, struct ext4_about *a);

/* The inode of a number. -EUCLEAN also: it is not in use, or is one of the file system's own. */
int ext4_read_node(struct ext4_volume *v, uint32_t number, struct ext4_node *n);
/* The blocks of a file from `block` on: *run begins there, and has at least one. */
int ext4_find_run(struct ext4_volume *v, struct ext4_node *n, uint64_t block, struct ext4_run *run);
/* Is the file's contents in its inode, and not in blocks? */
bool ext4_is_inline(const struct ext4_node *n);
/* Copy n bytes at an offset, all below the size: short files and links. */
int ext4_read_bytes(struct ext4_volume *v, struct ext4_node *n, uint64_t offset, void *buf,
                    size_t count);
/* The target of a symbolic link, at most `most` bytes, without a NUL. Its length, or an error;
 * -ENAMETOOLONG. */
long ext4_read_link(struct ext4_volume *v, struct ext4_node *n, char *buf, size_t most);

/* The first name whose place is above `after`, "." and ".." left out. -ENOENT: there is none. */
int ext4_next_name(struct ext4_volume *v, struct ext4_node *dir, uint64_t after,
                   struct ext4_name *out);
/* The number of the inode that a name leads to. -ENOENT. */
int ext4_find_name(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                   uint32_t *number);

#endif
