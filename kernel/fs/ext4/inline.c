/*
 * Contents that are in the inode (the feature inline_data): the first 60 bytes where other files
 * have their blocks, and the rest in the extended attribute system.data behind the inode's fields.
 */
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/fs/ext4/volume_private.h"

#define ATTRIBUTES_MAGIC 0xEA020000u
#define INDEX_SYSTEM     7u
#define NAME             "data"
#define NAME_BYTES       4u

struct entry { /* of an extended attribute; its name follows, padded to four bytes */
    uint8_t name_len, name_index;
    uint16_t value_offset; /* from the first entry on */
    uint32_t value_inode, value_size, hash;
};

bool ext4_is_inline(const struct ext4_node *n) { return n->flags & EXT4_INLINE_DATA_FL; }

/* The value of the attribute, among the n bytes of entries and values. -EUCLEAN: there is none, or
 * it is not among them. */
static int find_value(const uint8_t *first, size_t n, const uint8_t **value, size_t *nbytes)
{
    size_t at = 0;

    while (at + sizeof(struct entry) <= n) {
        struct entry e;
        size_t name = at + sizeof(e);

        memcpy(&e, first + at, sizeof(e));
        if (e.name_len == 0 && e.name_index == 0)
            break;
        if (e.name_len > n - name)
            return -EUCLEAN;
        if (e.name_index == INDEX_SYSTEM && e.name_len == NAME_BYTES &&
            memcmp(first + name, NAME, NAME_BYTES) == 0) {
            if (e.value_inode || e.value_size > n || e.value_offset > n - e.value_size)
                return -EUCLEAN;
            *value = first + e.value_offset;
            *nbytes = e.value_size;
            return 0;
        }
        at = name + ((e.name_len + 3u) & ~3u);
    }
    return -EUCLEAN;
}

long ext4_read_inline(struct ext4_volume *v, const struct ext4_node *n)
{
    size_t size = EXT2_INODE_SIZE(v->fs->super), start, nbytes = 0;
    const struct ext2_inode_large *i = (const struct ext2_inode_large *)v->block;
    const uint8_t *value = NULL;
    uint32_t magic;
    int err = ext4_error(
        ext2fs_read_inode_full(v->fs, n->number, (struct ext2_inode *)v->block, (int)size));

    if (err)
        return err;
    if (size <= EXT2_GOOD_OLD_INODE_SIZE)
        return -EUCLEAN;
    start = (size_t)EXT2_GOOD_OLD_INODE_SIZE + i->i_extra_isize;
    if (start + sizeof(magic) > size)
        return -EUCLEAN;
    memcpy(&magic, v->block + start, sizeof(magic));
    start += sizeof(magic);
    if (magic == ATTRIBUTES_MAGIC)
        err = find_value(v->block + start, size - start, &value, &nbytes);
    if (err)
        return err;
    memcpy(v->inline_data, i->i_block, IN_INODE);
    if (nbytes)
        memcpy(v->inline_data + IN_INODE, value, nbytes);
    return (long)(IN_INODE + nbytes);
}
