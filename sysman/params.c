/*
 * System parameters: an array of values, indexed by enum sysparam_id, and a table of names and
 * limits, generated from sysman/params.def. The table is short, and a parameter is looked up by its
 * name only at boot and by commands, so a linear search is fast enough.
 */
#include "sysman/params.h"

static const struct sysparam_info infos[SYSPARAM_COUNT] = {
#define SYSPARAM(name_, default_, min_, max_, unit_, dynamic_) \
    [SYSPARAM_##name_] = {#name_, default_, min_, max_, unit_, dynamic_},
#define SYSPARAM_ALIAS(alias_, name_)
#define SYSPARAM_WORD(name_, word_, value_)
#include "sysman/params.def"
#undef SYSPARAM
#undef SYSPARAM_ALIAS
};

static const struct {
    const char *alias;
    enum sysparam_id id;
} aliases[] = {
#define SYSPARAM(name_, default_, min_, max_, unit_, dynamic_)
#define SYSPARAM_ALIAS(alias_, name_) {#alias_, SYSPARAM_##name_},
#include "sysman/params.def"
#undef SYSPARAM
#undef SYSPARAM_ALIAS
};

/* Atomic: a dynamic parameter may change while other CPUs read it. */
int64_t sysparam_values[SYSPARAM_COUNT] = {
#define SYSPARAM(name_, default_, min_, max_, unit_, dynamic_) [SYSPARAM_##name_] = default_,
#define SYSPARAM_ALIAS(alias_, name_)
#include "sysman/params.def"
#undef SYSPARAM
#undef SYSPARAM_ALIAS
#undef SYSPARAM_WORD
};

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct sysparam_info *sysparam_info(unsigned id)
{
    return id < SYSPARAM_COUNT ? &infos[id] : NULL;
}

enum sysparam_id sysparam_find(const char *name)
{
    for (unsigned i = 0; i < SYSPARAM_COUNT; i++)
        if (same(infos[i].name, name))
            return (enum sysparam_id)i;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (same(aliases[i].alias, name))
            return aliases[i].id;
    return SYSPARAM_COUNT;
}

const char *sysparam_older_name(unsigned id)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (aliases[i].id == id)
            return aliases[i].alias;
    return "";
}

enum sysparam_status sysparam_set(const char *name, int64_t value, bool running)
{
    enum sysparam_id id = sysparam_find(name);

    if (id == SYSPARAM_COUNT)
        return SYSPARAM_UNKNOWN;
    if (running && !infos[id].dynamic)
        return SYSPARAM_FIXED;
    if (value < infos[id].min || value > infos[id].max)
        return SYSPARAM_RANGE;
    __atomic_store_n(&sysparam_values[id], value, __ATOMIC_RELAXED);
    return SYSPARAM_OK;
}

unsigned sysparam_boot_apply(const struct config *config,
                             void (*complain)(const struct config_param *p,
                                              enum sysparam_status why))
{
    unsigned refused = 0;

    for (uint32_t i = 0; i < config->nparams; i++) {
        const struct config_param *p = &config->params[i];
        enum sysparam_status s = sysparam_set(p->name, p->value, false);

        if (s == SYSPARAM_OK)
            continue;
        refused++;
        if (complain)
            complain(p, s);
    }
    return refused;
}
