/*
 * What libext2fs calls of the C library (names.h): memory, and the few functions of strings that
 * the kernel does not have. Blocks come from paged pool and are charged to who makes the call: to
 * who mounts, or, for the length of one call, to who looks something up. They are in a list, so
 * that the census finds them.
 */
#include "kernel/fs/ext4/library/memory.h"

#include "kernel/base/list.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

/* Of one block: more than any image that is mounted needs (GROUPS_MOST, super.c). */
#define BLOCK_MOST (UINT64_C(8) << 20)

struct block { /* 16-byte aligned, as what follows is */
    struct list link;
    uint64_t nbytes; /* with this structure */
    uint64_t account;
};

static struct mutex lock = MUTEX_INIT("blocks of libext2fs", MUTEX_EXT4_BLOCKS, lock);
static struct list blocks = LIST_INIT(blocks); /* lock */

char *ext4_library_getenv(const char *name);
char *ext4_library_strcpy(char *to, const char *from);
unsigned long ext4_library_strtoul(const char *s, char **end, int base);

void *ext4_library_alloc(size_t n)
{
    size_t nbytes = sizeof(struct block) + n;
    uint16_t account = pool_account();
    struct block *b = n <= BLOCK_MOST ? pgd_alloc_charged(nbytes, account) : NULL;

    if (!b)
        return NULL;
    b->nbytes = nbytes;
    b->account = account;
    mutex_lock(&lock);
    list_add_tail(&blocks, &b->link);
    mutex_unlock(&lock);
    return b + 1;
}

void ext4_library_free(void *p)
{
    struct block *b;

    if (!p)
        return;
    b = (struct block *)p - 1;
    mutex_lock(&lock);
    list_remove(&b->link);
    mutex_unlock(&lock);
    pgd_free_charged(b, b->nbytes, (uint16_t)b->account);
}

void ext4_library_census(struct census *c)
{
    const struct block *b;

    list_for_each_entry(b, &blocks, link)
        census_explain(c, CENSUS_PAGED, b->nbytes, 1);
}

/* The library asks for a false time of day. */
char *ext4_library_getenv(const char *name)
{
    (void)name;
    return NULL;
}

/* Of names that are checked, to blocks made for their length. */
char *ext4_library_strcpy(char *to, const char *from)
{
    memcpy(to, from, strlen(from) + 1);
    return to;
}

/* Of what getenv() returned. */
unsigned long ext4_library_strtoul(const char *s, char **end, int base)
{
    (void)s, (void)end, (void)base;
    return 0;
}
