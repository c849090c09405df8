/* What the condition values of the services say, each with what to do about it. */
#include "help.h"

#include <libdef.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <stddef.h>
#include <strdef.h>

#define MESSAGE(prefix, name, text, help) {prefix##name, help},

static const struct {
    int status;
    const char *text;
} texts[] = {
#include <messages.def>
};

const char *condition_help(int status)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return NULL;
}
