/* The mappings of a walker, and the patterns in their pages. */
#include "walk.h"

struct mapping *mapping_new(void)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (self.maps[i].kind == NONE) {
            self.maps[i] = (struct mapping){.region = -1, .read = true, .write = true};
            return &self.maps[i];
        }
    return NULL;
}

struct mapping *mapping_any(bool (*fits)(const struct mapping *m))
{
    unsigned at = (unsigned)draw(MAPPINGS);

    for (unsigned i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &self.maps[(at + i) % MAPPINGS];

        if (m->kind != NONE && (!fits || fits(m)))
            return m;
    }
    return NULL;
}

struct region *region_any(void)
{
    unsigned at = (unsigned)draw(REGIONS);

    for (unsigned i = 0; i < REGIONS; i++)
        if (self.regions[(at + i) % REGIONS].used)
            return &self.regions[(at + i) % REGIONS];
    return NULL;
}

void forget_region(int region)
{
    for (unsigned i = 0; i < MAPPINGS; i++)
        if (self.maps[i].kind != NONE && self.maps[i].region == region)
            self.maps[i].kind = NONE;
    self.regions[region].used = false;
}

static uint64_t pattern(const struct mapping *m, uint64_t page)
{
    return (m->tag << 32) ^ page * 0x9E3779B97F4A7C15ul ^ 0x57A1Cul;
}

/* The word of a page that holds its pattern. It differs from page to page, so that all parts of
   pages are tested. */
static volatile uint64_t *word_of(const struct mapping *m, uint64_t i)
{
    uint64_t page = m->first + i;

    return (volatile uint64_t *)(m->start + i * PAGE) + page % (PAGE / 8);
}

static void touch_page(struct mapping *m, uint64_t i)
{
    volatile uint64_t *w = word_of(m, i);
    uint64_t page = m->first + i, want = pattern(m, page), got;
    bool tracked = m->kind == PRIVATE && page < TRACKED_PAGES;
    bool written = tracked && (m->touched[page / 64] >> (page % 64)) & 1;

    if (!m->read)
        return;
    got = *w;
    if (got != want && (got != 0 || written))
        wrong("page %lu of the mapping at %p (kind %d, section %u) holds %#lx, not %#lx%s",
              (unsigned long)page, (void *)m->start, m->kind, m->section, (unsigned long)got,
              (unsigned long)want, tracked ? "" : " or 0");
    if (tracked && !written && got != 0)
        wrong("page %lu of the mapping at %p is not new: %#lx", (unsigned long)page,
              (void *)m->start, (unsigned long)got);
    if (!m->write)
        return;
    *w = want;
    if (tracked)
        m->touched[page / 64] |= 1ul << (page % 64);
    if (*w != want)
        wrong("page %lu does not keep what was written", (unsigned long)page);
}

void touch(struct mapping *m)
{
    uint64_t pages = m->bytes / PAGE, at = draw(pages), n = 1 + draw(24);

    /* Mostly consecutive pages, sometimes scattered ones. */
    if (draw(4) == 0)
        for (; n > 0; n--)
            touch_page(m, draw(pages));
    else
        for (; n > 0 && at < pages; n--, at++)
            touch_page(m, at);
}

void mapping_cut(struct mapping *m, uint64_t from, uint64_t bytes)
{
    uint64_t end = from + bytes;
    struct mapping *rest;

    if (from == 0 && end >= m->bytes) {
        m->kind = NONE;
        return;
    }
    if (end < m->bytes) {
        rest = from == 0 ? m : mapping_new();
        if (rest) {
            uint64_t low = m->bytes;

            if (rest != m)
                *rest = *m;
            rest->start += end;
            rest->first += end / PAGE;
            rest->bytes = low - end;
        } /* else it stays mapped until the region or the process ends */
    }
    if (from > 0)
        m->bytes = from;
}
