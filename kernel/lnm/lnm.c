/* Logical names: the operations, each one hold of the LNM mutex. */
#include "kernel/lnm/lnm_private.h"

struct mutex lnm_mutex = MUTEX_INIT("LNM", MUTEX_LNM, lnm_mutex);

static struct lnm_view view_of(const struct lnm_name *n)
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

static int look_in(struct lnm_table *t, void *arg)
{
    struct translation_search *s = arg;

    if (!lnm_allowed(s->who, t, LNM_READ)) {
        s->denied = true;
        return 0;
    }
    s->found = lnm_lookup(t, s->name, PSL$C_KERNEL, s->mode, s->case_blind);
    return s->found ? SS$_NORMAL : 0;
}

int lnm_translate(const struct lnm_who *who, struct lnm_string table_name, struct lnm_string name,
                  uint8_t mode, bool case_blind, int (*fn)(const struct lnm_view *v, void *arg),
                  void *arg)
{
    struct translation_search s = {who, name, mode, case_blind, false, NULL};
    bool any;
    int status = lnm_space_ready(who);

    if (status)
        return status;
    mutex_lock_shared(&lnm_mutex);
    status = lnm_for_tables(who, table_name, &any, look_in, &s);
    if (s.found) {
        struct lnm_view v = view_of(s.found);

        status = fn(&v, arg);
    } else if (status == 0) {
        status = !any ? SS$_IVLOGTAB : s.denied ? SS$_NOPRIV : SS$_NOLOGNAM;
    }
    mutex_unlock_shared(&lnm_mutex);
    return status;
}

/* ---- $CRELNM ---- */

/* Bytes of the names of outer modes that a name without alias puts an end to; remove: do so. */
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

/* Does a name that stands for a table go with the block? Only $DELLNM and $CRELNT do that. */
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

static int define_locked(const struct lnm_who *who, struct lnm_table *t, struct lnm_name *block,
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
    if ((inner && (inner->attributes & LNM$M_NO_ALIAS)) || hides_table(t, block))
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

int lnm_define(const struct lnm_who *who, struct lnm_string table_name, struct lnm_name *block,
               bool create_if, char *table, uint32_t *table_length, bool *kept)
{
    struct lnm_table *t;
    int status = lnm_space_ready(who);

    *kept = false;
    if (status)
        return status;
    mutex_lock(&lnm_mutex);
    status = lnm_first_table(who, table_name, &t);
    if (status == SS$_NORMAL) {
        if (table) {
            *table_length = t->name->length;
            __builtin_memcpy(table, t->name->text, t->name->length);
        }
        status = define_locked(who, t, block, create_if, kept);
    }
    mutex_unlock(&lnm_mutex);
    return status;
}

/* ---- $DELLNM ---- */

static bool may_go(const struct lnm_who *who, const struct lnm_name *n)
{
    if (n->header)
        return !(n->header->flags & LNM_BUILT_IN) && lnm_allowed(who, n->header, LNM_DELETE);
    return true;
}

static void delete_name(struct lnm_name *n)
{
    if (n->header)
        lnm_table_delete(n->header);
    else
        lnm_remove(n);
}

/* All of one name from a mode outward. Nothing goes if one of them may not. */
static int delete_named(const struct lnm_who *who, struct lnm_table *t, struct lnm_string name,
                        uint8_t mode)
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

        if (n)
            delete_name(n);
    }
    return SS$_NORMAL;
}

/* All names from a mode outward that may go. A table that goes takes others of the list along, so
   the search starts anew after each of those. */
static int delete_all(const struct lnm_who *who, struct lnm_table *t, uint8_t mode)
{
    struct lnm_name *n, *next;
    bool again;

    do {
        again = false;
        list_for_each_entry_safe(n, next, &t->names, in_table)
        {
            if (n->mode < mode || n == t->name || !may_go(who, n))
                continue;
            again = n->header != NULL;
            delete_name(n);
            if (again)
                break;
        }
    } while (again);
    return SS$_NORMAL;
}

int lnm_delete(const struct lnm_who *who, struct lnm_string table_name, struct lnm_string name,
               uint8_t mode)
{
    struct lnm_table *t;
    int status = lnm_space_ready(who);

    if (status)
        return status;
    mutex_lock(&lnm_mutex);
    status = lnm_first_table(who, table_name, &t);
    if (status == SS$_NORMAL && !lnm_allowed(who, t, LNM_WRITE))
        status = SS$_NOPRIV;
    if (status == SS$_NORMAL)
        status = name.length ? delete_named(who, t, name, mode) : delete_all(who, t, mode);
    mutex_unlock(&lnm_mutex);
    return status;
}

/* ---- display ---- */

struct nth {
    const struct lnm_who *who;
    uint64_t left;
    const struct lnm_name *found;
};

static int nth_in(struct lnm_table *t, void *arg)
{
    struct nth *s = arg;
    struct lnm_name *n;

    if (!lnm_allowed(s->who, t, LNM_READ))
        return 0;
    if (s->left >= t->count) {
        s->left -= t->count;
        return 0;
    }
    list_for_each_entry(n, &t->names, in_table) if (s->left-- == 0)
    {
        s->found = n;
        return SS$_NORMAL;
    }
    return 0;
}

/* Every table that a directory names. */
static int nth_in_directory(struct lnm_table *directory, struct nth *s)
{
    struct lnm_name *n;

    list_for_each_entry(n, &directory->names,
                        in_table) if (n->header && nth_in(n->header, s)) return SS$_NORMAL;
    return 0;
}

int lnm_nth(const struct lnm_who *who, struct lnm_string table_name, uint64_t index,
            int (*fn)(const struct lnm_entry *e, void *arg), void *arg)
{
    struct nth s = {who, index, NULL};
    bool any;
    int status = lnm_space_ready(who);

    if (status)
        return status;
    mutex_lock_shared(&lnm_mutex);
    if (table_name.length)
        status = lnm_for_tables(who, table_name, &any, nth_in, &s);
    else if (!nth_in_directory(who->space->directory, &s))
        nth_in_directory(lnm_system_directory, &s);
    if (s.found) {
        const struct lnm_table *h = s.found->header;
        struct lnm_entry e = {
            .view = view_of(s.found), .shareable = !s.found->table->space, .is_table = h != NULL};

        if (h) {
            e.names = h->count;
            if (h->quota_of == h && h->limit != UINT64_MAX) {
                e.quota = h->limit;
                e.left = h->limit - h->charged;
            }
        }
        status = fn(&e, arg);
    } else if (status == 0) {
        status = SS$_NOLOGNAM;
    }
    mutex_unlock_shared(&lnm_mutex);
    return status;
}
