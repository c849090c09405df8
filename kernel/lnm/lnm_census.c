/*
 * Logical names in the census of pool (mm/pool/pool_census.h): all names in shareable tables, which
 * may outlive processes, are accounted for, and the tables' quotas are computed anew.
 */
#include "kernel/lnm/lnm_private.h"
#include "mm/pool/pool_census.h"

/* The name after n in a shareable table (NULL: the first one) that names a table itself. */
static struct lnm_table *next_table(const struct lnm_name **n)
{
    do
        *n = lnm_hash_next(lnm_shared_hash(), *n);
    while (*n && !(*n)->header);
    return *n ? (*n)->header : NULL;
}

/*
 * Compare each quota with what is charged to it: the cost of all names in the tables that draw on
 * it, and in full the quotas of the tables below these that have one of their own. Two passes,
 * however many tables there are.
 */
static void check_quotas(struct census *c)
{
    const struct lnm_name *n = NULL;
    struct lnm_table *t;

    while ((t = next_table(&n)) != NULL)
        t->found = 0;
    while ((n = lnm_hash_next(lnm_shared_hash(), n)) != NULL) {
        n->table->quota_of->found += lnm_cost(n);
        t = n->header;
        if (t && t->parent && t->quota_of == t)
            t->parent->quota_of->found += t->limit;
    }
    while ((t = next_table(&n)) != NULL)
        if (t->quota_of == t && t->found != t->charged)
            census_error(c, "names of table %.*s take %lu bytes, %lu are charged",
                         (int)t->name->length, t->name->text, t->found, t->charged);
}

static void explain(struct census *c)
{
    const struct lnm_name *n = NULL;
    uint64_t marks;
    size_t bytes;

    mutex_lock(&lnm_mutex); /* exclusively, because of `found` */
    while ((n = lnm_hash_next(lnm_shared_hash(), n)) != NULL) {
        census_explain(c, CENSUS_PAGED, n->size, 1);
        if (!n->header)
            continue;
        census_explain(c, CENSUS_PAGED, sizeof(*n->header), 1);
        marks = lnm_marks(n->header, &bytes);
        census_explain(c, CENSUS_PAGED, bytes, marks);
        if (n->header->flags & LNM_GROUP && n->header->members == 0 && n->header->count == 0 &&
            list_empty(&n->header->children))
            census_error(c, "the table of a group without members is there");
    }
    check_quotas(c);
    mutex_unlock(&lnm_mutex);
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
