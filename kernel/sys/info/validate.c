/*
 * MEGA_INFO_VALIDATE: the self-check of memory for `show memory /validate`. It is done in
 * kernel/proc/validate.c; here its result is converted to the item's structure.
 */
#include "kernel/proc/validate.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/proc/process.h"
#include "kernel/sys/info/info.h"

_Static_assert((int)VALIDATE_KINDS == (int)MEGA_PAGES_KINDS &&
                   (int)VALIDATE_PIPE == (int)MEGA_PAGES_PIPE &&
                   (int)VALIDATE_SYSTEM == (int)MEGA_PAGES_PAGED_POOL,
               "kinds of pages have the same numbers inside and outside");
_Static_assert(sizeof(((struct mega_validate *)0)->pages) == VALIDATE_KINDS * sizeof(uint64_t),
               "there is room for every kind");
_Static_assert(sizeof(((struct mega_validate *)0)->text) == VALIDATE_TEXT, "the text fits");

static void answer(const struct validate_result *r, struct mega_validate *m)
{
    memcpy(m->pages, r->pages, sizeof(m->pages));
    m->total = r->total;
    m->spaces = r->spaces;
    m->entries = r->entries;
    m->objects = r->objects;
    m->sections = r->sections;
    m->mappings = r->mappings;
    m->reservations = r->reservations;
    m->ptes = r->ptes;
    m->errors = r->errors;
    memcpy(m->text, r->text, sizeof(m->text));
}

cond_t info_validate_damaged(const struct validate_damage *d, void *out)
{
    struct mega_validate *m = out;
    struct freeze_blocker who;
    struct validate_result r;

    switch (system_validate(d, &r, &who)) {
    case 0:
        answer(&r, m);
        return SS$_NORMAL;
    case -ETIMEDOUT:
        m->timed_out = 1;
        format(m->text, sizeof(m->text), "thread %u (%s) %s", who.tid, who.name, who.why);
        return SS$_NORMAL;
    case -ENODEV:
        return SS$_ABORT;
    default:
        return SS$_INSFMEM;
    }
}

cond_t info_validate(int64_t index, void *out)
{
    if (!(process_privileges(process_self()) & PRV_CMKRNL))
        return SS$_NOPRIV;
    return index == 0 ? info_validate_damaged(NULL, out) : SS$_NONEXPR;
}
