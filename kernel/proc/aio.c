/*
 * Contexts of asynchronous I/O of a process. The table is made by the first io_setup, and stays
 * until the program ends; its threads use it without a lock.
 *
 * The number of a context is an address, since libraries look there, as they may on Linux, whether
 * they can read events from a ring: it lies in a page of zeroes, which says no.
 */
#include "kernel/proc/aio.h"

#include "kernel/base/errno.h"
#include "kernel/io/aio.h"
#include "mm/space/aspace.h"

_Static_assert(AIO_CONTEXTS *AIO_STEP <= PAGE_SIZE, "the numbers are addresses in one page");

struct aio_table *process_aio(void)
{
    return __atomic_load_n(&process_self()->aio, __ATOMIC_ACQUIRE);
}

int process_aio_make(struct aio_table **out)
{
    struct process *p = process_self();
    struct aio_table *made;
    vaddr_t va = 0;
    ipl_t ipl;

    *out = process_aio();
    if (*out)
        return 0;
    if (aspace_map_anon(p->aspace, &va, PAGE_SIZE, MAP_R, 0) != 0)
        return -ENOMEM;
    made = aio_table_create(va);
    ipl = spin_lock(&process_lock);
    *out = p->aio;
    if (!*out && made) {
        __atomic_store_n(&p->aio, made, __ATOMIC_RELEASE);
        *out = made;
    }
    spin_unlock(&process_lock, ipl);
    if (made && made == *out)
        return 0;
    if (made)
        aio_table_free(made); /* another thread was faster */
    (void)aspace_unmap(p->aspace, va, PAGE_SIZE);
    return *out ? 0 : -ENOMEM;
}

void process_aio_end_all(struct process *p)
{
    struct aio_table *t = p->aio;

    p->aio = NULL; /* nobody else looks at it */
    aio_table_end(t);
}
