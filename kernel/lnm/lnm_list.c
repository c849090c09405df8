/*
 * Lists of names for displays. Tables come in the order of a search list, or (all tables) in that
 * of the directories, the process's first; names in the order of their definition. A caller
 * continues from the last name it has shown, which is found by its table's position and the hash,
 * so that listing all names takes time in proportion to their number. If that name has been deleted
 * meanwhile, the caller has to count from the start.
 *
 * The LNM mutex is held shared, also while the callback runs; nothing is allocated.
 */
#include "kernel/lnm/lnm_private.h"

struct walk {
    const struct lnm_who *who;
    const struct lnm_place *from; /* NULL: `left` counts from the start */
    bool next;                    /* the name after that place is wanted, not that one */
    bool passed;                  /* the place was found */
    uint64_t left;                /* names to skip */
    uint32_t number;              /* tables seen so far */
    const struct lnm_name *found;
};

static struct lnm_name *name_at(struct list *l)
{
    return l ? list_entry(l, struct lnm_name, in_table) : NULL;
}

/* The wanted name, if it is in this table; NULL: it is in a later one. */
static struct lnm_name *count_down(struct lnm_table *t, struct walk *w)
{
    struct list *l = list_first(&t->names);

    if (w->left >= t->count) {
        w->left -= t->count;
        return NULL;
    }
    while (w->left--)
        l = list_next(&t->names, l);
    return name_at(l);
}

static cond_t walk_table(struct lnm_table *t, void *arg)
{
    struct walk *w = arg;
    uint32_t number = w->number++;
    struct lnm_name *n;

    if (!lnm_allowed(w->who, t, LNM_READ))
        return SS$_NOLOGNAM;
    if (!w->from || w->passed) {
        n = count_down(t, w);
    } else {
        if (number != w->from->table_number)
            return SS$_NOLOGNAM;
        n = lnm_lookup(t, w->from->name, w->from->mode, w->from->mode, false);
        if (!n)
            return SS$_NONEXPR;
        w->passed = true;
        if (w->next)
            n = name_at(list_next(&t->names, &n->in_table));
    }
    w->found = n;
    return n ? SS$_NORMAL : SS$_NOLOGNAM;
}

/* Every table that a directory names. */
static cond_t walk_directory(struct lnm_table *directory, struct walk *w)
{
    struct lnm_name *n;
    cond_t status = SS$_NOLOGNAM;

    list_for_each_entry(n, &directory->names, in_table) {
        if (n->header)
            status = walk_table(n->header, w);
        if (status != SS$_NOLOGNAM)
            break;
    }
    return status;
}

static cond_t show(const struct walk *w, cond_t (*fn)(const struct lnm_entry *e, void *arg),
                   void *arg)
{
    const struct lnm_table *h = w->found->header;
    struct lnm_entry e = {.view = lnm_view_of(w->found),
                          .table_number = w->number - 1,
                          .shareable = !w->found->table->space,
                          .is_table = h != NULL};

    if (h) {
        e.names = h->count;
        if (h->quota_of == h && h->limit != UINT64_MAX) {
            e.quota = h->limit;
            e.left = h->limit - h->charged;
        }
    }
    return fn(&e, arg);
}

static cond_t walk(struct walk *w, struct lnm_string table_name,
                   cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg)
{
    cond_t status = lnm_space_ready(w->who);
    bool any;

    if (status != SS$_NORMAL)
        return status;
    if (mutex_lock_shared_killable(&lnm_mutex) != 0)
        return SS$_ABORT;
    if (table_name.length) {
        status = lnm_for_tables(w->who, table_name, &any, walk_table, w);
    } else {
        status = walk_directory(w->who->space->directory, w);
        if (status == SS$_NOLOGNAM)
            status = walk_directory(lnm_system_directory, w);
    }
    if (w->found)
        status = show(w, fn, arg);
    else if (status == SS$_NOLOGNAM)
        status = w->from && !w->passed ? SS$_NONEXPR : SS$_NOLOGNAM;
    mutex_unlock_shared(&lnm_mutex);
    return status;
}

cond_t lnm_nth(const struct lnm_who *who, struct lnm_string table_name, uint64_t index,
               cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg)
{
    struct walk w = {.who = who, .left = index};

    return walk(&w, table_name, fn, arg);
}

cond_t lnm_at(const struct lnm_who *who, struct lnm_string table_name,
              const struct lnm_place *place, bool next,
              cond_t (*fn)(const struct lnm_entry *e, void *arg), void *arg)
{
    struct walk w = {.who = who, .from = place, .next = next};

    return walk(&w, table_name, fn, arg);
}
