/* Writes: parts that follow each other become one request. */
#include "kernel/fs/ext4/store.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"

static void note(struct ext4_store *s, int err)
{
    if (!s->err)
        s->err = err;
}

static void finish_one(struct ext4_store *s)
{
    struct block_request *r = s->way[s->first++ % EXT4_STORE_WAY];

    s->count--;
    note(s, block_wait_ended(r));
    block_drop(r);
}

/* A request, with the memory of earlier ones if there is no other. */
static struct block_request *make(struct ext4_store *s)
{
    const struct block_volume *v = s->volume;
    struct block_request *r;

    while (!(r = block_new(v, BLOCK_WRITE, s->start / v->disk->sector_bytes, s->bytes)) && s->count)
        finish_one(s);
    return r;
}

static void fill(const struct ext4_store *s, struct block_request *r)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < s->nparts; k++)
        for (uint32_t done = 0, part; done < s->part[k].n; done += part, at += part) {
            part = (uint32_t)MIN((uint64_t)(s->part[k].n - done), PAGE_SIZE - (at & PAGE_MASK));
            memcpy((uint8_t *)kseg_page(r->page[at >> PAGE_SHIFT]) + (at & PAGE_MASK),
                   (const uint8_t *)s->part[k].data + done, part);
        }
}

void ext4_store_push(struct ext4_store *s)
{
    struct block_request *r;

    if (!s->bytes)
        return;
    if (s->count == EXT4_STORE_WAY)
        finish_one(s);
    r = make(s);
    if (r) {
        fill(s, r);
        s->way[(s->first + s->count++) % EXT4_STORE_WAY] = r;
        block_submit(r);
    } else {
        note(s, -ENOMEM);
    }
    s->nparts = s->bytes = 0;
}

void ext4_store_write(struct ext4_store *s, uint64_t offset, const void *data, uint32_t n)
{
    if (s->bytes && (offset != s->start + s->bytes || s->nparts == EXT4_STORE_PARTS ||
                     s->bytes + n > EXT4_STORE_BYTES))
        ext4_store_push(s);
    if (!s->bytes)
        s->start = offset;
    s->part[s->nparts++] = (struct ext4_store_part){data, n};
    s->bytes += n;
}

int ext4_store_finish(struct ext4_store *s)
{
    int err;

    ext4_store_push(s);
    while (s->count)
        finish_one(s);
    err = s->err;
    s->err = 0;
    return err;
}

int ext4_store_reserve(struct ext4_store *s)
{
    if (!s->flush)
        s->flush = block_new(s->volume, BLOCK_FLUSH, 0, 0);
    return s->flush ? 0 : -ENOMEM;
}

void ext4_store_end(struct ext4_store *s)
{
    if (s->flush)
        block_drop(s->flush);
    s->flush = NULL;
}

int ext4_store_flush(struct ext4_store *s)
{
    int err = ext4_store_reserve(s);
    struct block_request *r = s->flush;

    if (err)
        return err;
    s->flush = NULL;
    block_submit(r);
    err = block_wait_ended(r);
    block_drop(r);
    return err;
}
