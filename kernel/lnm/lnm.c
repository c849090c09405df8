/*
 * Logical names: the system services, each of which is one critical section of the LNM mutex
 * (shared for $TRNLNM, exclusive for the others), but for deletions of many names: the mutex is
 * dropped after each portion, and tables and names are looked up anew in the next. Who is to end
 * does not wait for the mutex, but returns SS$_ABORT. Blocks are allocated before the mutex is
 * taken, so that an operation fails with nothing changed.
 */
#include "kernel/lnm/lnm_private.h"

struct mutex lnm_mutex = MUTEX_INIT("LNM", MUTEX_LNM, lnm_mutex);

struct lnm_view lnm_view_of(const struct lnm_name *n)
{
    const struct lnm_translation *t;
    struct lnm_view v = {.name = lnm_name_string(n),
                         .table = lnm_name_string(n->table->name),
                         .attributes = n->attributes,
                         .mode = n->mode,
                         .max_index = -1,
                         .block = n};

    for (unsigned i = 0; (t = lnm_translation_at(n, i)) != NULL; i++)
        if (t->index > v.max_index)
            v.max_index = t->index;
    return v;
}

/* ---- $TRNLNM ---- */

struct translation_search {
    const struct lnm_who *who;
    struct lnm_string name;
    uint8_t mode;
    bool case_blind, denied;
    const struct lnm_name *found;
};

static cond_t look_in(struct lnm_table *t, void *arg)
{
    struct translation_search *s = arg;

    if (!lnm_allowed(s->who, t, LNM_READ)) {
        s->denied = true;
        return SS$_NOLOGNAM;
    }
    s->found = lnm_lookup(t, s->name, PSL$C_KERNEL, s->mode, s->case_blind);
    return s->found ? SS$_NORMAL : SS$_NOLOGNAM;
}

cond_t lnm_translate(const struct lnm_who *who, struct lnm_string table_name,
                     struct lnm_string name, uint8_t mode, bool case_blind,
                     cond_t (*fn)(const struct lnm_view *v, void *arg), void *arg)
{
    struct translation_search s = {who, name, mode, case_blind, false, NULL};
    bool any;
    cond_t status = lnm_space_ready(who);

    if (status != SS$_NORMAL)
        return status;
    if (mutex_lock_shared_killable(&lnm_mutex) != 0)
        return SS$_ABORT;
    status = lnm_for_tables(who, table_name, &any, look_in, &s);
    if (s.found) {
        struct lnm_view v = lnm_view_of(s.found);

        status = fn(&v, arg);
    } else if (status == SS$_NOLOGNAM) {
        status = !any ? SS$_IVLOGTAB : s.denied ? SS$_NOPRIV : SS$_NOLOGNAM;
    }
    mutex_unlock_shared(&lnm_mutex);
    return status;
}

/* ---- $CRELNM ---- */

/* Bytes of the names of outer modes that a name without alias replaces; remove: remove them. */
static uint64_t outer_names(struct lnm_table *t, struct lnm_string name, uint8_t mode, bool remove)
{
    uint64_t bytes = 0;

    for (unsigned outer = mode + 1u; outer <= PSL$C_USER; outer++) {
        struct lnm_name *n = lnm_lookup(t, name, (uint8_t)outer, (uint8_t)outer, false);

        if (!n)
            continue;
        bytes += n->size;
        if (remove)
            lnm_remove(n);
    }
    return bytes;
}

/* Would defining the block replace the name of a table? Only $DELLNM and $CRELNT may do that. */
static bool hides_table(struct lnm_table *t, const struct lnm_name *block)
{
    for (unsigned mode = block->mode; mode <= PSL$C_USER; mode++) {
        struct lnm_name *n = lnm_lookup(t, lnm_name_string(block), (uint8_t)mode, (uint8_t)mode,
                                        false);

        if (n && n->header && (mode == block->mode || (block->attributes & LNM$M_NO_ALIAS)))
            return true;
    }
    return false;
}

static cond_t define_locked(const struct lnm_who *who, struct lnm_table *t, struct lnm_name *block,
                            bool create_if, bool *kept)
{
    struct lnm_string name = lnm_name_string(block);
    struct lnm_name *old = lnm_lookup(t, name, block->mode, block->mode, false);
    struct lnm_name *inner = block->mode ? lnm_lookup(t, name, PSL$C_KERNEL, block->mode - 1, false)
                                         : NULL;
    bool no_alias = (block->attributes & LNM$M_NO_ALIAS) != 0;
    uint64_t freed;

    if (!lnm_allowed(who, t, LNM_WRITE))
        return SS$_NOPRIV;
    if (block->mode < t->mode)
        return SS$_IVLOGTAB;
    if ((t->flags & LNM_DIRECTORY) && name.length > LNM$C_TABNAMLEN)
        return SS$_IVLOGNAM;
    if (create_if && old) {
        *kept = true;
        return SS$_NORMAL;
    }
    if ((inner && (inner->attributes & LNM$M_NO_ALIAS)) || hides_table(t, block) ||
        lnm_reserved(t, name, block->mode))
        return SS$_DUPLNAM;
    freed = (old ? old->size : 0) + (no_alias ? outer_names(t, name, block->mode, false) : 0);
    if (!lnm_quota_allows(t, block->size, freed))
        return SS$_EXLNMQUOTA;
    if (no_alias)
        outer_names(t, name, block->mode, true);
    if (old)
        lnm_remove(old);
    lnm_insert(t, block);
    return old ? SS$_SUPERSEDE : SS$_NORMAL;
}

cond_t lnm_define(const struct lnm_who *who, struct lnm_string table_name, struct lnm_name *block,
                  bool create_if, char *table, uint32_t *table_length, bool *kept)
{
    struct lnm_table *t;
    cond_t status = lnm_space_ready(who);

    *kept = false;
    if (status != SS$_NORMAL)
        return status;
    if (!lnm_change_begin(who->space))
        return SS$_ABORT;
    status = lnm_first_table(who, table_name, &t);
    if (status == SS$_NORMAL) {
        if (table) {
            *table_length = t->name->length;
            __builtin_memcpy(table, t->name->text, t->name->length);
        }
        status = define_locked(who, t, block, create_if, kept);
    }
    lnm_change_end(who->space);
    return status;
}

/* ---- $DELLNM ---- */

/* May n be deleted? */
static bool may_go(const struct lnm_who *who, const struct lnm_name *n)
{
    if (n->header)
        return !(n->header->flags & LNM_BUILT_IN) && lnm_allowed(who, n->header, LNM_DELETE);
    return true;
}

/* False: it names a table, of which a portion was deleted. */
static bool delete_name(struct lnm_name *n, struct lnm_deletion *d)
{
    struct lnm_table *parent = n->header ? n->header->parent : NULL;

    if (n->header && !lnm_table_clear(n->header, d))
        return false;
    if (n->header)
        lnm_table_delete(n->header);
    else
        lnm_remove(n);
    lnm_group_reap(parent);
    return true;
}

/* Delete a name in all modes from `mode` outward, or nothing if one of them may not be deleted.
   LNM_MORE: not all of it, the mutex was held long enough. */
static cond_t delete_named(const struct lnm_who *who, struct lnm_table *t, struct lnm_string name,
                           uint8_t mode, struct lnm_deletion *d)
{
    unsigned found = 0;

    for (unsigned m = mode; m <= PSL$C_USER; m++) {
        struct lnm_name *n = lnm_lookup(t, name, (uint8_t)m, (uint8_t)m, false);

        found += n != NULL;
        if (n && !may_go(who, n))
            return SS$_NOPRIV;
    }
    if (!found)
        return SS$_NOLOGNAM;
    for (unsigned m = mode; m <= PSL$C_USER; m++) {
        struct lnm_name *n = lnm_lookup(t, name, (uint8_t)m, (uint8_t)m, false);

        if (n && !delete_name(n, d))
            return LNM_MORE;
    }
    return SS$_NORMAL;
}

/* Is `other` deleted together with n, which names a table? Yes if its table is below n's table, or
   if it is the group's table that n's table lies below. */
static bool goes_along(const struct lnm_name *other, const struct lnm_name *n)
{
    const struct lnm_table *h = other->header;

    if (!n->header || !h)
        return false;
    if (h == n->header->parent)
        return true;
    while (h && h != n->header)
        h = h->parent;
    return h != NULL;
}

/* Delete all names from `mode` outward that may be deleted. Deleting a table may delete other names
   of the list too: the search continues after the last name that stays, or from the start if that
   one has been deleted as well. LNM_MORE as above. */
static cond_t delete_all(const struct lnm_who *who, struct lnm_table *t, uint8_t mode,
                         struct lnm_deletion *d)
{
    while (d->steps++ < LNM_AT_ONCE) {
        struct lnm_name *n = d->stays ? lnm_next_name(d->stays) : lnm_first_name(t);

        if (!n)
            return SS$_NORMAL;
        if (n->mode < mode || n == t->name || !may_go(who, n)) {
            d->stays = n;
            continue;
        }
        if (d->stays && goes_along(d->stays, n))
            d->stays = NULL;
        if (!delete_name(n, d))
            return LNM_MORE;
    }
    return LNM_MORE;
}

/* One hold of the mutexes. Results as of lnm_delete, or LNM_MORE. */
static cond_t delete_some(const struct lnm_who *who, struct lnm_string table_name,
                          struct lnm_string name, uint8_t mode, struct lnm_deletion *d)
{
    struct lnm_table *t;
    cond_t status = lnm_first_table(who, table_name, &t);

    if (status == SS$_NORMAL && !lnm_allowed(who, t, LNM_WRITE))
        status = SS$_NOPRIV;
    if (status != SS$_NORMAL)
        return status;
    lnm_deletion_begin(d, lnm_hash_of(t));
    status = name.length ? delete_named(who, t, name, mode, d) : delete_all(who, t, mode, d);
    if (status == SS$_NORMAL)
        lnm_group_reap(t);
    lnm_deletion_end(d);
    return status;
}

cond_t lnm_delete(const struct lnm_who *who, struct lnm_string table_name, struct lnm_string name,
                  uint8_t mode)
{
    struct lnm_deletion d = {0};
    cond_t status = lnm_space_ready(who);

    if (status != SS$_NORMAL)
        return status;
    do {
        if (!lnm_change_begin(who->space))
            return SS$_ABORT;
        status = delete_some(who, table_name, name, mode, &d);
        lnm_change_end(who->space);
    } while (status == LNM_MORE && lnm_deletion_goes_on(&d));
    return status == LNM_MORE ? SS$_ABORT : status;
}
