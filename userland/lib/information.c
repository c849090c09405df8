/*
 * One item of $GETJPI, $GETSYI or $GETDVI as a number and as text: lib$getjpi and relatives. How
 * an item is written: process identifications in hexadecimal, a UIC as [group,member], privileges
 * by name, times as $ASCTIM writes them, a state by its name, a protection by the access of each
 * class, a list as its longwords with commas, everything else in decimal.
 *
 * The caller of a number has room for a longword, or for a quadword if the item is one, so that
 * much is stored: of a byte with zeros above it, of a list the first pair.
 */
#include "descriptor.h"

#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <inttypes.h>
#include <jpidef.h>
#include <libdef.h>
#include <privileges.h>
#include <prvdef.h>
#include <rtl/information.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syidef.h>

#undef lib$getdvi
#undef lib$getjpi
#undef lib$getsyi

#define ITEM_MAX 512 /* bytes of the longest text or list that an item has */

enum form { NUMBER, TEXT, HEXADECIMAL, UIC, PRIVILEGES, TIME, STATE, BOOLEAN, PROTECTION, LIST };

struct form_of {
    int code;
    enum form form;
};

static const struct form_of of_process[] = {
    {JPI$_PRCNAM, TEXT},
    {JPI$_IMAGNAME, TEXT},
    {JPI$_USERNAME, TEXT},
    {JPI$_NODENAME, TEXT},
    {JPI$_NODE_VERSION, TEXT},
    {JPI$_TERMINAL, TEXT},
    {JPI$_TT_PHYDEVNAM, TEXT},
    {JPI$_PID, HEXADECIMAL},
    {JPI$_OWNER, HEXADECIMAL},
    {JPI$_MASTER_PID, HEXADECIMAL},
    {JPI$_INITIAL_THREAD_PID, HEXADECIMAL},
    {JPI$_UIC, UIC},
    {JPI$_CURPRIV, PRIVILEGES},
    {JPI$_AUTHPRIV, PRIVILEGES},
    {JPI$_PROCPRIV, PRIVILEGES},
    {JPI$_IMAGPRIV, PRIVILEGES},
    {JPI$_LOGINTIM, TIME},
    {JPI$_STATE, STATE},
    {0, NUMBER},
};

static const struct form_of of_system[] = {
    {SYI$_VERSION, TEXT},     {SYI$_NODENAME, TEXT},
    {SYI$_ARCH_NAME, TEXT},   {SYI$_HW_NAME, TEXT},
    {SYI$_BOOTTIME, TIME},    {SYI$_NODE_SWTYPE, TEXT},
    {SYI$_NODE_SWVERS, TEXT}, {SYI$_RAD_CPUS, LIST},
    {SYI$_RAD_MEMSIZE, LIST}, {0, NUMBER},
};

static const struct form_of of_device[] = {
    {DVI$_DEVNAM, TEXT},      {DVI$_FULLDEVNAM, TEXT},
    {DVI$_ALLDEVNAM, TEXT},   {DVI$_TT_PHYDEVNAM, TEXT},
    {DVI$_PID, HEXADECIMAL},  {DVI$_OWNUIC, UIC},
    {DVI$_REC, BOOLEAN},      {DVI$_CCL, BOOLEAN},
    {DVI$_TRM, BOOLEAN},      {DVI$_SHR, BOOLEAN},
    {DVI$_AVL, BOOLEAN},      {DVI$_MBX, BOOLEAN},
    {DVI$_IDV, BOOLEAN},      {DVI$_ODV, BOOLEAN},
    {DVI$_VPROT, PROTECTION}, {0, NUMBER},
};

/* What a service has answered. */
struct answer {
    enum form form;
    unsigned short length;
    union {
        uint64_t number;
        uint32_t longwords[ITEM_MAX / sizeof(uint32_t)];
        char text[ITEM_MAX];
    };
};

static enum form form_of(const struct form_of *table, int code)
{
    while (table->code && table->code != code)
        table++;
    return table->form;
}

static size_t state(uint64_t number, char *line, size_t size)
{
    static const char names[][6] = {"",     "COLPG", "MWAIT", "CEF", "PFW", "LEF",  "LEFO", "HIB",
                                    "HIBO", "SUSP",  "SUSPO", "FPG", "COM", "COMO", "CUR"};

    return (size_t)(number && number < sizeof(names) / sizeof(names[0])
                        ? snprintf(line, size, "%s", names[number])
                        : snprintf(line, size, "%" PRIu64, number));
}

/* Privileges one behind the other, none as nothing. */
static size_t privileges(uint64_t mask, char *line, size_t size)
{
    size_t n = 0;

    for (const struct mega_name *p = mega$privileges; p->name; p++)
        if (mask & p->mask)
            n += (size_t)snprintf(line + n, size - n, "%s%s", n ? "," : "", p->name);
    return n;
}

/* The access of devices: read, write, logical and physical I/O. A set bit of the mask denies. */
static size_t protection(uint64_t mask, char *line, size_t size)
{
    static const char *const classes[] = {"SYSTEM", "OWNER", "GROUP", "WORLD"};
    size_t n = 0;

    for (unsigned i = 0; i < 4; i++) {
        n += (size_t)snprintf(line + n, size - n, "%s%s=", i ? "," : "", classes[i]);
        for (unsigned k = 0; k < 4; k++)
            if (!(mask >> (4 * i + k) & 1))
                line[n++] = "RWLP"[k];
    }
    return n;
}

/* The pairs of a list, without the one of -1 that ends it. */
static size_t list(const struct answer *a, char *line, size_t size)
{
    size_t n = 0;

    for (unsigned i = 0; i + 1 < a->length / sizeof(uint32_t); i += 2) {
        if (a->longwords[i] == UINT32_MAX && a->longwords[i + 1] == UINT32_MAX)
            break;
        n += (size_t)snprintf(line + n, size - n, "%s%" PRIu32 ",%" PRIu32, n ? "," : "",
                              a->longwords[i], a->longwords[i + 1]);
        if (n >= size)
            return size - 1;
    }
    return n;
}

static size_t time_text(const struct answer *a, char *line, size_t size)
{
    struct dsc64$descriptor_s to = {1, 0, DSC64$K_CLASS_S, -1, size, line};
    unsigned short length = 0;

    sys$asctim(&length, &to, (void *)(uintptr_t)&a->number, 0);
    return length;
}

/* Writes an answer as text; returns its length. */
static size_t write_answer(const struct answer *a, char *line, size_t size)
{
    switch (a->form) {
    case TEXT:
        memcpy(line, a->text, a->length);
        return a->length;
    case HEXADECIMAL:
        return (size_t)snprintf(line, size, "%08" PRIX64, a->number);
    case UIC:
        return (size_t)snprintf(line, size, "[%" PRIo64 ",%" PRIo64 "]", a->number >> 16,
                                a->number & 0xFFFF);
    case PRIVILEGES:
        return privileges(a->number, line, size);
    case TIME:
        return time_text(a, line, size);
    case BOOLEAN:
        return (size_t)snprintf(line, size, "%s", a->number ? "TRUE" : "FALSE");
    case STATE:
        return state(a->number, line, size);
    case PROTECTION:
        return protection(a->number, line, size);
    case LIST:
        return list(a, line, size);
    default:
        return (size_t)snprintf(line, size, "%" PRIu64, a->number);
    }
}

/* Gives an answer to the caller: a number to *value, text to the string. */
static int give(const struct answer *a, void *value, void *string, unsigned short *length)
{
    char line[ITEM_MAX];
    size_t stored = 0;
    int status = SS$_NORMAL;

    if (a->form == TEXT && !string)
        return LIB$_INVARG;
    if (value && a->form != TEXT)
        memcpy(value, &a->number,
               a->length > sizeof(uint32_t) ? sizeof(uint64_t) : sizeof(uint32_t));
    if (string)
        status = mega$text_store(string, line, write_answer(a, line, sizeof(line)), &stored);
    if (length)
        *length = (unsigned short)stored;
    return status;
}

int lib$getjpi(const int *item_code, unsigned int *process_id, const void *process_name,
               void *resultant_value, void *resultant_string, unsigned short *resultant_length)
{
    struct answer a = {0};
    ILE3 list[2] = {{0}};
    struct _iosb iosb = {0};
    int status;

    if (!item_code)
        return SS$_ACCVIO;
    list[0] = (ILE3){sizeof(a.text), (unsigned short)*item_code, a.text, &a.length};
    status = sys$getjpiw(EFN$C_ENF, process_id, (void *)(uintptr_t)process_name, list, &iosb, 0, 0);
    if (status & 1)
        status = (int)iosb.iosb$l_getxxi_status;
    if (!(status & 1))
        return status;
    a.form = form_of(of_process, *item_code);
    return give(&a, resultant_value, resultant_string, resultant_length);
}

int lib$getsyi(const int *item_code, void *resultant_value, void *resultant_string,
               unsigned short *resultant_length, unsigned int *cluster_system_id,
               const void *node_name)
{
    struct answer a = {0};
    ILE3 list[2] = {{0}};
    struct _iosb iosb = {0};
    int status;

    if (!item_code)
        return SS$_ACCVIO;
    list[0] = (ILE3){sizeof(a.text), (unsigned short)*item_code, a.text, &a.length};
    status = sys$getsyiw(EFN$C_ENF, cluster_system_id, (void *)(uintptr_t)node_name, list, &iosb, 0,
                         0);
    if (status & 1)
        status = (int)iosb.iosb$l_getxxi_status;
    if (!(status & 1))
        return status;
    a.form = form_of(of_system, *item_code);
    return give(&a, resultant_value, resultant_string, resultant_length);
}

int lib$getdvi(const int *item_code, const unsigned short *channel, const void *device_name,
               void *resultant_value, void *resultant_string, unsigned short *resultant_length)
{
    struct answer a = {0};
    ILE3 list[2] = {{0}};
    struct _iosb iosb = {0};
    int status;

    if (!item_code)
        return SS$_ACCVIO;
    list[0] = (ILE3){sizeof(a.text), (unsigned short)*item_code, a.text, &a.length};
    status = sys$getdviw(EFN$C_ENF, channel ? *channel : 0, (void *)(uintptr_t)device_name, list,
                         &iosb, 0, 0, 0);
    if (status & 1)
        status = (int)iosb.iosb$l_getxxi_status;
    if (!(status & 1))
        return status;
    a.form = form_of(of_device, *item_code & ~DVI$C_SECONDARY);
    return give(&a, resultant_value, resultant_string, resultant_length);
}
