/*
 * System parameters: the table of sysman/params.def and the current values. One CPU sets the values
 * at boot; afterwards only dynamic parameters change, by atomic stores. No locks; independent of
 * the machine, and built for the host too.
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
    SYSPARAM_FIXED,   /* not dynamic, and the system is running */
};

/* The current value of a parameter, which is the default until it is set. Any IPL. */
extern int64_t sysparam_values[SYSPARAM_COUNT]; /* atomic; only for the functions below */
static inline int64_t sysparam(enum sysparam_id id)
{
    return __atomic_load_n(&sysparam_values[id], __ATOMIC_RELAXED);
}
/* Name, default and limits of a parameter. NULL if id is out of range. */
const struct sysparam_info *sysparam_info(unsigned id);
/* Find a parameter by its name or older name, in upper case. SYSPARAM_COUNT if there is none. */
enum sysparam_id sysparam_find(const char *name);
/* The older name of a parameter, "" if it has none. */
const char *sysparam_older_name(unsigned id);
/* Set a parameter by its name. running: the system is running, so it must be dynamic. Any IPL. */
enum sysparam_status sysparam_set(const char *name, int64_t value, bool running);

/* Set the parameters of a parsed blob, at boot. A parameter that is unknown or out of range keeps
   its default, and complain, which may be NULL, is called with it and its status. Returns the
   number of such parameters. */
unsigned sysparam_boot_apply(const struct config *config,
                             void (*complain)(const struct config_param *p,
                                              enum sysparam_status why));

#endif
