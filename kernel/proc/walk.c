/* Walks of lists of processes (walk.h). */
#include "kernel/proc/walk.h"

#include "kernel/proc/process.h"

void process_walk_begin_locked(struct process_walk *w, struct list *head, ipl_t ipl)
{
    *w = (struct process_walk){.head = head, .ipl = ipl};
    list_add_head(head, &w->at.link);
}

struct process *process_walk_next(struct process_walk *w)
{
    for (;;) {
        struct list *l;
        struct process *p;

        if (w->seen >= WALK_AT_ONCE) {
            spin_unlock(&process_lock, w->ipl);
            w->ipl = spin_lock(&process_lock);
            w->seen = 0;
        }
        l = list_next(w->head, &w->at.link);
        list_remove(&w->at.link);
        if (!l)
            return NULL;
        list_add_after(l, &w->at.link);
        w->seen++;
        p = list_entry(l, struct process_place, link)->process;
        if (p)
            return p;
    }
}
