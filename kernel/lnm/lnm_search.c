/*
 * From a table's name to tables. The name is looked up in the process's directory, then in the
 * system's. It stands either for a table or for a list of names, which are looked up in the same
 * way, depth first: LNM$FILE_DEV is such a list.
 *
 * The LNM mutex is held. Depth (LNM$C_MAXDEPTH) and number of names (LNM_VISITS_MAX) are limited,
 * since lists may refer to themselves; nothing is allocated.
 */
#include "kernel/lnm/lnm_private.h"

struct visit {
    const struct lnm_who *who;
    cond_t (*fn)(struct lnm_table *t, void *arg);
    void *arg;
    unsigned seen;
    bool any;
};

static struct lnm_name *in_directories(const struct lnm_who *who, struct lnm_string name)
{
    struct lnm_name *n = lnm_lookup(who->space->directory, name, PSL$C_KERNEL, PSL$C_USER, false);

    return n ? n : lnm_lookup(lnm_system_directory, name, PSL$C_KERNEL, PSL$C_USER, false);
}

static cond_t visit(struct visit *v, struct lnm_string name, unsigned depth)
{
    const struct lnm_translation *t;
    struct lnm_name *n;

    if (depth > LNM$C_MAXDEPTH || ++v->seen > LNM_VISITS_MAX)
        return SS$_TOOMANYLNAM;
    n = in_directories(v->who, name);
    if (!n)
        return SS$_NOLOGNAM;
    if (n->header) {
        v->any = true;
        return v->fn(n->header, v->arg);
    }
    for (unsigned i = 0; (t = lnm_translation_at(n, i)) != NULL; i++) {
        cond_t status = visit(v, (struct lnm_string){t->text, t->length}, depth + 1);

        if (status != SS$_NOLOGNAM)
            return status;
    }
    return SS$_NOLOGNAM;
}

cond_t lnm_for_tables(const struct lnm_who *who, struct lnm_string name, bool *any,
                      cond_t (*fn)(struct lnm_table *t, void *arg), void *arg)
{
    struct visit v = {.who = who, .fn = fn, .arg = arg};
    cond_t status = visit(&v, name, 0);

    *any = v.any;
    return status;
}

static cond_t take(struct lnm_table *t, void *arg)
{
    *(struct lnm_table **)arg = t;
    return SS$_NORMAL;
}

cond_t lnm_first_table(const struct lnm_who *who, struct lnm_string name, struct lnm_table **out)
{
    bool any;
    cond_t status = lnm_for_tables(who, name, &any, take, out);

    return status == SS$_NOLOGNAM ? SS$_NOLOGTAB : status;
}
