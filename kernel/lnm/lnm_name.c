/*
 * Names: blocks with their translations, and the hash tables in which they are found.
 *
 * A block holds everything that belongs to a name, so that a definition takes one allocation from
 * paged pool and a deletion frees one. Names of shareable tables are in one hash table, private
 * names in that of their process. The hash ignores case, so that a search that ignores case looks
 * in the same bucket.
 *
 * The number of buckets is a parameter, and users choose the names, so each bucket is a search
 * tree: with many names, or with names of the same hash, a search takes logarithmic time. In it the
 * names are ordered by hash, table, name without regard to case, mode, and name.
 *
 * All but the building of blocks is done with the LNM mutex held.
 */
#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool_charged.h"

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
    uint16_t account = pool_account();
    struct lnm_name *n = pgd_alloc_charged(size, account);

    if (!n)
        return NULL;
    *n = (struct lnm_name){.size = (uint32_t)size,
                           .used = (uint16_t)head_size(name.length),
                           .account = account,
                           .attributes = attributes,
                           .mode = mode,
                           .length = (uint8_t)name.length};
    list_init(&n->in_table);
    memcpy(n->text, name.s, name.length);
    return n;
}

void lnm_name_free(struct lnm_name *n) { pgd_free_charged(n, n->size, n->account); }

char *lnm_name_add(struct lnm_name *n, uint8_t index, uint32_t attributes, uint32_t length)
{
    struct lnm_translation *t = (struct lnm_translation *)((char *)n + n->used);

    t->attributes = attributes;
    t->length = (uint16_t)length;
    t->index = index;
    n->used = (uint16_t)(n->used + lnm_translation_bytes(length));
    n->translations++;
    return t->text;
}

struct lnm_name *lnm_name_copy(const struct lnm_name *n)
{
    uint16_t account = pool_account();
    struct lnm_name *copy = pgd_alloc_charged(n->size, account);

    if (!copy)
        return NULL;
    memcpy(copy, n, n->size);
    copy->account = account;
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

    h->account = pool_account();
    h->buckets = pgd_alloc_charged(n * sizeof(h->buckets[0]), h->account);
    if (!h->buckets)
        return false;
    memset(h->buckets, 0, n * sizeof(h->buckets[0]));
    h->nbuckets = (uint32_t)n;
    return true;
}

void lnm_hash_free(struct lnm_hash *h)
{
    if (h->buckets)
        pgd_free_charged(h->buckets, h->nbuckets * sizeof(h->buckets[0]), h->account);
    *h = (struct lnm_hash){0};
}

struct lnm_hash *lnm_shared_hash(void) { return &shared; }

static struct lnm_name *name_of(struct treap_node *n)
{
    return n ? container_of(n, struct lnm_name, node) : NULL;
}

struct lnm_name *lnm_hash_next(const struct lnm_hash *h, const struct lnm_name *n)
{
    struct treap_node *next = n ? treap_next(&n->node) : treap_first(&h->buckets[0]);
    uint64_t i = n ? n->node.hash & (h->nbuckets - 1) : 0;

    while (!next && ++i < h->nbuckets)
        next = treap_first(&h->buckets[i]);
    return name_of(next);
}

struct lnm_hash *lnm_hash_of(const struct lnm_table *t)
{
    return t->space ? &t->space->hash : &shared;
}

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

/* FNV-1a of the name without regard to case, mixed with its table. */
static uint32_t hash(const struct lnm_table *t, struct lnm_string name)
{
    uint32_t x = 2166136261u;

    for (uint32_t i = 0; i < name.length; i++)
        x = (x ^ (uint8_t)upper(name.s[i])) * 16777619u;
    x ^= (uint32_t)((uint64_t)t >> 6) * 0x9E3779B1u;
    return x ^ x >> 15; /* the low bits choose the bucket */
}

struct key {
    uint32_t hash;
    const struct lnm_table *table;
    struct lnm_string name;
};

static struct treap *bucket_of(const struct lnm_table *t, struct lnm_string name, struct key *k)
{
    struct lnm_hash *h = lnm_hash_of(t);

    *k = (struct key){hash(t, name), t, name};
    return &h->buckets[k->hash & (h->nbuckets - 1)];
}

/* How k compares to n, both of one hash, table and length, without regard to case and mode. */
static __attribute__((noinline)) int compare_text(const struct key *k, const struct lnm_name *n)
{
    int difference = 0;

    for (uint32_t i = 0; i < n->length && difference == 0; i++)
        difference = upper(k->name.s[i]) - upper(n->text[i]);
    return difference;
}

/* How k compares to n without regard to case and mode: below 0, 0, or above 0. *same: the names are
   equal with regard to case. */
static inline int compare(const struct key *k, const struct lnm_name *n, bool *same)
{
    *same = false;
    if (k->hash != n->node.hash)
        return k->hash < n->node.hash ? -1 : 1;
    if (k->table != n->table)
        return k->table < n->table ? -1 : 1;
    if (k->name.length != n->length)
        return k->name.length < n->length ? -1 : 1;
    *same = memcmp(k->name.s, n->text, n->length) == 0;
    return likely(*same) ? 0 : compare_text(k, n);
}

/* The same with mode and case. */
static int compare_all(const struct key *k, uint8_t mode, const struct lnm_name *n)
{
    bool same;
    int order = compare(k, n, &same);

    if (order == 0)
        order = (int)mode - n->mode;
    return order ? order : memcmp(k->name.s, n->text, n->length);
}

static struct lnm_name *find_exact(const struct treap *bucket, const struct key *k, uint8_t mode)
{
    struct treap_node *at = bucket->root;

    while (at) {
        int order = compare_all(k, mode, name_of(at));

        if (order == 0)
            return name_of(at);
        at = order < 0 ? at->left : at->right;
    }
    return NULL;
}

struct lnm_name *lnm_lookup(const struct lnm_table *t, struct lnm_string name, uint8_t inner,
                            uint8_t outer, bool case_blind)
{
    struct key k;
    const struct treap *bucket = bucket_of(t, name, &k);
    struct lnm_name *best = NULL;
    bool exact = false, same;

    /* The last of that name, whatever its case, in a mode up to `outer`. */
    for (struct treap_node *at = bucket->root; at;) {
        struct lnm_name *n = name_of(at);
        int order = compare(&k, n, &same);

        if (order == 0 && n->mode <= outer) {
            best = n;
            exact = same;
            if (exact && n->mode == outer)
                break;
        }
        at = order > 0 || (order == 0 && n->mode <= outer) ? at->right : at->left;
    }
    if (!best || best->mode < inner)
        return NULL;
    if (case_blind || exact)
        return best;
    for (unsigned mode = best->mode;; mode--) { /* there are names that differ in case only */
        best = find_exact(bucket, &k, (uint8_t)mode);
        if (best || mode == inner)
            return best;
    }
}

static void enter(struct lnm_table *t, struct lnm_name *n)
{
    struct treap_node *up = NULL, **where;
    struct key k;
    struct treap *bucket = bucket_of(t, lnm_name_string(n), &k);

    n->node.hash = k.hash;
    for (where = &bucket->root; *where;) {
        up = *where;
        where = compare_all(&k, n->mode, name_of(up)) < 0 ? &up->left : &up->right;
    }
    treap_insert(bucket, &n->node, up, where);
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
    enter(t, n);
    lnm_enter_order(t, n);
    t->quota_of->charged += lnm_cost(n);
}

void lnm_remove(struct lnm_name *n)
{
    struct lnm_table *t = n->table;
    struct lnm_hash *h = lnm_hash_of(t);

    if (has_prefix(n))
        __atomic_fetch_sub(&lnm_prefixed, 1, __ATOMIC_RELAXED);
    treap_remove(&h->buckets[n->node.hash & (h->nbuckets - 1)], &n->node);
    lnm_leave_order(n);
    h->removed++;
    t->quota_of->charged -= lnm_cost(n);
    lnm_name_free(n);
}
