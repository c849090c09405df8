/*
 * Tables: protection, quota, creation and deletion.
 *
 * A table has a name, which is like any other name in a directory except that its header pointer is
 * set: the name of a private table is in its process's directory, that of a shareable one in the
 * system's. Deleting the name deletes the table, with all names in it and all tables below it.
 *
 * Everything is done with the LNM mutex held. Creation fails when paged pool or a quota is short;
 * it then changes nothing. Deletion does not fail and does not recurse. It drops the mutex after
 * each portion, in which case others see a table that loses its names, the last ones first, and at
 * last is gone. Where it was, it remembers by pointers, which are valid if no name has been removed
 * meanwhile by anybody else.
 */
#include "kernel/base/string.h"
#include "kernel/lnm/lnm_private.h"
#include "kernel/sched/thread.h"
#include "mm/phys/failure.h"
#include "mm/pool/pool_charged.h"

bool lnm_allowed(const struct lnm_who *who, const struct lnm_table *t, unsigned access)
{
    bool same_group = who->uic_group == t->uic_group;
    bool member[4] = {who->system, same_group && who->uic_member == t->uic_member, same_group,
                      true};

    if (t->space)
        return true; /* only its own process finds it */
    if (who->space->job && t == who->space->job->table)
        return true;
    if (who->sysnam && (t->flags & (LNM_SYSTEM | LNM_DIRECTORY)))
        return true;
    if (who->grpnam && (t->flags & LNM_GROUP) && same_group)
        return true;
    for (unsigned i = 0; i < 4; i++)
        if (member[i] && ((t->prot >> (4 * i)) & access) == 0)
            return true;
    return false;
}

bool lnm_quota_allows(const struct lnm_table *t, uint64_t more, uint64_t less)
{
    const struct lnm_table *q = t->quota_of;

    return !failure_inject(MEGA_ALLOC_QUOTA) && more <= q->limit &&
           q->charged - less <= q->limit - more;
}

static struct lnm_table *directory_of(const struct lnm_space *space)
{
    return space ? space->directory : lnm_system_directory;
}

struct lnm_table *lnm_table_alloc(struct lnm_string name, uint8_t mode, uint32_t attributes)
{
    uint16_t account = pool_account();
    struct lnm_table *t = pgd_alloc_charged(sizeof(*t), account);
    struct lnm_name *n = lnm_name_alloc(name, mode, attributes | LNM$M_TABLE, 0);

    if (!t || !n) {
        if (t)
            pgd_free_charged(t, sizeof(*t), account);
        if (n)
            lnm_name_free(n);
        return NULL;
    }
    *t = (struct lnm_table){.account = account, .mode = mode, .name = n, .limit = UINT64_MAX};
    list_init(&t->sibling);
    list_init(&t->children);
    list_init(&t->names);
    n->header = t;
    return t;
}

void lnm_table_free(struct lnm_table *t)
{
    lnm_name_free(t->name);
    pgd_free_charged(t, sizeof(*t), t->account);
}

void lnm_table_enter(struct lnm_table *t, struct lnm_table *parent, struct lnm_space *space)
{
    t->space = space;
    t->parent = parent;
    t->quota_of = parent ? parent->quota_of : t;
    if (parent)
        list_add_tail(&parent->children, &t->sibling);
    /* A directory contains its own name. */
    lnm_insert(parent ? directory_of(space) : t, t->name);
}

cond_t lnm_table_new(struct lnm_table *parent, struct lnm_space *space, struct lnm_string name,
                     uint8_t mode, uint32_t attributes, struct lnm_table **out)
{
    struct lnm_table *t = lnm_table_alloc(name, mode, attributes);

    if (!t)
        return SS$_INSFMEM;
    lnm_table_enter(t, parent, space);
    *out = t;
    return SS$_NORMAL;
}

/* ---- deletion ---- */

#define PORTIONS_TURN 64u /* after which any other thread may run: some 500,000 instructions */

/* Delete t, in and below which there is nothing. */
static void delete_empty(struct lnm_table *t)
{
    if (t->quota_of == t && t->parent)
        t->parent->quota_of->charged -= t->limit;
    lnm_remove(t->name);
    list_remove(&t->sibling);
    pgd_free_charged(t, sizeof(*t), t->account);
}

void lnm_deletion_begin(struct lnm_deletion *d, const struct lnm_hash *h)
{
    if (d->hash != h || d->removed != h->removed)
        *d = (struct lnm_deletion){.hash = h, .portions = d->portions};
    d->steps = 0;
}

/* The last name of t but its own, which a directory contains, and is the first there. */
static struct lnm_name *last_name(const struct lnm_table *t)
{
    struct lnm_name *n = lnm_last_name(t);

    return n == t->name ? NULL : n;
}

/* The deepest tables come first, without recursion: the tree may be deep, the kernel stack is
   not. */
bool lnm_table_clear(struct lnm_table *t, struct lnm_deletion *d)
{
    if (d->clear != t)
        d->at = d->clear = t;
    while (d->steps++ < LNM_AT_ONCE) {
        struct lnm_table *at = d->at;
        struct lnm_name *n;

        if (!list_empty(&at->children)) {
            d->at = list_first_entry(&at->children, struct lnm_table, sibling);
        } else if ((n = last_name(at)) != NULL) {
            lnm_remove(n);
        } else if (at != t) {
            d->at = at->parent;
            delete_empty(at);
        } else {
            d->at = d->clear = NULL;
            return true;
        }
    }
    return false;
}

bool lnm_deletion_goes_on(struct lnm_deletion *d)
{
    if (d->wanted || ++d->portions % PORTIONS_TURN == 0)
        thread_yield();
    return !thread_killed();
}

void lnm_table_delete(struct lnm_table *t)
{
    struct lnm_deletion d = {0};

    while (!lnm_table_clear(t, &d))
        d.steps = 0;
    delete_empty(t);
}

cond_t lnm_define_static(struct lnm_table *t, struct lnm_string name, const char *const *to)
{
    uint64_t bytes = 0;
    struct lnm_name *n;

    for (unsigned i = 0; to[i]; i++)
        bytes += lnm_translation_bytes((uint32_t)strlen(to[i]));
    n = lnm_name_alloc(name, PSL$C_KERNEL, 0, bytes);
    if (!n)
        return SS$_INSFMEM;
    for (unsigned i = 0; to[i]; i++)
        memcpy(lnm_name_add(n, (uint8_t)i, 0, (uint32_t)strlen(to[i])), to[i], strlen(to[i]));
    lnm_insert(t, n);
    return SS$_NORMAL;
}

/* ---- $CRELNT ---- */

static bool table_name_ok(struct lnm_string s)
{
    if (s.length == 0 || s.length > LNM$C_TABNAMLEN)
        return false;
    for (uint32_t i = 0; i < s.length; i++) {
        char c = s.s[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
              c == '$' || c == '_'))
            return false;
    }
    return true;
}

/* Make up a name: LNM$ and a count, in hexadecimal. */
static uint32_t invent(char name[LNM$C_TABNAMLEN])
{
    static uint64_t last; /* atomic */
    static const char digits[] = "0123456789ABCDEF";
    uint64_t n = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

    memcpy(name, "LNM$", 4);
    for (unsigned i = 0; i < 16; i++)
        name[4 + i] = digits[n >> (60 - 4 * i) & 15];
    return 20;
}

/* Is there room in the directory's quota for the table's name, which costs `name` bytes, and, if
   the table has a quota of its own, for that in its parent's? What `old`, the table that is
   superseded (NULL: none), gives back is taken into account, but not what lies below it. */
static bool table_quota_allows(const struct lnm_table *parent, const struct lnm_table *directory,
                               const struct lnm_name *old, uint64_t quota, uint64_t name)
{
    const struct lnm_table *gone = old ? old->header : NULL;
    uint64_t name_back = old ? lnm_cost(old) : 0, quota_back = 0;

    if (gone && gone->quota_of == gone && gone->parent->quota_of == parent->quota_of)
        quota_back = gone->limit;
    if (parent->quota_of == directory->quota_of)
        return lnm_quota_allows(parent, quota + name, quota_back + name_back);
    return lnm_quota_allows(parent, quota, quota_back) &&
           lnm_quota_allows(directory, name, name_back);
}

/* One hold of the mutex. *spare: NULL, or the new table, which was not entered yet. A table that it
   supersedes is cleared before: LNM_MORE if that takes another hold. There is no error by then. */
static cond_t create_locked(const struct lnm_who *who, const struct lnm_table_request *r,
                            struct lnm_string name, struct lnm_table **spare,
                            struct lnm_deletion *d)
{
    struct lnm_table *parent, *directory, *new;
    struct lnm_table *above = NULL; /* parent of the table that is superseded */
    struct lnm_name *old, *inner;
    cond_t status = lnm_first_table(who, r->parent, &parent);

    if (status != SS$_NORMAL)
        return status;
    directory = directory_of(parent->space);
    old = lnm_lookup(directory, name, r->mode, r->mode, false);
    if (old && old->header && (r->attributes & LNM$M_CREATE_IF))
        return SS$_NORMAL;
    if (!lnm_allowed(who, parent, LNM_CREATE) || !lnm_allowed(who, directory, LNM_CREATE))
        return SS$_NOPRIV;
    if (r->mode < parent->mode)
        return SS$_NOPRIV;
    inner = r->mode ? lnm_lookup(directory, name, PSL$C_KERNEL, r->mode - 1, false) : NULL;
    if ((inner && (inner->attributes & LNM$M_NO_ALIAS)) || lnm_reserved(directory, name, r->mode))
        return SS$_DUPLNAM;
    if (old && (!old->header || (old->header->flags & LNM_BUILT_IN)))
        return SS$_DUPLNAM;
    if (old && !lnm_allowed(who, old->header, LNM_DELETE))
        return SS$_NOPRIV;
    /* Would the parent be deleted together with the table that is superseded? */
    for (struct lnm_table *up = parent; old && up; up = up->parent)
        if (up == old->header)
            return SS$_PARENT_DEL;
    /* A quota of its own is charged to the parent's in full at once. */
    if (!table_quota_allows(parent, directory, old, r->quota, lnm_table_cost(name.length)))
        return SS$_EXLNMQUOTA;
    if (!*spare)
        *spare = lnm_table_alloc(name, r->mode, r->attributes & (LNM$M_CONFINE | LNM$M_NO_ALIAS));
    if (!*spare)
        return SS$_INSFMEM;
    if (old) {
        bool cleared;

        lnm_deletion_begin(d, lnm_hash_of(directory));
        cleared = lnm_table_clear(old->header, d);
        lnm_deletion_end(d);
        if (!cleared)
            return LNM_MORE;
        above = old->header->parent;
        lnm_table_delete(old->header);
    }
    new = *spare;
    *spare = NULL;
    lnm_table_enter(new, parent, parent->space);
    lnm_group_reap(above);
    new->uic_group = who->uic_group;
    new->uic_member = who->uic_member;
    new->prot = r->has_prot ? r->prot : parent->prot;
    if (r->quota) {
        parent->quota_of->charged += r->quota;
        new->quota_of = new;
        new->limit = r->quota;
    }
    return above ? SS$_SUPERSEDE : SS$_LNMCREATED;
}

cond_t lnm_table_create(const struct lnm_who *who, const struct lnm_table_request *r,
                        char *name_out, uint32_t *name_length)
{
    struct lnm_string name = r->name;
    struct lnm_table *spare = NULL;
    struct lnm_deletion d = {0};
    cond_t status;

    if (name.length && !table_name_ok(name))
        return SS$_IVLOGNAM;
    status = lnm_space_ready(who);
    if (status != SS$_NORMAL)
        return status;
    if (name.length == 0) {
        name.length = invent(name_out);
        name.s = name_out;
    } else {
        memcpy(name_out, name.s, name.length);
    }
    *name_length = name.length;
    do {
        status = SS$_ABORT;
        if (!lnm_change_begin(who->space))
            break;
        status = create_locked(who, r, name, &spare, &d);
        lnm_change_end(who->space);
    } while (status == LNM_MORE && lnm_deletion_goes_on(&d));
    if (spare)
        lnm_table_free(spare);
    return status == LNM_MORE ? SS$_ABORT : status;
}
