/* What reads entries of directories (directory.c) and what changes them share. */
#ifndef KERNEL_FS_EXT4_DIRECTORY_H
#define KERNEL_FS_EXT4_DIRECTORY_H

#include "kernel/fs/ext4/volume.h"

#define ENTRY_BYTES 8u  /* of an entry before its name */
#define ROOT_AT     32u /* bytes before the entries of the first block of an index, ... */
#define NODE_AT     8u  /* and of others */

struct ext4_entry {
    uint32_t number, bytes; /* bytes: of the whole entry */
    uint8_t name_len, type;
    const uint8_t *name;
};

struct ext4_index_entry { /* the first one of a node has limit and count instead of a hash */
    uint32_t hash, block;
};

/* The entry at `at` of `end` bytes. */
int ext4_get_entry(const struct ext4_volume *v, const uint8_t *bytes, uint32_t at, uint32_t end,
                   struct ext4_entry *e);
/* A block of a directory, checked against its checksum the first time; valid until the next call
 * for another place, or another use of v->block. */
int ext4_get_entries(struct ext4_volume *v, const struct ext4_node *dir, uint64_t physical,
                     const uint8_t **bytes);
/* Where a name is: at `at` of a block of the directory. */
int ext4_locate(struct ext4_volume *v, struct ext4_node *dir, const char *text, uint32_t len,
                struct ext4_name *found, uint64_t *block, uint32_t *at);
/* Has the directory an index that is to be used? */
bool ext4_has_index(const struct ext4_volume *v, const struct ext4_node *dir);
/* The hash of a name, as an index says that its names are hashed. False: that is not known. */
bool ext4_hash_name(const struct ext4_volume *v, unsigned version, const void *text, uint32_t len,
                    uint32_t *hash);

#endif
