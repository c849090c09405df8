/* Buffer objects and fandles of a process. Their table is made by the first buffer object, and
 * stays until the program ends; its threads use it without a lock. */
#include "kernel/proc/fast.h"

#include "mm/pool/pool_charged.h"

struct qio_fast *process_fast_make(void)
{
    struct process *p = process_self();
    struct qio_fast *t = process_fast(), *made;
    ipl_t ipl;

    if (t)
        return t;
    made = qio_fast_create(pool_account());
    ipl = spin_lock(&process_lock);
    t = p->fast;
    if (!t && made) {
        __atomic_store_n(&p->fast, made, __ATOMIC_RELEASE);
        t = made;
    }
    spin_unlock(&process_lock, ipl);
    if (made && made != t)
        qio_fast_free(made); /* another thread was faster */
    return t;
}

void process_fast_end_all(struct process *p)
{
    struct qio_fast *t = p->fast;

    p->fast = NULL; /* nobody else looks at it */
    qio_fast_free(t);
}
