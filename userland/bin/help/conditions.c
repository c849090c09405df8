/* What the condition values of the services and of the library say, each with what to do about
 * it. */
#include "help.h"

#include <ctype.h>
#include <libdef.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strdef.h>
#include <string.h>
#include <strings.h>

#define MESSAGE(prefix, name, text, help) {(int)(prefix##name), #prefix #name, help},

static const struct condition conditions[] = {
#include <messages.def>
};

#define CONDITIONS (sizeof(conditions) / sizeof(conditions[0]))

static const struct condition *of_number(const char *word)
{
    char *end;
    unsigned long n = strtoul(word, &end, 0);

    for (size_t i = 0; !*end && n <= UINT32_MAX && i < CONDITIONS; i++)
        if ((uint32_t)conditions[i].status == n)
            return &conditions[i];
    return NULL;
}

/* Without a prefix the first of those that are called so: the values of the services come first. */
static const struct condition *of_name(const char *word)
{
    for (size_t i = 0; i < CONDITIONS; i++)
        if (strcasecmp(conditions[i].name, word) == 0)
            return &conditions[i];
    for (size_t i = 0; i < CONDITIONS; i++)
        if (strcasecmp(strchr(conditions[i].name, '_') + 1, word) == 0)
            return &conditions[i];
    return NULL;
}

const struct condition *condition_find(const char *word)
{
    return isdigit((unsigned char)*word) ? of_number(word) : of_name(word);
}
