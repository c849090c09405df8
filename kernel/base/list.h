/*
 * Doubly linked circular lists. A head is a struct list whose next and prev point to itself when
 * the list is empty; an element carries a struct list and is found by container_of. An element
 * that is on no list is self-linked after list_init() or list_remove(), so removing it again is
 * harmless and list_empty(&element->link) tells whether it is linked.
 * Locking is the owner's business.
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

/* Put item right behind `where` (a head: item becomes the first). */
static inline void list_add_after(struct list *where, struct list *item)
{
    item->next = where->next;
    item->prev = where;
    where->next->prev = item;
    where->next = item;
}

/* Put item right before `where` (a head: item becomes the last). */
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

/* Take item off its list; it is self-linked afterwards. */
static inline void list_remove(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

/* First or last element's link, NULL when the list is empty. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}
static inline struct list *list_last(const struct list *head)
{
    return head->prev == head ? NULL : head->prev;
}

/* The element behind or before item, NULL at the end. */
static inline struct list *list_next(const struct list *head, const struct list *item)
{
    return item->next == head ? NULL : item->next;
}
static inline struct list *list_prev(const struct list *head, const struct list *item)
{
    return item->prev == head ? NULL : item->prev;
}

/* Take the first element off and return its link, NULL when the list is empty. */
static inline struct list *list_pop_head(struct list *head)
{
    struct list *l = list_first(head);

    if (l)
        list_remove(l);
    return l;
}

/* Move everything on `from` to the tail of `to`; `from` is empty afterwards. */
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

/* Whether pos, made from a link, stands for the head. The head is in no element: so no member of
 * pos is named, only an address is computed. */
#define list_at_head(pos, head, member) \
    ((const char *)(pos) + offsetof(__typeof__(*(pos)), member) == (const char *)(head))

/* The link behind that of pos, which may stand for the head. */
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
