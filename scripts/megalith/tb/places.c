/* Where memory is that a CPU refers to (places.h). */
#include "places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void place_forget(struct places *p)
{
    p->page[TB_FETCH] = p->page[TB_DATA] = PLACE_NO_PAGE;
    p->generation++;
}

void places_init(struct places *p) { place_forget(p); }

static bool same(const struct place *a, const struct place *b)
{
    return a->pid == b->pid && a->stream == b->stream && a->kind == b->kind && a->home == b->home &&
           a->rad == b->rad && strcmp(a->program, b->program) == 0 &&
           strcmp(a->section, b->section) == 0;
}

static struct place **bucket_of(struct places *p, const struct place *key)
{
    uint64_t digest = key->pid * 31 + key->kind * 8 + key->rad;

    for (const char *c = key->section; *c; c++)
        digest = digest * 31 + (unsigned char)*c;
    return &p->bucket[digest % PLACE_BUCKETS];
}

/* The place like this one, which is made if there is none. NULL: there is no memory. */
static struct place *kept(struct places *p, struct place *key)
{
    struct place **bucket, *found;

    if (p->n >= PLACES_MAX) {
        key->pid = 0;
        snprintf(key->program, sizeof(key->program), "(others)");
        key->section[0] = 0;
    }
    bucket = bucket_of(p, key);
    for (found = *bucket; found; found = found->next)
        if (same(found, key))
            return found;
    found = malloc(sizeof(*found));
    if (!found)
        return NULL;
    *found = *key;
    found->next = *bucket;
    p->n++;
    return *bucket = found;
}

/* Another thread runs, or the one that does has another home. */
static void look_at_thread(struct places *p, unsigned cpu, uint64_t root)
{
    if (!guest_thread_changed(&p->thread))
        return;
    place_forget(p);
    p->thread = guest_thread(root, cpu);
    guest_program(root, cpu, p->program);
}

bool place_count(struct places *p, unsigned cpu, uint64_t root, enum tb_stream stream, uint64_t va)
{
    uint64_t page = va >> TB_PAGE_SHIFT;
    unsigned at = page % PLACE_CACHE;
    struct place key = {0};
    struct tb_pte pte;

    if (p->page[stream] == page) {
        p->last[stream]->references++;
        return true;
    }
    look_at_thread(p, cpu, root);
    if (p->cache[stream][at].page != page || p->cache[stream][at].generation != p->generation) {
        pte = guest_walk(root, va).page;
        if (!pte.valid)
            return true;
        key = (struct place){.pid = p->thread.pid,
                             .stream = (uint8_t)stream,
                             .home = p->thread.home,
                             .rad = (uint8_t)guest_rad(pte.pfn)};
        memcpy(key.program, p->program, NAME_BYTES);
        key.kind = (uint8_t)guest_page(root, pte.pfn, key.section);
        p->cache[stream][at].place = kept(p, &key);
        if (!p->cache[stream][at].place)
            return false;
        p->cache[stream][at].page = page;
        p->cache[stream][at].generation = p->generation;
    }
    p->page[stream] = page;
    p->last[stream] = p->cache[stream][at].place;
    p->last[stream]->references++;
    return true;
}

void places_write(const struct places *p, unsigned cpu, FILE *f)
{
    for (unsigned b = 0; b < PLACE_BUCKETS; b++)
        for (const struct place *o = p->bucket[b]; o; o = o->next)
            fprintf(f,
                    "{\"what\": \"place\", \"cpu\": %u, \"pid\": %u, \"program\": \"%s\", "
                    "\"section\": \"%s\", \"kind\": %u, \"stream\": %u, \"home\": %u, "
                    "\"rad\": %u, \"references\": %" PRIu64 "}\n",
                    cpu, o->pid, o->program, o->section, o->kind, o->stream, o->home, o->rad,
                    o->references);
}
