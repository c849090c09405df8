/*
 * Common event flag clusters: named, shared by the processes of a UIC group.
 *
 * The directory is a tree ordered by group and name, under a mutex, so that a search is short
 * whatever users make. A cluster goes when no process is associated with it, unless it is
 * permanent. A thread that waits in a cluster has a reference: another thread of its process may
 * leave the cluster meanwhile.
 *
 * Who makes a temporary cluster is charged a timer request for it, as on OpenVMS, until the cluster
 * goes: of the two that each process can be associated with, it has made no more than it may.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/event/event_private.h"
#include "kernel/sched/mutex.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

static struct mutex directory_lock = MUTEX_INIT("event flag clusters", MUTEX_CLUSTERS,
                                                directory_lock);
static struct treap directory; /* protected by directory_lock */

static struct event_common *cluster_of(const struct treap_node *n)
{
    return container_of(n, struct event_common, node);
}

void event_common_unref(struct event_common *c)
{
    if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0)
        npp_free_charged(c, sizeof(*c), c->account);
}

/* ---- the directory; its lock is held ---- */

static int order(uint32_t group, const struct event_cluster_name *name,
                 const struct event_common *c)
{
    int differs;

    if (group != c->uic_group)
        return group < c->uic_group ? -1 : 1;
    differs = memcmp(name->text, c->name.text, MIN(name->length, c->name.length));
    return differs ? differs : (int)name->length - (int)c->name.length;
}

/* Find a cluster. NULL: there is none, and *up and *where are its place. */
static struct event_common *find(uint32_t group, const struct event_cluster_name *name,
                                 struct treap_node **up, struct treap_node ***where)
{
    *up = NULL;
    *where = &directory.root;
    while (**where) {
        int way = order(group, name, cluster_of(**where));

        if (way == 0)
            return cluster_of(**where);
        *up = **where;
        *where = way < 0 ? &(*up)->left : &(*up)->right;
    }
    return NULL;
}

/* If nothing keeps it, take the cluster out of the directory. */
static void check_end(struct event_common *c)
{
    if (c->permanent || c->associations)
        return;
    treap_remove(&directory, &c->node);
    if (c->charged) {
        __atomic_fetch_sub(&c->charged->ntimers, 1, __ATOMIC_RELAXED);
        event_owner_unref(c->charged);
    }
    event_common_unref(c);
}

static cond_t make(struct event_owner *o, const struct event_cluster_name *name,
                   const struct event_who *who, bool owner_only, bool permanent,
                   struct event_common **made)
{
    struct treap_node *up, **where;
    struct event_common *c;

    if (permanent && !who->prmceb)
        return SS$_NOPRIV;
    if (!permanent && !event_timer_charge(o))
        return SS$_EXQUOTA;
    c = npp_alloc_charged(sizeof(*c), who->account);
    if (!c) {
        if (!permanent)
            __atomic_fetch_sub(&o->ntimers, 1, __ATOMIC_RELAXED);
        return SS$_INSFMEM;
    }
    memset(c, 0, sizeof(*c));
    event_cluster_init(&c->cluster);
    c->name = *name;
    c->uic_group = who->uic_group;
    c->uic_member = who->uic_member;
    c->owner_only = owner_only;
    c->permanent = permanent;
    c->refs = 1;
    c->account = who->account;
    if (!permanent) {
        event_owner_ref(o);
        c->charged = o;
    }
    (void)find(who->uic_group, name, &up, &where);
    treap_insert(&directory, &c->node, up, where);
    *made = c;
    return SS$_NORMAL;
}

/* Find the cluster, or make it. */
static cond_t get(struct event_owner *o, const struct event_cluster_name *name,
                  const struct event_who *who, bool owner_only, bool permanent,
                  struct event_common **c)
{
    struct treap_node *up, **where;

    *c = find(who->uic_group, name, &up, &where);
    if (!*c)
        return make(o, name, who, owner_only, permanent, c);
    return (*c)->owner_only && (*c)->uic_member != who->uic_member ? SS$_NOPRIV : SS$_NORMAL;
}

/* Put c, or NULL, in the place of the cluster that the owner is associated with. */
static void exchange(struct event_owner *o, uint32_t efn, struct event_common *c)
{
    struct event_common **place = &o->common[(efn - EVENT_LOCAL_FLAGS) / 32], *old;
    ipl_t ipl;

    if (c) {
        c->associations++;
        __atomic_fetch_add(&c->refs, 1, __ATOMIC_RELAXED);
    }
    ipl = spin_lock(&o->lock);
    old = *place;
    *place = c;
    spin_unlock(&o->lock, ipl);
    if (!old)
        return;
    old->associations--;
    check_end(old);
    event_common_unref(old);
}

/* ---- the services ---- */

static bool is_common(uint32_t efn) { return efn >= EVENT_LOCAL_FLAGS && efn < EVENT_FLAGS; }

cond_t event_associate(struct event_owner *o, uint32_t efn, const struct event_cluster_name *name,
                       const struct event_who *who, bool owner_only, bool permanent)
{
    struct event_common *c;
    cond_t status;

    if (!is_common(efn))
        return SS$_ILLEFC;
    mutex_lock(&directory_lock);
    status = get(o, name, who, owner_only, permanent, &c);
    if (status == SS$_NORMAL)
        exchange(o, efn, c);
    mutex_unlock(&directory_lock);
    return status;
}

cond_t event_disassociate(struct event_owner *o, uint32_t efn)
{
    if (!is_common(efn))
        return SS$_ILLEFC;
    if (!__atomic_load_n(&o->common[(efn - EVENT_LOCAL_FLAGS) / 32], __ATOMIC_RELAXED))
        return SS$_NORMAL;
    mutex_lock(&directory_lock);
    exchange(o, efn, NULL);
    mutex_unlock(&directory_lock);
    return SS$_NORMAL;
}

cond_t event_cluster_delete(const struct event_cluster_name *name, const struct event_who *who)
{
    struct treap_node *up, **where;
    struct event_common *c;
    cond_t status = SS$_NORMAL;

    mutex_lock(&directory_lock);
    c = find(who->uic_group, name, &up, &where);
    if (c && c->permanent && !who->prmceb) {
        status = SS$_NOPRIV;
    } else if (c) {
        c->permanent = false;
        check_end(c);
    }
    mutex_unlock(&directory_lock);
    return status;
}

bool event_cluster_nth(uint64_t index, struct event_cluster_state *state)
{
    struct treap_node *n;

    mutex_lock(&directory_lock);
    n = treap_first(&directory);
    while (n && index-- > 0)
        n = treap_next(n);
    if (n) {
        const struct event_common *c = cluster_of(n);

        *state = (struct event_cluster_state){.name = c->name,
                                              .uic_group = c->uic_group,
                                              .uic_member = c->uic_member,
                                              .owner_only = c->owner_only,
                                              .permanent = c->permanent,
                                              .associations = c->associations};
    }
    mutex_unlock(&directory_lock);
    return n != NULL;
}

/* ---- the check for leaks ---- */

/* Permanent clusters outlive the processes. */
static void explain(struct census *c)
{
    uint64_t n = 0;

    for (struct treap_node *at = treap_first(&directory); at; at = treap_next(at))
        n++;
    census_explain(c, CENSUS_NONPAGED, sizeof(struct event_common), n);
}

void event_boot(void)
{
    static const struct census_kind kinds[] = {
        {"common event flag cluster", CENSUS_NONPAGED, sizeof(struct event_common)},
        {"events of a process", CENSUS_NONPAGED, sizeof(struct event_owner)},
    };

    census_register(explain, kinds, ARRAY_SIZE(kinds));
}
