/*
 * The configuration at boot: blobs of the initrd and of the system disk. They are parsed into
 * static memory, so nothing is allocated; a blob that is missing or invalid leaves the registry
 * empty and the parameters at their defaults.
 */
#include "kernel/boot_config.h"

#include "kernel/base/cpio.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "sysman/params.h"

/* Constant after boot: what lasts, and what counts instead for this boot. */
static struct config config, override;

static void complain(const struct config_param *p, enum sysparam_status why)
{
    if (why == SYSPARAM_UNKNOWN)
        printk("sysman: system parameter %s is unknown and ignored\n", p->name);
    else
        printk("sysman: system parameter %s: %ld is out of range, the default is used\n", p->name,
               (long)p->value);
}

/* Of a parameter for this boot. What it would replace counts. */
static void complain_override(const struct config_param *p, enum sysparam_status why)
{
    if (why == SYSPARAM_UNKNOWN)
        complain(p, why);
    else
        printk("sysman: system parameter %s: %ld is out of range and ignored for this boot\n",
               p->name, (long)p->value);
}

/* Parse a file of the initrd. False: there is none. */
static bool read_blob(const void *initrd, size_t nbytes, const char *name, struct config *out)
{
    struct cpio_entry blob;
    struct config_result result;

    out->nparams = out->registry.count = 0;
    if (nbytes == 0 || !cpio_find(initrd, nbytes, name, &blob))
        return false;
    result = config_parse(blob.data, blob.nbytes, out);
    if (result.error)
        printk("sysman: the configuration blob %s at offset %u: it is ignored\n",
               config_error_text(result.error), result.offset);
    return true;
}

static bool is_minimal(const struct config *c)
{
    for (uint32_t k = 0; k < c->nparams; k++)
        if (sysparam_find(c->params[k].name) == SYSPARAM_STARTUP_P1 && c->params[k].value == 1)
            return true;
    return false;
}

/* Number of records of the entry that begins with record `at`: its own and those of its parts. */
static uint32_t records(const struct registry *g, uint32_t at)
{
    uint32_t n = 1;

    while (at + n < g->count && (g->entries[at + n].flags & RMD_EXTENDS))
        n++;
    return n;
}

/* Find the entry of the name and scope of another one. Returns its records; 0: there is none. */
static uint32_t find_entry(const struct registry *g, const struct registry_entry *like,
                           uint32_t *where)
{
    for (uint32_t at = 0, n; at < g->count; at += n) {
        const struct registry_entry *e = &g->entries[at];

        n = records(g, at);
        if (strcmp(e->name, like->name) != 0 || e->group != like->group ||
            (e->flags & RMD_GROUP) != (like->flags & RMD_GROUP))
            continue;
        *where = at;
        return n;
    }
    return 0;
}

/* Entries of the second registry count instead of those of the first that have their names, if
 * there is room for them. */
static void merge(struct registry *g, const struct registry *more)
{
    for (uint32_t at = 0, n; at < more->count; at += n) {
        const struct registry_entry *e = &more->entries[at];
        uint32_t old = 0, nold = find_entry(g, e, &old);

        n = records(more, at);
        if (n > CONFIG_MAX_RESERVED - g->count + nold) {
            printk("sysman: no room for the entry %s: it is ignored\n", e->name);
            continue;
        }
        memmove(&g->entries[old], &g->entries[old + nold], (g->count - old - nold) * sizeof(*e));
        g->count -= nold;
        memcpy(&g->entries[g->count], e, n * sizeof(*e));
        g->count += n;
    }
}

const struct registry *boot_config(const void *initrd, size_t nbytes,
                                   bool (*disk)(struct config *out))
{
    (void)read_blob(initrd, nbytes, "boot/override", &override);
    if (!read_blob(initrd, nbytes, "boot/config", &config) && disk && !is_minimal(&override) &&
        !disk(&config))
        config.nparams = config.registry.count = 0;
    sysparam_boot_apply(&config, complain);
    sysparam_boot_apply(&override, complain_override);
    merge(&config.registry, &override.registry);
    return &config.registry;
}
