/*
 * Global section directory.
 *
 * A search tree of GSDs in paged pool, by name and scope. It is accessed only at IPL 0 under the
 * GSD mutex: a fault needs no name, since it finds its section through the map entry. Only the
 * allocation of a GSD can fail.
 */
#include "mm/section/section_gsd.h"

#include "kernel/base/abi/seciddef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/sched/mutex.h"
#include "mm/pool/pool.h"

static struct mutex gsd_mutex;
static struct treap directory; /* of struct gsd; GSD mutex */

void gsd_boot(void) { mutex_init(&gsd_mutex, "GSD", MUTEX_GSD); }

void gsd_lock(void) { mutex_lock(&gsd_mutex); }
cond_t gsd_lock_service(void)
{
    return mutex_lock_killable(&gsd_mutex) == 0 ? SS$_NORMAL : SS$_ABORT;
}
void gsd_unlock(void) { mutex_unlock(&gsd_mutex); }

static struct gsd *gsd_of(struct treap_node *n) { return container_of(n, struct gsd, node); }

/* How n compares to g: below 0, 0, or above 0. */
static int compare(const struct section_name *n, const struct gsd *g)
{
    bool sysgbl = (g->section->flags & SEC$M_SYSGBL) != 0;
    int order = (int)n->length - g->name_length;

    if (order == 0)
        order = memcmp(n->name, g->name, n->length);
    if (order == 0)
        order = (int)n->sysgbl - sysgbl;
    if (order == 0 && !sysgbl && n->group != g->group)
        order = n->group < g->group ? -1 : 1;
    return order;
}

struct gsd *gsd_lookup_locked(const struct section_name *n)
{
    struct treap_node *at = directory.root;

    while (at) {
        int order = compare(n, gsd_of(at));

        if (order == 0)
            return gsd_of(at);
        at = order < 0 ? at->left : at->right;
    }
    return NULL;
}

struct gsd *gsd_alloc_locked(const struct section_request *r)
{
    struct gsd *g = pgd_alloc_zeroed(sizeof(*g));

    if (!g)
        return NULL;
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
    struct section_name n = {.name = g->name,
                             .length = g->name_length,
                             .sysgbl = (s->flags & SEC$M_SYSGBL) != 0,
                             .group = g->group};
    struct treap_node *up = NULL, **where = &directory.root;

    g->section = s;
    s->gsd = g;
    g->named = true;
    while (*where) {
        up = *where;
        where = compare(&n, gsd_of(up)) < 0 ? &up->left : &up->right;
    }
    treap_insert(&directory, &g->node, up, where);
}

void gsd_unname_locked(struct gsd *g)
{
    if (g->named)
        treap_remove(&directory, &g->node);
    g->named = false;
}

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
