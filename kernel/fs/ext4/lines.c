/*
 * The line that was not asked for longest is replaced. One that cannot be read leaves its place
 * empty. Lines that are held are in a list of their own, where nobody looks for one to replace.
 */
#include "kernel/fs/ext4/lines.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "mm/pool/pool_census.h"
#include "mm/pool/pool_charged.h"

int ext4_lines_init(struct ext4_lines *l, const struct block_volume *v)
{
    struct ext4_index *index;

    l->volume = v;
    l->bytes = v->sectors * v->disk->sector_bytes;
    l->account = pool_account();
    list_init(&l->order);
    list_init(&l->held);
    index = pgd_alloc_charged(sizeof(*index), l->account);
    if (!index)
        return -ENOMEM;
    memset(index, 0, sizeof(*index));
    for (unsigned k = 0; k < EXT4_LINES; k++) {
        list_init(&index->head[k]);
        list_init(&index->line[k].link);
        list_add_tail(&l->order, &index->line[k].order);
    }
    l->index = index;
    return 0;
}

void ext4_lines_free(struct ext4_lines *l)
{
    struct ext4_index *index = l->index;

    if (!index)
        return;
    for (unsigned k = 0; k < EXT4_LINES; k++)
        if (index->line[k].data)
            pgd_free_charged(index->line[k].data, EXT4_LINE, l->account);
    l->index = NULL;
    pgd_free_charged(index, sizeof(*index), l->account);
}

static struct list *head_of(struct ext4_lines *l, uint64_t number)
{
    return &l->index->head[(number ^ number >> 8) & (EXT4_LINES - 1)];
}

static struct ext4_line *find(struct ext4_lines *l, uint64_t number)
{
    struct ext4_line *line;

    list_for_each_entry(line, head_of(l, number), link)
        if (line->number == number)
            return line;
    return NULL;
}

static void use(struct ext4_lines *l, struct ext4_line *line)
{
    if (line->changed | line->logged)
        return;
    list_remove(&line->order);
    list_add_tail(&l->order, &line->order);
}

/* The line that was not asked for longest, with memory. Lines without memory are the first ones of
 * the order, as long as there are some: if there is no more memory, the first one with some is
 * taken. NULL: there is none. */
static struct ext4_line *make_room(struct ext4_lines *l)
{
    struct ext4_line *line = list_first_entry(&l->order, struct ext4_line, order);

    if (line->data || (line->data = pgd_alloc_charged(EXT4_LINE, l->account)) != NULL)
        return line;
    list_for_each_entry(line, &l->order, order)
        if (line->data)
            return line;
    return NULL;
}

static int fetch(struct ext4_lines *l, uint64_t number, struct ext4_line **out)
{
    uint64_t first = number * EXT4_LINE;
    uint32_t sector = l->volume->disk->sector_bytes;
    struct ext4_line *line = make_room(l);
    int err;

    if (!line)
        return -ENOMEM;
    list_remove(&line->link);
    err = block_read(l->volume, first / sector, line->data,
                     (uint32_t)MIN((uint64_t)EXT4_LINE, l->bytes - first));
    if (err)
        return err;
    line->number = number;
    line->checked = 0;
    list_add_head(head_of(l, number), &line->link);
    *out = line;
    return 0;
}

int ext4_lines_look(struct ext4_lines *l, uint64_t offset, size_t n, const uint8_t **data)
{
    struct ext4_line *line;
    int err;

    if (offset > l->bytes || n > l->bytes - offset)
        return -EUCLEAN;
    line = find(l, offset / EXT4_LINE);
    err = line ? 0 : fetch(l, offset / EXT4_LINE, &line);
    if (err)
        return err;
    use(l, line);
    *data = line->data + offset % EXT4_LINE;
    return 0;
}

int ext4_lines_read(struct ext4_lines *l, uint64_t offset, void *buf, size_t n)
{
    if (offset > l->bytes || n > l->bytes - offset)
        return -EUCLEAN;
    for (size_t done = 0; done < n;) {
        size_t part = MIN(n - done, (size_t)(EXT4_LINE - (offset + done) % EXT4_LINE));
        const uint8_t *data;
        int err = ext4_lines_look(l, offset + done, part, &data);

        if (err)
            return err;
        memcpy((uint8_t *)buf + done, data, part);
        done += part;
    }
    return 0;
}

static uint8_t bits(uint64_t offset, size_t n)
{
    unsigned first = (unsigned)(offset % EXT4_LINE / EXT4_CHECK), many = (unsigned)(n / EXT4_CHECK);

    return (uint8_t)(((1u << many) - 1) << first);
}

void ext4_lines_set_checked(struct ext4_lines *l, uint64_t offset, size_t n)
{
    struct ext4_line *line = find(l, offset / EXT4_LINE);

    if (line)
        line->checked |= bits(offset, n);
}

bool ext4_lines_checked(struct ext4_lines *l, uint64_t offset, size_t n)
{
    const struct ext4_line *line = find(l, offset / EXT4_LINE);

    return line && (line->checked & bits(offset, n)) == bits(offset, n);
}

/* ---- changes ---- */

int ext4_lines_change(struct ext4_lines *l, uint64_t offset, size_t n, uint8_t **data, bool *was)
{
    const uint8_t *there;
    struct ext4_line *line;
    int err = ext4_lines_look(l, offset, n, &there);

    if (err)
        return err;
    line = find(l, offset / EXT4_LINE);
    if (!(line->changed | line->logged)) {
        if (l->nheld == EXT4_HELD)
            return -ENOMEM;
        l->nheld++;
        list_remove(&line->order);
        list_add_tail(&l->held, &line->order);
    }
    *was = (line->changed & bits(offset, n)) != 0;
    line->changed |= bits(offset, n);
    *data = line->data + offset % EXT4_LINE;
    return 0;
}

static void let_go(struct ext4_lines *l, struct ext4_line *line)
{
    if (line->changed | line->logged)
        return;
    l->nheld--;
    list_remove(&line->order);
    list_add_tail(&l->order, &line->order);
}

void ext4_lines_unchange(struct ext4_lines *l, uint64_t offset, size_t n)
{
    struct ext4_line *line = find(l, offset / EXT4_LINE);

    if (!line || !(line->changed & bits(offset, n)))
        return;
    line->changed &= (uint8_t)~bits(offset, n);
    let_go(l, line);
}

size_t ext4_line_parts(uint8_t set, unsigned *part)
{
    unsigned first = *part, end;

    while (first < EXT4_LINE / EXT4_CHECK && !(set >> first & 1))
        first++;
    for (end = first; end < EXT4_LINE / EXT4_CHECK && (set >> end & 1);)
        end++;
    *part = first;
    return (size_t)(end - first) * EXT4_CHECK;
}

void ext4_lines_set_logged(struct ext4_lines *l)
{
    struct ext4_line *line;

    list_for_each_entry(line, &l->held, order) {
        line->logged |= line->changed;
        line->changed = 0;
    }
}

void ext4_lines_set_placed(struct ext4_lines *l)
{
    struct ext4_line *line, *tmp;

    list_for_each_entry_safe(line, tmp, &l->held, order) {
        line->logged = 0;
        let_go(l, line);
    }
}

void ext4_lines_forget(struct ext4_lines *l)
{
    for (unsigned k = 0; k < EXT4_LINES; k++) {
        struct ext4_line *line = &l->index->line[k];

        list_remove(&line->link);
        list_init(&line->link);
        if (line->changed | line->logged) {
            line->changed = line->logged = 0;
            let_go(l, line);
        }
    }
}

void ext4_lines_census(struct census *c, const struct ext4_lines *l)
{
    if (!l->index)
        return;
    census_explain(c, CENSUS_PAGED, sizeof(*l->index), 1);
    for (unsigned k = 0; k < EXT4_LINES; k++)
        if (l->index->line[k].data)
            census_explain(c, CENSUS_PAGED, EXT4_LINE, 1);
}
