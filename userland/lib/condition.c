/* The names of condition values. Where a value has two names (SS$_WASCLR is SS$_NORMAL), the table
 * has the first of them. */
#include <condition.h>
#include <libdef.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <stddef.h>
#include <stdio.h>
#include <strdef.h>

#define MESSAGE(prefix, name, text, help) {prefix##name, #prefix #name},

static const struct {
    int status;
    const char *name;
} names[] = {
#include <messages.def>
};

const char *mega$condition_name(int status)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].name;
    return NULL;
}

const char *mega$condition_text(int status)
{
    static _Thread_local char text[80];
    const char *name = mega$condition_name(status);

    snprintf(text, sizeof(text), "%s%scondition value %d (0x%X)", name ? name : "",
             name ? ", " : "", status, (unsigned)status);
    return text;
}
