/*
 * Lists of names for displays. Tables come in the order of a search list, or (all tables) in that
 * of the directories, the process's first; names in the order of their definition. A caller
 * continues from the last name it has shown, which is found by its table's number and the hash. If
 * that name has been deleted meanwhile, the caller goes on by its index: the n-th name of a table
 * is found in logarithmic time (lnm_order.c).
 *
 * In a list of all tables, a table's number is that of its name in the process's directory, or that
 * in the system's and the names of the process's. There may be thousands of names in a directory,
 * of tables and others. So the mutex is released after each LNM_AT_ONCE of them; the walk goes on
 * by number, and if names have been deleted meanwhile it may leave out as many.
 *
 * The LNM mutex is held shared, also while the callback runs; nothing is allocated.
 */
#include "kernel/lnm/lnm_private.h"
#include "kernel/sched/thread.h"

struct walk {
    const struct lnm_who *who;
    const struct lnm_place *from; /* NULL: `left` counts from the start */
    bool next;                    /* the name after that place is wanted, not that one */
    bool passed;                  /* the place was found */
    uint64_t left;                /* names to skip */
    uint32_t number;              /* tables seen so far */
    const struct lnm_name *found;
};

/* The wanted name, if it is in this table; NULL: it is in a later one. */
static struct lnm_name *count_down(const struct lnm_table *t, struct walk *w)
{
    if (w->left >= t->count) {
        w->left -= t->count;
        return NULL;
    }
    return lnm_nth_name(t, w->left);
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
            return number < w->from->table_number ? SS$_NOLOGNAM : SS$_NONEXPR;
        n = lnm_lookup(t, w->from->name, w->from->mode, w->from->mode, false);
        if (!n)
            return SS$_NONEXPR;
        w->passed = true;
        if (w->next)
            n = lnm_next_name(n);
    }
    w->found = n;
    return n ? SS$_NORMAL : SS$_NOLOGNAM;
}

/* Let go of the mutex for a moment. False: the thread is to end, and the mutex is not held. */
static bool pause(void)
{
    bool wanted = mutex_wanted(&lnm_mutex);

    mutex_unlock_shared(&lnm_mutex);
    if (wanted)
        thread_yield();
    return !thread_killed() && mutex_lock_shared_killable(&lnm_mutex) == 0;
}

/* Every table that a directory names, from the name with that number on; `before`: the numbers that
 * come before those of the directory. SS$_ABORT: the mutex is not held any more. */
static cond_t walk_directory(const struct lnm_table *directory, uint64_t before, uint64_t number,
                             struct walk *w)
{
    struct lnm_name *n = lnm_nth_name(directory, number);
    cond_t status = SS$_NOLOGNAM;

    for (unsigned steps = 1; n; steps++) {
        w->number = (uint32_t)(before + number++);
        if (n->header)
            status = walk_table(n->header, w);
        if (status != SS$_NOLOGNAM)
            return status;
        n = lnm_next_name(n);
        if (steps % LNM_AT_ONCE == 0) {
            if (!pause())
                return SS$_ABORT;
            n = lnm_nth_name(directory, number);
        }
    }
    return status;
}

/* Both directories, from the table on that the list goes on in. */
static cond_t walk_directories(struct walk *w)
{
    const struct lnm_table *own = w->who->space->directory;
    uint64_t from = w->from ? w->from->table_number : 0, names = own->count;
    cond_t status = SS$_NOLOGNAM;

    if (from < names)
        status = walk_directory(own, 0, from, w);
    if (status != SS$_NOLOGNAM)
        return status;
    names = own->count;
    return walk_directory(lnm_system_directory, names, from > names ? from - names : 0, w);
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
        status = walk_directories(w);
        if (status == SS$_ABORT)
            return status;
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
