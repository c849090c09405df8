#include "kernel/proc/swap_header.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"

#define MAGIC       "SWAPSPACE2"
#define MAGIC_BYTES 10u
#define LEAST_PAGE  4096u
#define VERSION     1u

struct fields { /* from byte 1,024 on; little-endian, as the machine is */
    uint32_t version, last_page, nbad;
    uint8_t uuid[16], label[16];
    uint32_t reserved[117], bad[];
};
#define FIELDS_AT 1024u

int swap_header(void *page, uint64_t nbytes, struct swap_header *h)
{
    struct fields *f = (struct fields *)((char *)page + FIELDS_AT);
    uint64_t size = LEAST_PAGE, end;

    while (memcmp((char *)page + size - MAGIC_BYTES, MAGIC, MAGIC_BYTES) != 0) {
        size *= 2;
        if (size > PAGE_SIZE)
            return -EINVAL;
    }
    end = ((uint64_t)f->last_page + 1) * size;
    if (f->version != VERSION || end > nbytes || end < 2 * PAGE_SIZE ||
        f->nbad > (size - MAGIC_BYTES - FIELDS_AT - sizeof(*f)) / sizeof(f->bad[0]))
        return -EINVAL;
    *h = (struct swap_header){.slots = end / PAGE_SIZE - 1, .bad = f->bad};
    for (uint32_t k = 0; k < f->nbad; k++) {
        uint64_t at = f->bad[k] * size / PAGE_SIZE;

        if (at == 0 || at > h->slots)
            continue; /* the header was read, and what is beyond is not used */
        h->bad[h->nbad++] = (uint32_t)(at - 1);
    }
    return 0;
}
