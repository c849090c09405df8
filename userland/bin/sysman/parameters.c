/*
 * PARAMETERS. USE fills a work area, with the values in force, those on the system disk, or the
 * defaults; SHOW and SET are about the work area then, and WRITE puts it to use or on the disk.
 * Without USE, SHOW and SET are about the running system, and WRITE about its values. /CURRENT does
 * in one command what USE CURRENT, the command, and WRITE CURRENT do.
 */
#include "disk.h"

#include <condition.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define STARTUP_MIN 1 /* of STARTUP_P1 */

static struct config stored; /* what was read from the disk, to be written again */
static struct config work;   /* its parameters are the work area */
static bool in_use;          /* the work area is */
static enum { ACTIVE, CURRENT, DEFAULT } source; /* what USE has filled it with */
static uint64_t seen;                            /* CURRENT: the number of the configuration then */

static bool matches(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*')
        return strncasecmp(pattern, name, n - 1) == 0;
    return strcasecmp(pattern, name) == 0;
}

/* Find a parameter by its name or older name, in any case. */
static bool find_parameter(const char *name, struct mega_param *p)
{
    for (int64_t i = 0; mega$info(MEGA_INFO_PARAM, i, p, sizeof(*p)) == SS$_NORMAL; i++)
        if (strcasecmp(p->name, name) == 0 || (*name && strcasecmp(p->older_name, name) == 0))
            return true;
    return false;
}

/* ---- lists of parameters ---- */

static struct config_param *record_of(struct config *c, const struct mega_param *p)
{
    for (uint32_t k = 0; k < c->nparams; k++)
        if (strcmp(c->params[k].name, p->name) == 0 ||
            (*p->older_name && strcmp(c->params[k].name, p->older_name) == 0))
            return &c->params[k];
    return NULL;
}

static int64_t value_in(struct config *c, const struct mega_param *p)
{
    const struct config_param *r = record_of(c, p);

    return r ? r->value : p->dflt;
}

static bool put(struct config *c, const struct mega_param *p, int64_t value)
{
    struct config_param *r = record_of(c, p);

    if (!r && c->nparams == CONFIG_MAX_PARAMS)
        return fail("TOOMANY", "more than %d parameters", CONFIG_MAX_PARAMS), false;
    if (!r)
        r = &c->params[c->nparams++];
    memset(r, 0, sizeof(*r));
    memcpy(r->name, p->name, strnlen(p->name, sizeof(r->name) - 1));
    r->value = value;
    return true;
}

static void reset(struct config *c, const struct mega_param *p)
{
    struct config_param *r = record_of(c, p);

    if (r)
        memmove(r, r + 1, (size_t)(&c->params[--c->nparams] - r) * sizeof(*r));
}

static void copy_params(struct config *to, const struct config *from)
{
    to->nparams = from->nparams;
    memcpy(to->params, from->params, sizeof(to->params));
}

/* The values in force, as far as they are not the defaults. */
static void take_active(struct config *c)
{
    struct mega_param p;

    c->nparams = 0;
    for (int64_t i = 0; mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p)) == SS$_NORMAL; i++)
        if (p.value != p.dflt && !put(c, &p, p.value))
            return;
}

/* ---- values ---- */

/* A word that stands for a value. */
static bool word_value(const char *name, const char *text, int64_t *value)
{
    static const struct {
        const char *name, *word;
        int64_t value;
    } words[] = {
#define SYSPARAM(name_, default_, min_, max_, unit_, dynamic_)
#define SYSPARAM_ALIAS(alias_, name_)
#define SYSPARAM_WORD(name_, word_, value_) {#name_, #word_, value_},
#include "sysman/params.def"
#undef SYSPARAM
#undef SYSPARAM_ALIAS
#undef SYSPARAM_WORD
    };

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        const char *word = strcmp(words[k].word, "\"\"") == 0 ? "" : words[k].word;

        if (strcmp(words[k].name, name) == 0 && strcasecmp(word, text) == 0)
            return *value = words[k].value, true;
    }
    return false;
}

static enum status out_of_range(const char *name, int64_t value, const struct mega_param *p)
{
    return fail("RANGE", "%s: %ld is not between %ld and %ld %s", name, (long)value, (long)p->min,
                (long)p->max, p->unit);
}

/* ---- SHOW ---- */

/* from: where the values are; NULL: those in force. */
static enum status show(const struct command *c, struct config *from)
{
    bool dynamic = given(c, "DYNAMIC") >= 0;
    struct mega_param p;
    unsigned shown = 0;
    int status;

    for (int64_t i = 0; (status = mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p))) == SS$_NORMAL;
         i++) {
        if ((c->words && !matches(c->word[0], p.name) && strcasecmp(c->word[0], p.older_name)) ||
            (dynamic && !p.dynamic))
            continue;
        if (shown++ == 0)
            printf("%-20s %14s %14s %12s %14s  %-8s Dynamic\n", "Name", "Value", "Default",
                   "Minimum", "Maximum", "Unit");
        printf("%-20s %14ld %14ld %12ld %14ld  %-8s %s\n", p.name,
               (long)(from ? value_in(from, &p) : p.value), (long)p.dflt, (long)p.min, (long)p.max,
               p.unit, p.dynamic ? "D" : "");
    }
    if (status != SS$_NONEXPR)
        return refused("PARAMETERS SHOW", status);
    if (shown == 0)
        return fail("NOPARAM", "%s: no such system parameter", c->words ? c->word[0] : "*");
    return DONE;
}

enum status parameters_show(const struct command *c)
{
    if (given(c, "CURRENT") < 0)
        return show(c, in_use ? &work : NULL);
    if (!disk_open(&stored, false))
        return FAILED;
    disk_close();
    return show(c, &stored);
}

/* ---- SET ---- */

static enum status set_active(const char *name, const struct mega_param *p, int64_t value)
{
    int status = mega$control(MEGA_CTL_SET_PARAM, (uint64_t)p->name, (uint64_t)value, 0, 0, 0);

    switch (status) {
    case SS$_NORMAL:
        printf("%%SYSMAN-I-SET, %s is %ld until the next boot\n", name, (long)value);
        return DONE;
    case SS$_NOWRT:
        return fail("NOTDYNAMIC", "%s is not dynamic: with /CURRENT it is set for the next boot",
                    name);
    case SS$_BADPARAM:
        return out_of_range(name, value, p);
    case SS$_NOCMKRNL:
        return fail("NOPRIV", "%s: this requires the privilege CMKRNL", name);
    default:
        return refused(name, status);
    }
}

/* Change a parameter on the disk; value NULL: it gets its default again. */
static enum status set_current(const char *name, const struct mega_param *p, const int64_t *value)
{
    if (!disk_open(&stored, true))
        return FAILED;
    if (!value) {
        reset(&stored, p);
    } else if (!put(&stored, p, *value)) {
        disk_close();
        return FAILED;
    }
    if (disk_write(&stored) != DONE)
        return FAILED;
    printf("%%SYSMAN-I-WRITTEN, %s is %ld from the next boot on\n", name,
           (long)(value ? *value : p->dflt));
    return DONE;
}

enum status parameters_set(const struct command *c)
{
    bool current = given(c, "CURRENT") >= 0, dflt = given(c, "DEFAULT") >= 0;
    struct mega_param p;
    int64_t value;
    const char *name;

    if (dflt != (c->words == 1))
        return fail("SYNTAX", "usage: PARAMETERS SET name value, or PARAMETERS SET name /DEFAULT");
    if (!find_parameter(c->word[0], &p))
        return fail("NOPARAM", "%s: no such system parameter", c->word[0]);
    name = strcasecmp(c->word[0], p.name) == 0 ? p.name : p.older_name;
    value = p.dflt;
    if (!dflt && !word_value(p.name, c->word[1], &value) && !number(c->word[1], 10, &value))
        return fail("IVNUM", "'%s' is not a number", c->word[1]);
    if (value < p.min || value > p.max)
        return out_of_range(name, value, &p);
    if (current)
        return set_current(name, &p, dflt ? NULL : &value);
    if (!in_use)
        return set_active(name, &p, value);
    if (dflt)
        reset(&work, &p);
    else if (!put(&work, &p, value))
        return FAILED;
    printf("%%SYSMAN-I-WORK, %s is %ld in the work area\n", name, (long)value);
    return DONE;
}

/* ---- USE and WRITE ---- */

static bool is_word(const char *word, const char *full)
{
    return *word && strncasecmp(full, word, strlen(word)) == 0;
}

enum status parameters_use(const struct command *c)
{
    const char *from = c->words ? c->word[0] : "ACTIVE";

    if (is_word(from, "CURRENT")) {
        if (!disk_open(&stored, false))
            return FAILED;
        disk_close();
        seen = disk_number();
        copy_params(&work, &stored);
        source = CURRENT;
    } else if (is_word(from, "ACTIVE")) {
        take_active(&work);
        source = ACTIVE;
    } else if (is_word(from, "DEFAULT")) {
        work.nparams = 0;
        source = DEFAULT;
    } else {
        return fail("IVKEYW", "'%s' is not ACTIVE, CURRENT or DEFAULT", from);
    }
    in_use = true;
    return DONE;
}

static enum status write_active(void)
{
    unsigned changed = 0, fixed = 0;
    struct mega_param p;

    for (int64_t i = 0; mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p)) == SS$_NORMAL; i++) {
        int64_t value = value_in(&work, &p);
        int status;

        if (value == p.value)
            continue;
        if (!p.dynamic) {
            fixed++;
            continue;
        }
        status = mega$control(MEGA_CTL_SET_PARAM, (uint64_t)p.name, (uint64_t)value, 0, 0, 0);
        if (status == SS$_NOCMKRNL)
            return fail("NOPRIV", "this requires the privilege CMKRNL");
        if (status != SS$_NORMAL)
            return refused(p.name, status);
        changed++;
    }
    printf("%%SYSMAN-I-SET, %u parameters changed until the next boot", changed);
    if (fixed)
        printf("; %u are not dynamic", fixed);
    putchar('\n');
    return DONE;
}

/* Put the work area in place of the parameters that are stored. STARTUP_P1 is about one boot: the
 * value in force is not stored, unless it was set in the work area. */
static enum status replace_stored(void)
{
    struct mega_param p1;
    bool keep = source == ACTIVE && find_parameter("STARTUP_P1", &p1);
    int64_t value = keep ? value_in(&stored, &p1) : 0;

    if (keep && p1.value == STARTUP_MIN)
        return fail("MINBOOT", "with STARTUP_P1 = MIN the values in force may not be those of the "
                               "disk, and are not written: USE CURRENT or USE DEFAULT first");
    if (source == CURRENT && seen != disk_number())
        return fail("CHANGED",
                    "%s: the configuration is number %lu, and was %lu at USE CURRENT: "
                    "nothing is written",
                    disk_name(), (unsigned long)disk_number(), (unsigned long)seen);
    keep &= value_in(&work, &p1) == p1.value;
    copy_params(&stored, &work);
    if (!keep)
        return DONE;
    reset(&stored, &p1);
    return value == p1.dflt || put(&stored, &p1, value) ? DONE : FAILED;
}

enum status parameters_write(const struct command *c)
{
    if (!in_use) {
        take_active(&work);
        source = ACTIVE;
    }
    if (is_word(c->word[0], "ACTIVE"))
        return in_use ? write_active() : DONE;
    if (!is_word(c->word[0], "CURRENT"))
        return fail("IVKEYW", "'%s' is not ACTIVE or CURRENT", c->word[0]);
    if (!disk_open(&stored, true))
        return FAILED;
    if (replace_stored() != DONE) {
        disk_close();
        return FAILED;
    }
    if (disk_write(&stored) != DONE)
        return FAILED;
    seen = disk_number();
    printf("%%SYSMAN-I-WRITTEN, %u parameters are not their defaults from the next boot on\n",
           stored.nparams);
    return DONE;
}
