/*
 * Logical names in the census of pool (mm/pool/pool_census.h): all names in shareable tables, which
 * may outlive processes, are accounted for, and the tables' quotas are computed anew.
 */
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool_census.h"

static struct lnm_name *name_at(struct list *link)
{
    return list_entry(link, struct lnm_name, hash);
}

/* Check the quota of t, if it has one: the sum over all names that are charged to it. */
static void check_quota(struct census *c, const struct lnm_table *t)
{
    const struct lnm_hash *h = lnm_shared_hash();
    uint64_t charged = 0;

    if (t->quota_of != t)
        return;
    for (uint64_t i = 0; i < h->nbuckets; i++)
        for (struct list *l = list_first(&h->buckets[i]); l; l = list_next(&h->buckets[i], l))
            if (name_at(l)->table->quota_of == t)
                charged += lnm_cost(name_at(l));
    if (charged != t->charged)
        census_error(c, "names of table %.31s take %lu bytes, %lu are charged",
                     t->name ? t->name->text : "(none)", charged, t->charged);
}

static void explain(struct census *c)
{
    const struct lnm_hash *h = lnm_shared_hash();

    mutex_lock_shared(&lnm_mutex);
    for (uint64_t i = 0; i < h->nbuckets; i++)
        for (struct list *l = list_first(&h->buckets[i]); l; l = list_next(&h->buckets[i], l)) {
            const struct lnm_name *n = name_at(l);

            census_explain(c, CENSUS_PAGED, n->size, 1);
            if (!n->header)
                continue;
            census_explain(c, CENSUS_PAGED, sizeof(*n->header), 1);
            check_quota(c, n->header);
            if (n->header->flags & LNM_GROUP && n->header->members == 0 && n->header->count == 0 &&
                list_empty(&n->header->children))
                census_error(c, "the table of a group without members is there");
        }
    mutex_unlock_shared(&lnm_mutex);
}

void lnm_census_boot(void)
{
    static const struct census_kind kinds[] = {
        {"names of a process", CENSUS_NONPAGED, sizeof(struct lnm_space)},
        {"job", CENSUS_NONPAGED, sizeof(struct lnm_job)},
        {"table of names", CENSUS_PAGED, sizeof(struct lnm_table)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
