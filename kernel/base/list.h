/*
 * Doubly linked circular lists. A head is a struct list whose next and prev point to itself when
 * the list is empty; an element contains a struct list and is found by container_of. After
 * list_init() or list_remove() the link of an element points to itself, so that removing it again
 * is harmless and list_empty(&element->link) tells that it is on no list. Callers do the locking.
 */
#ifndef KERNEL_BASE_LIST_H
#define KERNEL_BASE_LIST_H

#include "kernel/base/types.h"

struct list {
    struct list *next, *prev;
};

#define LIST_INIT(head) {&(head), &(head)}

static inline void list_init(struct list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool list_empty(const struct list *head) { return head->next == head; }

/* Insert item directly after `where`; if that is a head, item becomes the first element. */
static inline void list_add_after(struct list *where, struct list *item)
{
    item->next = where->next;
    item->prev = where;
    where->next->prev = item;
    where->next = item;
}

/* Insert item directly before `where`; if that is a head, item becomes the last element. */
static inline void list_add_before(struct list *where, struct list *item)
{
    list_add_after(where->prev, item);
}

static inline void list_add_head(struct list *head, struct list *item)
{
    list_add_after(head, item);
}
static inline void list_add_tail(struct list *head, struct list *item)
{
    list_add_before(head, item);
}

/* Remove item from its list; its link points to itself afterwards. */
static inline void list_remove(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

/* The link of the first or last element, NULL when the list is empty. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}
static inline struct list *list_last(const struct list *head)
{
    return head->prev == head ? NULL : head->prev;
}

/* The link after or before item, NULL at the end. */
static inline struct list *list_next(const struct list *head, const struct list *item)
{
    return item->next == head ? NULL : item->next;
}
static inline struct list *list_prev(const struct list *head, const struct list *item)
{
    return item->prev == head ? NULL : item->prev;
}

/* Remove the first element and return its link, NULL when the list is empty. */
static inline struct list *list_pop_head(struct list *head)
{
    struct list *l = list_first(head);

    if (l)
        list_remove(l);
    return l;
}

/* Append all elements of `from` to `to`; `from` is empty afterwards. */
static inline void list_splice_tail(struct list *to, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

static inline size_t list_length(const struct list *head)
{
    size_t n = 0;

    for (const struct list *l = head->next; l != head; l = l->next)
        n++;
    return n;
}

#define list_entry(link, type, member)       container_of(link, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)  list_entry((head)->prev, type, member)
#define list_next_entry(p, link)             list_entry((p)->link.next, __typeof__(*(p)), link)
#define list_prev_entry(p, link)             list_entry((p)->link.prev, __typeof__(*(p)), link)

/* l runs over the links; the body may not remove l. */
#define list_for_each(l, head) for ((l) = (head)->next; (l) != (head); (l) = (l)->next)

/* Was pos computed from the list's head? The head is not part of an element, so no member of pos is
   accessed; only an address is computed. */
#define list_at_head(pos, head, member) \
    ((const char *)(pos) + offsetof(__typeof__(*(pos)), member) == (const char *)(head))

/* The link after that of pos, which may have been computed from the head. */
#define list_after(pos, member) \
    (((struct list *)((char *)(pos) + offsetof(__typeof__(*(pos)), member)))->next)

/* pos runs over the elements; the body may not remove pos. */
#define list_for_each_entry(pos, head, member)                       \
    for ((pos) = list_first_entry(head, __typeof__(*(pos)), member); \
         !list_at_head(pos, head, member); (pos) = list_next_entry(pos, member))

#define list_for_each_entry_reverse(pos, head, member)              \
    for ((pos) = list_last_entry(head, __typeof__(*(pos)), member); \
         !list_at_head(pos, head, member); (pos) = list_prev_entry(pos, member))

/* As above; the body may remove (and free) pos, but not tmp. */
#define list_for_each_entry_safe(pos, tmp, head, member)                         \
    for ((pos) = list_first_entry(head, __typeof__(*(pos)), member),             \
        (tmp) = list_entry(list_after(pos, member), __typeof__(*(pos)), member); \
         !list_at_head(pos, head, member);                                       \
         (pos) = (tmp), (tmp) = list_entry(list_after(tmp, member), __typeof__(*(pos)), member))

#endif
