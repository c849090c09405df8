// SOURCES: kernel/base/treap.c kernel/ipc/msg_list.c
/* The messages of a queue against an array, while they come and go at random. */
#include "kernel/ipc/msg_list.h"
#include "userland/lib/include/tap.h"

#define MOST  200u
#define TYPES 6

static struct ipc_msg pool[MOST];
static struct ipc_msg *at[MOST]; /* in the list, the oldest first */
static unsigned n;
static uint64_t random_state = 1;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 40) % below;
}

/* The first in the array of that type, or (but) of any other. */
static struct ipc_msg *first_of(int64_t type, bool but)
{
    for (unsigned i = 0; i < n; i++)
        if ((at[i]->type == type) != but)
            return at[i];
    return NULL;
}

static struct ipc_msg *first_of_lowest(void)
{
    struct ipc_msg *best = NULL;

    for (unsigned i = 0; i < n; i++)
        if (!best || at[i]->type < best->type)
            best = at[i];
    return best;
}

static bool right(const struct msg_list *l)
{
    const struct ipc_msg *m = msg_list_first(l);

    for (unsigned i = 0; i < n; m = msg_list_next(m), i++)
        if (m != at[i] || msg_list_nth(l, i) != m || !msg_list_has(l, m->type, m->age))
            return false;
    for (int64_t type = 0; type <= TYPES + 1; type++)
        if (msg_list_of_type(l, type) != first_of(type, false) ||
            msg_list_but_type(l, type) != first_of(type, true))
            return false;
    return !m && !msg_list_nth(l, n) && msg_list_of_lowest(l) == first_of_lowest();
}

static void come(struct msg_list *l)
{
    struct ipc_msg *m = NULL;

    for (unsigned i = draw(MOST); !m; i = (i + 1) % MOST)
        if (!pool[i].type)
            m = &pool[i];
    m->type = 1 + draw(TYPES);
    msg_list_enter(l, m);
    at[n++] = m;
}

static bool go(struct msg_list *l)
{
    unsigned k = draw(n);
    struct ipc_msg *m = at[k];
    int64_t type = m->type;

    msg_list_take_out(l, m);
    memmove(&at[k], &at[k + 1], (--n - k) * sizeof(at[0]));
    m->type = 0;
    return !msg_list_has(l, type, m->age);
}

int main(void)
{
    struct msg_list l = {0};
    unsigned good = 0, steps = 6000, gone = 0, left = 0;

    for (unsigned i = 0; i < steps; i++) {
        bool fill = i / 500 % 2 == 0; /* now it grows, now it shrinks */

        if (n == 0 || (n < MOST && draw(3) < (fill ? 2u : 1u))) {
            come(&l);
        } else {
            left++;
            gone += go(&l);
        }
        good += right(&l);
    }
    is(good, steps, "each message is found by number and by type after each change");
    is(gone, left, "those that were taken out are not");
    return tap_done();
}
