/*
 * Changes of a volume's metadata, all within a step of the journal (journal.h), whose caller holds
 * the mutex of the mount. They change the step's blocks, and nodes of the caller, who keeps a copy
 * of a node until the step has ended well. Results: 0, -ENOSPC, and those of volume.h.
 */
#ifndef KERNEL_FS_EXT4_CHANGE_H
#define KERNEL_FS_EXT4_CHANGE_H

#include "kernel/fs/ext4/journal.h"

#define LINKS_MOST 65000u

/* ---- groups.c: the superblock and the descriptors of groups ---- */

struct ext4_group {
    uint32_t number;
    struct ext4_group_desc d; /* those of its fields that the volume has; others are 0 */
};

/* The superblock, to be changed; *block: the block that it is in. ext4_seal_super() ends the
 * change; now: with the time. */
int ext4_edit_super(struct ext4_volume *v, struct ext2_super_block **s, uint8_t **block);
void ext4_seal_super(struct ext4_volume *v, struct ext2_super_block *s, bool now);
int ext4_get_group(struct ext4_volume *v, uint32_t number, struct ext4_group *g);
/* Store g, with its checksum. */
int ext4_put_group(struct ext4_volume *v, struct ext4_group *g);
uint32_t ext4_groups(const struct ext4_volume *v);
uint64_t ext4_group_first(const struct ext4_volume *v, uint32_t group);
/* Blocks of a group: fewer in the last one. */
uint32_t ext4_group_blocks(const struct ext4_volume *v, uint32_t group);
/* Counts of free blocks and inodes. */
uint32_t ext4_group_free(const struct ext4_group *g, bool inodes);
void ext4_group_set_free(struct ext4_group *g, bool inodes, uint32_t n);
/* Add to the superblock's counts. */
int ext4_count(struct ext4_volume *v, int64_t blocks, int64_t inodes);

/* ---- bitmaps.c ---- */

/* Find up to `want` free blocks that follow each other, from goal on if they can be had there, and
 * mark them as used. */
int ext4_take_blocks(struct ext4_volume *v, uint64_t goal, uint32_t want, uint64_t *start,
                     uint32_t *count);
/* Blocks of one group are not used any more. */
int ext4_give_blocks(struct ext4_volume *v, uint64_t start, uint32_t count, bool metadata);
/* An inode that is not in use, in `group` if it has one, and mark it as used. */
int ext4_take_inode(struct ext4_volume *v, uint32_t group, bool directory, uint32_t *number);
int ext4_give_inode(struct ext4_volume *v, uint32_t number, bool directory);

/* ---- extents.c ---- */

/* Have [block, block + count) of a file, which has no blocks there, lie at `physical`; unwritten:
 * they are zeroes all the same. */
int ext4_extent_add(struct ext4_volume *v, struct ext4_node *n, uint32_t block, uint32_t count,
                    uint64_t physical, bool unwritten);
/* The same blocks, all of one extent that is unwritten, are written now. */
int ext4_extent_written(struct ext4_volume *v, struct ext4_node *n, uint32_t block, uint32_t count);
/* Free blocks of [first, end): the last ones there, of one extent and one group. *more: there may
 * be further ones. */
int ext4_extent_punch(struct ext4_volume *v, struct ext4_node *n, uint32_t first, uint32_t end,
                      bool *more);
/* An empty tree. */
void ext4_extent_init(struct ext4_node *n);

/* ---- node.c ---- */

/* The seed of the checksums of what belongs to an inode. */
uint32_t ext4_node_seed(const struct ext4_volume *v, const struct ext4_node *n);
/* Count blocks in i_blocks. */
int ext4_node_count(struct ext4_volume *v, struct ext4_node *n, int64_t blocks);
/* Has it blocks by a map, as ext3 has them? They are only read: such an inode keeps its names and
 * its length. */
bool ext4_is_mapped(const struct ext4_volume *v, const struct ext4_node *n);
/* The time of an inode's deletion, or what stands in its place (orphan.c). */
int ext4_set_deleted(struct ext4_volume *v, uint32_t number, uint32_t value);
/* Store an inode, but that time. `fresh`: all else that it may have had is cleared. */
int ext4_write_node(struct ext4_volume *v, struct ext4_node *n, bool fresh);
/* A new inode: mode, uid, gid, rdev and times of *n are set by the caller; what else it has is
 * nothing yet. near: an inode in whose group it is to be. nlink 0. */
int ext4_new_node(struct ext4_volume *v, uint32_t near, struct ext4_node *n);
/* An inode without names, blocks and extended attributes: free it. */
int ext4_free_node(struct ext4_volume *v, struct ext4_node *n);
/* Free its block of extended attributes, or count one user less. */
int ext4_drop_attributes(struct ext4_volume *v, struct ext4_node *n);

/* ---- orphan.c: inodes that are to be freed or cut, also after a power cut ---- */

int ext4_orphan_add(struct ext4_volume *v, struct ext4_node *n);
int ext4_orphan_remove(struct ext4_volume *v, struct ext4_node *n);
/* The first one of the list; 0: there is none. */
int ext4_orphan_first(struct ext4_volume *v, uint32_t *number);
/* Steps: free some of the blocks behind the end of a file, which stops to be an orphan with the
 * last ones if it was one for that; the same of all blocks of an inode without names, which is
 * freed with the last ones. *more: there are others. */
int ext4_cut(struct ext4_volume *v, struct ext4_node *n, bool *more);
int ext4_erase(struct ext4_volume *v, struct ext4_node *n, bool *more);
/* Do what the list asks for: when a volume is opened. */
int ext4_orphans_end(struct ext4_volume *v);

/* ---- entries.c ---- */

/* Enter a name, which the directory does not have. */
int ext4_enter(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
               const struct ext4_node *n);
/* Remove a name, which leads to `number`. -ENOENT. */
int ext4_remove(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                uint32_t number);
/* Have a name lead to n instead; ".." too. */
int ext4_redirect(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                  const struct ext4_node *n);
/* The first block of a new directory. */
int ext4_begin_directory(struct ext4_volume *v, struct ext4_node *dir, uint32_t parent);
/* Another block at the end of a directory. */
int ext4_grow_directory(struct ext4_volume *v, struct ext4_node *dir, uint64_t *physical,
                        uint8_t **bytes);
/* Store the checksum of a block of entries. */
void ext4_seal_entries(const struct ext4_volume *v, const struct ext4_node *dir, uint8_t *bytes);
/* Bytes of a block that entries may use. */
uint32_t ext4_entries_end(const struct ext4_volume *v);
/* Put an entry where the block has room for it. False: it has none. */
bool ext4_put_entry(const struct ext4_volume *v, uint8_t *bytes, const char *text, uint32_t len,
                    const struct ext4_node *n);
/* Bytes that an entry with a name of name_len bytes takes at least. */
uint32_t ext4_entry_bytes(uint32_t name_len);

/* ---- index.c: directories with an index by hashes of names ---- */

/* As ext4_enter(). */
int ext4_index_enter(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                     const struct ext4_node *n);
/* Give a directory of one block an index. */
int ext4_index_make(struct ext4_volume *v, struct ext4_node *dir);
/* Store the checksum of a block of the index, whose entries begin at `at`. */
void ext4_seal_index(const struct ext4_volume *v, const struct ext4_node *dir, uint8_t *bytes,
                     uint32_t at);

/* ---- naming.c: whole steps, by name. A step that fails has changed no node. ---- */

struct ext4_text { /* a name, or the target of a link */
    const char *text;
    uint32_t len;
};

/* A new inode, as ext4_new_node(), with a name in dir; target: of a symbolic link. */
int ext4_make(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
              struct ext4_node *n, struct ext4_text target);
/* A new inode without a name: an orphan. */
int ext4_make_unnamed(struct ext4_volume *v, uint32_t near, struct ext4_node *n);
/* A further name, or the first one of an orphan. -EMLINK. */
int ext4_link(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
              struct ext4_node *n);
/* Remove a name of n, which becomes an orphan with the last one; a directory: -ENOTEMPTY. */
int ext4_unlink(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                struct ext4_node *n);
/* Replace the name `old` of n in `from` by another one in `to`, instead of one of `replaced`, which
 * may be NULL. */
int ext4_rename(struct ext4_volume *v, struct ext4_node *from, struct ext4_text old,
                struct ext4_node *n, struct ext4_node *to, struct ext4_text name,
                struct ext4_node *replaced);
/* Exchange a name of n in dir and one of o in `to`. */
int ext4_exchange(struct ext4_volume *v, struct ext4_node *dir, struct ext4_text name,
                  struct ext4_node *n, struct ext4_node *to, struct ext4_text other,
                  struct ext4_node *o);
/* Store what the caller has changed in the fields of *n since `before`. */
int ext4_store_node(struct ext4_volume *v, struct ext4_node *n, const struct ext4_node *before);

/* ---- blocks.c: the blocks of regular files ---- */

/* Within a step: have blocks of [block, block + count) that are written, in one place. *run begins
 * with `block`; *fresh: their contents are not defined yet, and the caller writes them, before the
 * step ends. */
int ext4_have_blocks(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                     struct ext4_run *run, bool *fresh);
/* A step: blocks for a part of the hole at `block`, at most `count`, that are read as zeroes.
 * *done: how many there are from `block` on. */
int ext4_reserve_blocks(struct ext4_volume *v, struct ext4_node *n, uint64_t block, uint64_t count,
                        uint64_t *done);
/* A step: free some blocks of [first, end). *more: there are others. */
int ext4_punch(struct ext4_volume *v, struct ext4_node *n, uint64_t first, uint64_t end,
               bool *more);
/* A step: the length of a file. If that is shorter, ext4_cut() is to follow until there are no more
 * blocks behind it, and before the file gets any. */
int ext4_set_size(struct ext4_volume *v, struct ext4_node *n, uint64_t size);

#endif
