/* What the plugin found: JSON, a line for each thing (cpus.h; report.py reads it). */
#include "cpus.h"

#include <inttypes.h>

/* A number for each model. */
static void write_list(FILE *f, const uint64_t *numbers)
{
    for (unsigned i = 0; i < nmodels; i++)
        fprintf(f, "%s%" PRIu64, i ? ", " : "[", numbers[i]);
    fputs(nmodels ? "]" : "[]", f);
}

static void write_counts(FILE *f, unsigned cpu, unsigned i)
{
    const struct tb_model *m = &cpus[cpu].model[i];
    const struct tb_counts *n = &m->counts;
    const struct tb_vhpt *v = &cpus[cpu].vhpt[i];
    struct tb_cycles cost = tb_cost(m);

    fprintf(
        f,
        "{\"what\": \"model\", \"cpu\": %u, \"chip\": \"%s\", \"hint\": %u, \"asns\": %d, "
        "\"vhpt\": \"%s\", \"vhpt_walks\": %" PRIu64 ", \"vhpt_hits\": %" PRIu64
        ", \"vhpt_replaced\": %" PRIu64 ", \"vhpt_chained\": %" PRIu64 ", \"vhpt_looked\": %" PRIu64
        ", \"vhpt_cleared\": %" PRIu64 ", \"vhpt_nothing\": %" PRIu64 ", \"vhpt_void\": %" PRIu64
        ", \"vhpt_own\": %" PRIu64 ", \"vhpt_other\": %" PRIu64 ", \"vhpt_system\": %" PRIu64 ", "
        "\"fetch_misses\": %" PRIu64 ", \"data_misses\": %" PRIu64 ", \"fetch_doubles\": %" PRIu64
        ", \"data_doubles\": %" PRIu64 ", \"unmapped\": %" PRIu64 ", \"overlaps\": %" PRIu64
        ", \"stale\": %" PRIu64 ", \"asn_reuse\": %" PRIu64 ", \"least\": %" PRIu64
        ", \"most\": %" PRIu64 ", \"prices\": {\"data\": [%u, %u], \"second\": [%u, %u]}}\n",
        cpu, m->chip->name, m->hint, m->asns, chosen[i].vhpt_text, v->walks, v->hits, v->replaced,
        v->chained, v->looked, v->cleared, v->instead[VHPT_NOTHING], v->instead[VHPT_VOID],
        v->instead[VHPT_OWN], v->instead[VHPT_OTHER], v->instead[VHPT_SYSTEM], n->misses[TB_FETCH],
        n->misses[TB_DATA], n->doubles[TB_FETCH], n->doubles[TB_DATA],
        n->unmapped[TB_FETCH] + n->unmapped[TB_DATA], n->overlaps, n->stale, n->asn_reuse,
        cost.least, cost.most, m->chip->data.least, m->chip->data.most, m->chip->second.least,
        m->chip->second.most);
}

static void write_pages(FILE *f, unsigned cpu)
{
    for (unsigned i = 0; i < cpus[cpu].nareas; i++) {
        const struct area *a = cpus[cpu].areas[i];

        fprintf(f,
                "{\"what\": \"pages\", \"cpu\": %u, \"program\": \"%s\", \"section\": \"%s\", "
                "\"kind\": %u, \"pages\": %" PRIu64 ", \"width\": %" PRIu64 ", \"blocks\": ",
                cpu, a->program, a->section, a->kind, UINT64_C(1) << a->pages.shift,
                UINT64_C(1) << pages_width(&a->pages));
        pages_write(&a->pages, f);
        fputs("}\n", f);
    }
}

static void write_cpu(FILE *f, unsigned cpu)
{
    const struct cpu *c = &cpus[cpu];

    fprintf(f,
            "{\"what\": \"cpu\", \"cpu\": %u, \"fetches\": %" PRIu64 ", \"accesses\": %" PRIu64
            ", \"bypassed\": %" PRIu64 ", \"roots\": %" PRIu64 ", \"invalidations\": %" PRIu64
            ", \"swpctx\": %" PRIu64 ", \"tbi\": %" PRIu64 ", \"changes\": %" PRIu64
            ", \"disagreements\": %" PRIu64 ", \"highest_asn\": %" PRIu64 ", \"flushes\": %" PRIu64
            "}\n",
            cpu, c->references[TB_FETCH], c->references[TB_DATA], c->bypassed, c->announced_roots,
            c->announced_tbi, c->pal_swpctx, c->pal_tbi, c->changes, c->disagreements, c->asns,
            c->rollovers);
    for (unsigned i = 0; i < nmodels; i++)
        write_counts(f, cpu, i);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (const struct origin *o = c->origins[b]; o; o = o->next) {
            fprintf(f,
                    "{\"what\": \"origin\", \"pc\": %" PRIu64 ", \"stream\": %u, \"kind\": %u, "
                    "\"gh\": %u, \"program\": \"%s\", \"section\": \"%s\", \"misses\": ",
                    o->pc, o->stream, o->kind, o->gh, o->program, o->section);
            write_list(f, o->misses);
            fputs(", \"doubles\": ", f);
            write_list(f, o->doubles);
            fputs("}\n", f);
        }
    write_pages(f, cpu);
    places_write(&c->places, cpu, f);
}

static void write_marks(FILE *f)
{
    unsigned n = nmarks < MARKS_MAX ? nmarks : MARKS_MAX;

    fputs("{\"what\": \"clock\", \"read_at\": [", f);
    for (unsigned i = 0; i < n; i++) {
        fprintf(f, "%s[%" PRIu64 ", %" PRIu64 ", ", i ? ", " : "", marks[i].instructions,
                marks[i].accesses);
        write_list(f, marks[i].misses);
        fputs(", ", f);
        write_list(f, marks[i].doubles);
        fputs(", ", f);
        write_list(f, marks[i].all);
        fputs(", ", f);
        write_list(f, marks[i].found);
        fputs(", ", f);
        write_list(f, marks[i].least);
        fputs(", ", f);
        write_list(f, marks[i].most);
        fputc(']', f);
    }
    fputs("]}\n", f);
}

void results_write(void)
{
    FILE *f = fopen(out_name, "w");

    if (!f) {
        perror(out_name);
        return;
    }
    fprintf(f, "{\"what\": \"machine\", \"instructions\": %" PRIu64 ", \"palcode\": %" PRIu64 "}\n",
            instructions(OUTSIDE), instructions(PALCODE));
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        if (cpus[cpu].listens)
            write_cpu(f, cpu);
    write_marks(f);
    if (fclose(f) != 0)
        perror(out_name);
}
