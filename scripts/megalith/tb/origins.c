/* Where misses come from (cpus.h). */
#include "cpus.h"

#include <stdlib.h>
#include <string.h>

static uint64_t digest(uint64_t a, const char *text)
{
    for (; *text; text++)
        a = (a ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return a;
}

void no_memory(void)
{
    fputs("tb: out of memory\n", stderr);
    exit(1);
}

static struct area *area_of(struct cpu *c, const struct origin *o)
{
    bool full = c->nareas >= AREAS_MAX - 1;
    struct area *a;

    for (unsigned i = 0; i < c->nareas; i++) {
        a = c->areas[i];
        if (a->kind == o->kind && strcmp(a->program, o->program) == 0 &&
            strcmp(a->section, o->section) == 0)
            return a;
    }
    if (c->nareas == AREAS_MAX)
        return c->areas[AREAS_MAX - 1];
    a = calloc(1, sizeof(*a));
    if (!a)
        no_memory();
    if (!full) {
        memcpy(a->program, o->program, NAME_BYTES);
        memcpy(a->section, o->section, NAME_BYTES);
        a->kind = o->kind;
    } else {
        snprintf(a->program, NAME_BYTES, "(others)");
    }
    return c->areas[c->nareas++] = a;
}

struct origin *origin_of(struct cpu *c, enum tb_stream stream, uint64_t va, uint64_t pc)
{
    struct tb_pte pte = guest_walk(c->root, va).page;
    struct origin o = {.pc = pc, .stream = (uint8_t)stream, .gh = pte.gh}, *p, **bucket;

    guest_program(c->root, (unsigned)(c - cpus), o.program);
    o.kind = (uint8_t)guest_page(c->root, pte.pfn, o.section);
    bucket = &c->origins[digest(digest(pc / 4 * 31 + o.kind, o.program), o.section) % BUCKETS];
    for (p = *bucket; p; p = p->next)
        if (p->pc == pc && p->stream == o.stream && p->kind == o.kind && p->gh == o.gh &&
            strcmp(p->program, o.program) == 0 && strcmp(p->section, o.section) == 0)
            return p;
    p = malloc(sizeof(*p));
    if (!p)
        no_memory();
    *p = o;
    p->area = by_page ? area_of(c, p) : NULL;
    p->next = *bucket;
    c->norigins++;
    return *bucket = p;
}
