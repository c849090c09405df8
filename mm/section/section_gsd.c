/*
 * Global section directory.
 *
 * A small hash table of GSDs in paged pool. It is accessed only at IPL 0 under the GSD mutex: a
 * fault needs no name, since it finds its section through the map entry. Only the allocation of a
 * GSD can fail.
 */
#include "mm/section/section_gsd.h"

#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "mm/pool/pool.h"

#define GSD_BUCKETS 64 /* a few hundred sections at most, so a handful in each chain */

static struct mutex gsd_mutex;
static struct list gsd_table[GSD_BUCKETS]; /* of struct gsd; GSD mutex */

void gsd_boot(void)
{
    mutex_init(&gsd_mutex, "GSD", MUTEX_GSD);
    for (unsigned i = 0; i < GSD_BUCKETS; i++)
        list_init(&gsd_table[i]);
}

void gsd_lock(void) { mutex_lock(&gsd_mutex); }
void gsd_unlock(void) { mutex_unlock(&gsd_mutex); }

static struct list *bucket_of(const char *name, uint32_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (uint32_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return &gsd_table[h % GSD_BUCKETS];
}

static bool same_scope(const struct gsd *g, const struct section_name *n)
{
    bool sysgbl = (g->section->flags & SEC$M_SYSGBL) != 0;

    return sysgbl == n->sysgbl && (sysgbl || g->group == n->group);
}

struct gsd *gsd_lookup_locked(const struct section_name *n)
{
    struct list *bucket = bucket_of(n->name, n->length);
    struct gsd *g;

    list_for_each_entry(g, bucket, hash)
        if (g->name_length == n->length && memcmp(g->name, n->name, n->length) == 0 &&
            same_scope(g, n))
            return g;
    return NULL;
}

struct gsd *gsd_alloc_locked(const struct section_request *r)
{
    struct gsd *g = pgd_alloc_zeroed(sizeof(*g));

    if (!g)
        return NULL;
    list_init(&g->hash);
    g->creator = r->creds;
    g->group = r->name.group;
    g->ident = r->ident_version;
    g->prot = r->prot;
    g->name_length = (uint8_t)r->name.length;
    memcpy(g->name, r->name.name, r->name.length);
    return g;
}

void gsd_insert_locked(struct gsd *g, struct section *s)
{
    g->section = s;
    s->gsd = g;
    list_add_tail(bucket_of(g->name, g->name_length), &g->hash);
}

void gsd_unname_locked(struct gsd *g) { list_remove(&g->hash); }

void gsd_remove_locked(struct gsd *g)
{
    gsd_unname_locked(g);
    gsd_free_locked(g);
}

void gsd_free_locked(struct gsd *g) { pgd_free(g, sizeof(*g)); }

bool gsd_ident_matches(uint32_t section_version, uint32_t match, uint32_t version)
{
    if (match == SEC$K_MATALL)
        return true;
    if (section_version == 0 && version != 0)
        return false; /* created without a version: no version that a mapper gives matches */
    if (match == SEC$K_MATEQU)
        return section_version == version;
    return (section_version & SECID$M_MAJOR_ID) == (version & SECID$M_MAJOR_ID) &&
           (version & SECID$M_MINOR_ID) <= (section_version & SECID$M_MINOR_ID);
}

bool gsd_access_allowed(const struct gsd *g, const struct section_creds *who, bool write)
{
    enum { DENY_READ = 1, DENY_WRITE = 2 };
    unsigned denied = DENY_READ | (write ? DENY_WRITE : 0);
    bool same_group = who->uic_group == g->creator.uic_group;
    /* System, owner, group, world, from bit 0 up. A requester in several categories has the access
       that the best of them allows. */
    bool member[4] = {who->system, same_group && who->uic_member == g->creator.uic_member,
                      same_group, true};

    if (who->bypass)
        return true;
    for (unsigned i = 0; i < 4; i++)
        if (member[i] && ((g->prot >> (4 * i)) & denied) == 0)
            return true;
    return false;
}
