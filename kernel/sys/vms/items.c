/*
 * Item lists.
 *
 * Layout of the two forms of entries, by byte offset:
 *
 *     offset   32-bit form                    64-bit form
 *     0        length (16 bits)               MBO = 1 (16 bits)
 *     2        code (16 bits)                 code (16 bits)
 *     4        padding                        MBMO = -1 (32 bits)
 *     8        address of the buffer          length (64 bits)
 *     16       address for return length      address of the buffer
 *     24                                      address for return length
 *
 * As in descriptors, the padding may happen to be -1. Then the quadword at 8 decides: a length is
 * at most 65535, and no program asks for one byte of a buffer at such a low address.
 */
#include "kernel/sys/vms/items.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/iledef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/sys/vms/args.h"
#include "mm/pool/pool.h"

_Static_assert(sizeof(ILE3) == 24, "an entry of the 32-bit form is 24 bytes long");
_Static_assert(sizeof(ILEB_64) == 32, "an entry of the 64-bit form is 32 bytes long");

cond_t vms_items_start(struct vms_items *l, vaddr_t ua)
{
    ILEB_64 first;
    uint32_t head;

    *l = (struct vms_items){.at = ua};
    if (copyin(&head, ua, sizeof(head)) != 0)
        return SS$_ACCVIO;
    if ((head & 0xFFFF) != 1 || head == 0)
        return SS$_NORMAL;
    /* The first two quadwords are there in both forms. */
    if (copyin(&first, ua, offsetof(ILEB_64, ileb_64$pq_bufaddr)) != 0)
        return SS$_ACCVIO;
    l->wide = first.ileb_64$l_mbmo == -1 && first.ileb_64$q_length <= VMS_ITEM_LENGTH_MAX;
    return SS$_NORMAL;
}

static cond_t next_wide(struct vms_items *l, uint32_t head, struct vms_item *item)
{
    ILEB_64 e;

    if (copyin((char *)&e + sizeof(head), l->at + sizeof(head), sizeof(e) - sizeof(head)) != 0)
        return SS$_ACCVIO;
    memcpy(&e, &head, sizeof(head)); /* each word is read once */
    if (e.ileb_64$w_mbo != 1 || e.ileb_64$l_mbmo != -1)
        return SS$_BADPARAM;
    if (e.ileb_64$q_length > VMS_ITEM_LENGTH_MAX)
        return SS$_BADBUFLEN;
    *item = (struct vms_item){.code = e.ileb_64$w_code,
                              .length = e.ileb_64$q_length,
                              .buffer = (vaddr_t)e.ileb_64$pq_bufaddr,
                              .return_length = (vaddr_t)e.ileb_64$pq_retlen_addr,
                              .wide = true};
    l->at += sizeof(e);
    return SS$_NORMAL;
}

cond_t vms_items_next(struct vms_items *l, struct vms_item *item)
{
    uint32_t head;
    ILE3 e;

    item->code = 0;
    if (copyin(&head, l->at, sizeof(head)) != 0)
        return SS$_ACCVIO;
    if (head == 0)
        return SS$_NORMAL;
    if (++l->count > VMS_ITEMS_MAX)
        return SS$_BADPARAM;
    if (l->wide)
        return next_wide(l, head, item);
    if (copyin((char *)&e + sizeof(head), l->at + sizeof(head), sizeof(e) - sizeof(head)) != 0)
        return SS$_ACCVIO;
    memcpy(&e, &head, sizeof(head)); /* each word is read once */
    *item = (struct vms_item){.code = e.ile3$w_code,
                              .length = e.ile3$w_length,
                              .buffer = (vaddr_t)e.ile3$ps_bufaddr,
                              .return_length = (vaddr_t)e.ile3$ps_retlen_addr};
    l->at += sizeof(e);
    return SS$_NORMAL;
}

cond_t vms_items_chained(struct vms_items *l, struct vms_item *item)
{
    cond_t status = vms_items_next(l, item);

    while (status == SS$_NORMAL && item->code == VMS_ITEM_CHAIN) {
        unsigned count = l->count;

        status = vms_items_start(l, item->buffer);
        l->count = count;
        if (status == SS$_NORMAL)
            status = vms_items_next(l, item);
    }
    return status;
}

/* Make room for another item. */
static bool list_grow(struct vms_item_list *list)
{
    unsigned room = 4 * list->room;
    struct vms_item *more = pgd_alloc(room * sizeof(*more));

    if (!more)
        return false;
    memcpy(more, list->item, list->count * sizeof(*more));
    vms_items_end(list);
    list->item = more;
    list->room = room;
    return true;
}

cond_t vms_items_read(vaddr_t ua, cond_t (*next)(struct vms_items *l, struct vms_item *item),
                      struct vms_item_list *list)
{
    struct vms_items l;
    cond_t status;

    list->item = list->few;
    list->room = VMS_ITEMS_FEW;
    list->count = 0;
    status = vms_items_start(&l, ua);
    while (status == SS$_NORMAL) {
        if (list->count == list->room && !list_grow(list))
            return SS$_INSFMEM;
        status = next(&l, &list->item[list->count]);
        if (status != SS$_NORMAL || list->item[list->count].code == 0)
            break;
        list->count++;
    }
    return status;
}

void vms_items_end(struct vms_item_list *list)
{
    if (list->item != list->few)
        pgd_free(list->item, list->room * sizeof(*list->item));
}

cond_t vms_items_check(vaddr_t ua, cond_t (*next)(struct vms_items *l, struct vms_item *item),
                       cond_t (*check)(const struct vms_item *item, const void *arg),
                       struct vms_item_list *list)
{
    cond_t read = vms_items_read(ua, next, list), checked = vms_items_each(list, check, NULL);

    return checked == SS$_NORMAL ? read : checked;
}

cond_t vms_items_each(const struct vms_item_list *list,
                      cond_t (*fn)(const struct vms_item *item, const void *arg), const void *arg)
{
    cond_t status = SS$_NORMAL;

    for (unsigned i = 0; i < list->count && status == SS$_NORMAL; i++)
        status = fn(&list->item[i], arg);
    return status;
}

cond_t vms_item_probe(const struct vms_item *item)
{
    if (item->length && probe_write(item->buffer, item->length) != 0)
        return SS$_ACCVIO;
    if (item->wide)
        return vms_probe_quad(item->return_length, true);
    if (item->return_length && probe_write(item->return_length, sizeof(uint16_t)) != 0)
        return SS$_ACCVIO;
    return SS$_NORMAL;
}

cond_t vms_item_answer(const struct vms_item *item, const struct vms_answer *answer)
{
    uint64_t n = MIN(item->length, (uint64_t)answer->length);
    uint16_t word = (uint16_t)n;

    if (copyout(item->buffer, answer->bytes, n) != 0)
        return SS$_ACCVIO;
    if (item->length > n && clear_user(item->buffer + n, item->length - n) != 0)
        return SS$_ACCVIO;
    if (item->wide)
        vms_quad_out(item->return_length, n);
    else if (item->return_length && copyout(item->return_length, &word, sizeof(word)) != 0)
        return SS$_ACCVIO;
    return SS$_NORMAL;
}

cond_t vms_short_name(vaddr_t descriptor, char *name, uint32_t most)
{
    uint32_t n;
    /* Read one byte more than is allowed, to detect a longer name. */
    cond_t status = vms_string(descriptor, name, most + 1, &n);

    if (status != SS$_NORMAL)
        return status == SS$_ACCVIO ? status : SS$_IVLOGNAM;
    if (n == 0 || n > most)
        return SS$_IVLOGNAM;
    name[n] = '\0';
    return SS$_NORMAL;
}
