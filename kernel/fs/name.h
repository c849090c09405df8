/*
 * Names as numbers. A name is read by quadwords, lowest byte first: word k has its bytes 8k to
 * 8k + 7, and zeroes behind the last of them. So a name of up to seven bytes is found in a path,
 * hashed and compared in a few instructions. Only aligned quadwords that contain a byte of the
 * name, or the one behind it in a path, are read: none can lie in a page that is not there.
 *
 * The hash has a key of this boot, treap_secret, which is set before there are names and never seen
 * by users. Who finds out which names share a head anyway gains nothing, as those of a head are in
 * a search tree (memfs_dir.c).
 */
#ifndef KERNEL_FS_NAME_H
#define KERNEL_FS_NAME_H

#include "kernel/base/treap.h"
#include "kernel/fs/inode.h"

typedef uint64_t name_quad __attribute__((may_alias));

/* The first n bytes of a word, n below 8. */
static inline uint64_t name_first(uint64_t word, size_t n)
{
#ifdef __alpha__
    return __builtin_alpha_mskql(word, n);
#else
    return word & ~(~UINT64_C(0) << 8 * n);
#endif
}

/* The n bytes at p, 1 to 8, and above them what happens to be there. If one aligned quadword has
 * them all, what `high` adds is nothing new, or above them. */
static inline __attribute__((no_sanitize_address)) uint64_t name_some_bytes(const char *p, size_t n)
{
    uint64_t low = *(const name_quad *)((uint64_t)p & ~UINT64_C(7));
    uint64_t high = *(const name_quad *)((uint64_t)(p + n - 1) & ~UINT64_C(7));
    unsigned shift = (uint64_t)p % 8 * 8;

    return low >> shift | high << 8 << (56 - shift);
}

/* The word of a name of len bytes at `text` that begins with byte `at`, not above len. */
static inline uint64_t name_word(const char *text, size_t len, size_t at)
{
    size_t n = len - at;

    if (n >= 8)
        return name_some_bytes(text + at, 8);
    return n ? name_first(name_some_bytes(text + at, n), n) : 0;
}

/* How many bytes of a word are before the first that ends a component, NUL or '/'; 8 or more: none
 * ends it. */
static inline size_t name_end(uint64_t word)
{
    uint64_t slashes = UINT64_C(0x2F2F2F2F2F2F2F2F);
#ifdef __alpha__
    return __builtin_alpha_cttz(__builtin_alpha_cmpbge(0, word) |
                                __builtin_alpha_cmpbge(0, word ^ slashes));
#else
    /* Borrows go upward, so the lowest bit is right. */
    uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7, other = word ^ slashes;
    uint64_t ends = ((word - ones) & ~word & tops) | ((other - ones) & ~other & tops);

    return ends ? (size_t)__builtin_ctzl(ends) / 8 : 64;
#endif
}

/* Add a word to a hash. All bits of both halves of the product depend on the word: directories use
 * the lowest of the hash. */
static inline uint64_t name_mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define NAME_HASH_KEY treap_secret

/* The name of len bytes at `text`, of a given hash. */
static inline struct fs_name name_with_hash(const char *text, size_t len, uint32_t hash)
{
    return (struct fs_name){text, (uint32_t)len, hash, name_word(text, len, 0)};
}

/* name_scan() for 8 bytes and more. */
const char *name_scan_long(struct fs_name *name, const char *path);

/* Set *name to the component, perhaps empty, that begins at `path`, which has an end. Returns the
 * position behind it. */
static inline __attribute__((no_sanitize_address)) const char *name_scan(struct fs_name *name,
                                                                         const char *path)
{
    size_t skip = (uint64_t)path % 8, n;
    const name_quad *quad = (const name_quad *)(path - skip);
    uint64_t word = *quad >> 8 * skip;

    n = name_end(word);
    if (n + skip >= 8) { /* the zeroes above the quadword's bytes ended it */
        word |= quad[1] << 8 << (56 - 8 * skip);
        n = name_end(word);
        if (unlikely(n >= 8))
            return name_scan_long(name, path);
    }
    name->few = name_first(word, n);
    name->text = path;
    name->len = (uint32_t)n;
    name->hash = (uint32_t)name_mix(NAME_HASH_KEY, name->few);
    return path + n;
}

#endif
