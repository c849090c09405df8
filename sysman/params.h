/*
 * System parameters: the table of sysman/params.def and the values now in force.
 * Pure: builds for the host. Values: set at boot by one CPU; later only dynamic ones change
 * (atomic).
 */
#ifndef SYSMAN_PARAMS_H
#define SYSMAN_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sysman/config.h"

enum sysparam_id {
#define SYSPARAM(name_, default_, min_, max_, unit_, dynamic_) SYSPARAM_##name_,
#define SYSPARAM_ALIAS(alias_, name_)
#define SYSPARAM_WORD(name_, word_, value_)
#include "sysman/params.def"
#undef SYSPARAM
#undef SYSPARAM_ALIAS
#undef SYSPARAM_WORD
    SYSPARAM_COUNT
};

struct sysparam_info { /* constant */
    const char *name;
    int64_t dflt, min, max;
    const char *unit;
    bool dynamic;
};

enum sysparam_status {
    SYSPARAM_OK,
    SYSPARAM_UNKNOWN, /* no parameter of this name */
    SYSPARAM_RANGE,   /* below its minimum or above its maximum */
    SYSPARAM_FIXED,   /* not dynamic, and the system runs */
};

/* The value in force; the default until something else was set. Any IPL. */
extern int64_t sysparam_values[SYSPARAM_COUNT]; /* atomic; by these functions only */
static inline int64_t sysparam(enum sysparam_id id)
{
    return __atomic_load_n(&sysparam_values[id], __ATOMIC_RELAXED);
}
/* Name, default, limits. NULL: id out of range. */
const struct sysparam_info *sysparam_info(unsigned id);
/* Find by name or older name, capital letters; SYSPARAM_COUNT when there is none. */
enum sysparam_id sysparam_find(const char *name);
/* "": it has none. */
const char *sysparam_older_name(unsigned id);
/* Set by name. running: the system is up, only dynamic parameters change. */
enum sysparam_status sysparam_set(const char *name, int64_t value, bool running);

/* Take over the parameters of a parsed blob at boot. What is unknown or out of range keeps its
   default and is handed to complain (may be NULL) with the status. Returns how many were refused.
 */
unsigned sysparam_boot_apply(const struct config *config,
                             void (*complain)(const struct config_param *p,
                                              enum sysparam_status why));

#endif
