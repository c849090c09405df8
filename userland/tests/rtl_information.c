// TAP
// RUN: -m 512M --set RADS=2
/* lib$getjpi, lib$getsyi and lib$getdvi: how items are written, and how much of a number is stored.
 * The program runs with two memory domains, so that lists have several pairs. */
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syidef.h>
#include <tap.h>
#include <unistd.h>

#define GUARD UINT64_C(0xA5A5A5A5A5A5A5A5)

static char line[200];
static struct dsc$descriptor_s text = {sizeof(line) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
static unsigned short length;

/* A number, and what lies behind it. */
static union {
    uint64_t quadwords[2];
    uint32_t longwords[4];
} room;

static void fresh(void)
{
    room.quadwords[0] = room.quadwords[1] = GUARD;
    memset(line, '#', sizeof(line));
    length = 0;
}

static void text_is(const char *want, const char *what)
{
    line[length < sizeof(line) ? length : sizeof(line) - 1] = '\0';
    is_str(line, want, "%s", what);
}

static int syi(int item, void *value, void *string)
{
    fresh();
    return lib$getsyi(&item, value, string, &length);
}

static int jpi(int item, void *value, void *string)
{
    fresh();
    return lib$getjpi(&item, 0, 0, value, string, &length);
}

static int dvi(int item, unsigned short chan, void *value, void *string)
{
    fresh();
    return lib$getdvi(&item, chan ? &chan : 0, 0, value, string, &length);
}

/* The pairs that the service itself answers, as text. */
static uint64_t list_of(int item, char *want, size_t size)
{
    uint32_t pairs[64];
    unsigned short n = 0;
    ILE3 items[2] = {{sizeof(pairs), (unsigned short)item, pairs, &n}, {0}};
    size_t at = 0;
    uint64_t first;

    sys$getsyiw(EFN$C_ENF, 0, 0, items, 0, 0, 0);
    for (unsigned i = 0; i + 2 < n / sizeof(pairs[0]); i++)
        at += (size_t)snprintf(want + at, size - at, "%s%u", i ? "," : "", pairs[i]);
    memcpy(&first, pairs, sizeof(first));
    return first;
}

static void numbers(void)
{
    char want[200];
    uint64_t first;

    is_status(syi(SYI$_CLUSTER_MEMBER, &room, &text), SS$_NORMAL, "an item of one byte");
    is(room.longwords[0], 0, "is a longword for its caller");
    is(room.longwords[1], (uint32_t)GUARD, "and no more");
    text_is("0", "as text");
    is_status(syi(SYI$_PAGE_SIZE, &room, 0), SS$_NORMAL, "an item of four");
    is(room.longwords[0], 8192, "is one");
    is(room.longwords[1], (uint32_t)GUARD, "and no more");
    is_status(jpi(JPI$_CURPRIV, &room, 0), SS$_NORMAL, "an item of eight");
    ok(room.quadwords[0] != GUARD && room.quadwords[1] == GUARD, "is a quadword");
    first = list_of(SYI$_RAD_MEMSIZE, want, sizeof(want));
    ok(strchr(want, ',') != strrchr(want, ','), "a list of more than one pair: %s", want);
    is_status(syi(SYI$_RAD_MEMSIZE, &room, &text), SS$_NORMAL, "is asked for");
    is(room.quadwords[0], first, "its first pair is stored");
    is(room.quadwords[1], GUARD, "and no more");
    text_is(want, "as text all of them");
    first = list_of(SYI$_RAD_CPUS, want, sizeof(want));
    is_status(syi(SYI$_RAD_CPUS, &room, &text), SS$_NORMAL, "another list");
    ok(room.quadwords[0] == first && room.quadwords[1] == GUARD, "likewise");
    text_is(want, "as text");
}

static void texts(void)
{
    unsigned short chan = 0;
    char want[20];

    is_status(syi(SYI$_NODE_SWTYPE, &room, &text), SS$_NORMAL, "an item that is a text");
    text_is("VMS ", "is written");
    is(room.quadwords[0], GUARD, "and has no number");
    is_status(syi(SYI$_NODE_SWVERS, 0, &text), SS$_NORMAL, "another one");
    text_is("V7.1", "is written");
    is_status(jpi(JPI$_MASTER_PID, &room, &text), SS$_NORMAL, "the process at the top of the job");
    snprintf(want, sizeof(want), "%08X", room.longwords[0]);
    text_is(want, "in hexadecimal");
    sys$crembx(0, &chan, 0, 0, 0xFE20, 0, 0, 0, 0);
    is_status(dvi(DVI$_VPROT, chan, &room, &text), SS$_NORMAL, "a protection");
    is(room.longwords[0], 0xFE20, "is a mask");
    text_is("SYSTEM=RWLP,OWNER=RLP,GROUP=R,WORLD=", "as text the access of each class");
    is_status(dvi(DVI$_MBX, chan, 0, &text), SS$_NORMAL, "a bit");
    text_is("TRUE", "is true");
    is_status(dvi(DVI$_DEVNAM, chan, &room, 0), LIB$_INVARG, "a name without a string");
    is_status(syi(SYI$_NODENAME, &room, 0), LIB$_INVARG, "that of the node");
    is_status(jpi(JPI$_PRCNAM, &room, 0), LIB$_INVARG, "that of the process");
    is(room.quadwords[0], GUARD, "store nothing");
    is_status(dvi(DVI$_UNIT, 0, &room, 0), SS$_IVDEVNAM, "neither channel nor name");
    is_status(lib$getdvi(0, &chan, 0, &room, 0, 0), SS$_ACCVIO, "no item of a device");
    is_status(lib$getsyi(0, &room, 0, 0), SS$_ACCVIO, "none of the system");
    is_status(lib$getjpi(0, 0, 0, &room), SS$_ACCVIO, "none of a process");
    is_status(syi(4711, &room, 0), SS$_BADITMCOD, "no such item");
    sys$dassgn(chan);
}

int main(void)
{
    numbers();
    texts();
    return tap_done();
}
