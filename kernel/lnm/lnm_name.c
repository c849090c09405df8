/*
 * Names: blocks with their translations, and the hash tables in which they are found.
 *
 * A block holds everything that belongs to a name, so that a definition takes one allocation from
 * paged pool and a deletion frees one. Names of shareable tables are in one hash table, private
 * names in that of their process. The hash ignores case, so that a search that ignores case looks
 * in the same bucket.
 *
 * All but the building of blocks is done with the LNM mutex held.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool.h"

static struct lnm_hash shared; /* LNM mutex; made by lnm_boot */

#define TRANSLATION_HEAD offsetof(struct lnm_translation, text)

static uint64_t round8(uint64_t n) { return (n + 7) & ~UINT64_C(7); }

/* Offset of the first translation in a block. */
static uint64_t head_size(uint32_t name_length)
{
    return round8(sizeof(struct lnm_name) + name_length);
}

uint64_t lnm_translation_bytes(uint32_t length) { return round8(TRANSLATION_HEAD + length); }

struct lnm_name *lnm_name_alloc(struct lnm_string name, uint8_t mode, uint32_t attributes,
                                uint64_t bytes)
{
    uint64_t size = head_size(name.length) + bytes;
    struct lnm_name *n = pgd_alloc(size);

    if (!n)
        return NULL;
    *n = (struct lnm_name){.size = (uint32_t)size,
                           .used = (uint32_t)head_size(name.length),
                           .attributes = attributes,
                           .mode = mode,
                           .length = (uint8_t)name.length};
    list_init(&n->hash);
    list_init(&n->in_table);
    memcpy(n->text, name.s, name.length);
    return n;
}

void lnm_name_free(struct lnm_name *n) { pgd_free(n, n->size); }

char *lnm_name_add(struct lnm_name *n, uint8_t index, uint32_t attributes, uint32_t length)
{
    struct lnm_translation *t = (struct lnm_translation *)((char *)n + n->used);

    t->attributes = attributes;
    t->length = (uint16_t)length;
    t->index = index;
    n->used += (uint32_t)lnm_translation_bytes(length);
    n->translations++;
    return t->text;
}

struct lnm_name *lnm_name_copy(const struct lnm_name *n)
{
    struct lnm_name *copy = pgd_alloc(n->size);

    if (!copy)
        return NULL;
    memcpy(copy, n, n->size);
    list_init(&copy->hash);
    list_init(&copy->in_table);
    copy->table = copy->header = NULL;
    return copy;
}

const struct lnm_translation *lnm_translation_at(const struct lnm_name *n, unsigned number)
{
    uint64_t at = head_size(n->length);
    const struct lnm_translation *t;

    if (number >= n->translations)
        return NULL;
    for (;;) {
        t = (const struct lnm_translation *)((const char *)n + at);
        if (number-- == 0)
            return t;
        at += lnm_translation_bytes(t->length);
    }
}

bool lnm_translation(const struct lnm_name *n, unsigned index, struct lnm_string *s,
                     uint32_t *attributes)
{
    const struct lnm_translation *t;

    for (unsigned i = 0; (t = lnm_translation_at(n, i)) != NULL; i++)
        if (t->index == index) {
            *s = (struct lnm_string){t->text, t->length};
            *attributes = t->attributes | LNM$M_EXISTS;
            return true;
        }
    return false;
}

/* ---- hash tables ---- */

bool lnm_hash_init(struct lnm_hash *h, uint64_t buckets)
{
    uint64_t n = 1UL << (63 - __builtin_clzl(buckets));

    h->buckets = pgd_alloc(n * sizeof(struct list));
    if (!h->buckets)
        return false;
    h->nbuckets = n;
    for (uint64_t i = 0; i < n; i++)
        list_init(&h->buckets[i]);
    return true;
}

void lnm_hash_free(struct lnm_hash *h)
{
    if (h->buckets)
        pgd_free(h->buckets, h->nbuckets * sizeof(struct list));
    *h = (struct lnm_hash){0};
}

struct lnm_hash *lnm_shared_hash(void) { return &shared; }

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

static struct list *bucket_of(const struct lnm_table *t, struct lnm_string name)
{
    struct lnm_hash *h = t->space ? &t->space->hash : &shared;
    uint32_t x = 2166136261u; /* FNV-1a, finished by a multiplication for the high bits */

    for (uint32_t i = 0; i < name.length; i++)
        x = (x ^ (uint8_t)upper(name.s[i])) * 16777619u;
    x ^= (uint32_t)((uint64_t)t >> 6) * 0x9E3779B1u;
    x ^= x >> 15;
    return &h->buckets[x & (h->nbuckets - 1)];
}

static bool same_text(const struct lnm_name *n, struct lnm_string s, bool case_blind)
{
    if (n->length != s.length)
        return false;
    if (!case_blind)
        return memcmp(n->text, s.s, s.length) == 0;
    for (uint32_t i = 0; i < s.length; i++)
        if (upper(n->text[i]) != upper(s.s[i]))
            return false;
    return true;
}

struct lnm_name *lnm_lookup(const struct lnm_table *t, struct lnm_string name, uint8_t inner,
                            uint8_t outer, bool case_blind)
{
    struct list *bucket = bucket_of(t, name);
    struct lnm_name *n, *best = NULL;

    list_for_each_entry(n, bucket, hash) {
        if (n->table != t || n->mode < inner || n->mode > outer || (best && n->mode <= best->mode))
            continue;
        if (same_text(n, name, case_blind))
            best = n;
    }
    return best;
}

uint64_t lnm_prefixed;

static bool has_prefix(const struct lnm_name *n)
{
    return n->length >= sizeof(LNM_PREFIX) - 1 &&
           memcmp(n->text, LNM_PREFIX, sizeof(LNM_PREFIX) - 1) == 0;
}

uint64_t lnm_cost(const struct lnm_name *n)
{
    return n->size + (n->header ? sizeof(*n->header) : 0);
}

uint64_t lnm_table_cost(uint32_t name_length)
{
    return head_size(name_length) + sizeof(struct lnm_table);
}

void lnm_insert(struct lnm_table *t, struct lnm_name *n)
{
    if (has_prefix(n))
        __atomic_fetch_add(&lnm_prefixed, 1, __ATOMIC_RELAXED);
    n->table = t;
    list_add_tail(bucket_of(t, lnm_name_string(n)), &n->hash);
    list_add_tail(&t->names, &n->in_table);
    t->count++;
    t->quota_of->charged += lnm_cost(n);
}

void lnm_remove(struct lnm_name *n)
{
    struct lnm_table *t = n->table;

    if (has_prefix(n))
        __atomic_fetch_sub(&lnm_prefixed, 1, __ATOMIC_RELAXED);
    list_remove(&n->hash);
    list_remove(&n->in_table);
    t->count--;
    t->quota_of->charged -= lnm_cost(n);
    lnm_name_free(n);
}
