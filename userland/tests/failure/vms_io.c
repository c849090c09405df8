/* Channels, mailboxes and terminals. prepare() makes what the call uses; main() has made the events
 * and the channels of this process. */
#include "failure.h"

#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>

static $DESCRIPTOR(name, "FAILURE_BOX");
static $DESCRIPTOR(null_device, "NL:");
static unsigned short chan, made;
static struct _iosb iosb;
static char text[32];
static int calls;

static void routine(void) { calls++; }

/* The table of channels stays once it is there. */
static void warm(void)
{
    unsigned short c;

    sys$assign(&null_device, &c, 0, 0, 0);
    sys$dassgn(c);
    warm_up();
}

static void box(void)
{
    warm();
    sys$crembx(0, &chan, 64, 640, 0, 0, 0, 0, 0);
}
static void named_box(void)
{
    warm();
    sys$crembx(0, &chan, 64, 640, 0, 0, &name, 0, 0);
}
static void filled_box(void)
{
    box();
    sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, "text", 4);
}
static void null_channel(void)
{
    warm();
    sys$assign(&null_device, &chan, 0, 0, 0);
}
static void drop(void) { sys$dassgn(chan); }
static void drop_made(void)
{
    sys$dassgn(made);
    made = 0;
}
static void drop_both(void)
{
    drop_made();
    drop();
}

static long create(void) { return sys$crembx(0, &made, 64, 640, 0, 0, 0, 0, 0); }
static long create_named(void) { return sys$crembx(0, &made, 64, 640, 0, 0, &name, 0, 0); }
static long assign(void) { return sys$assign(&name, &made, 0, 0, 0); }
static long assign_file(void) { return sys$assign(&null_device, &made, 0, 0, 0); }
static long dassgn(void) { return sys$dassgn(chan); }
static long cancel(void) { return sys$cancel(chan); }
static long delmbx(void) { return sys$delmbx(chan); }
static long write_box(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK, &iosb, routine, 0, "text", 4);
}
static long read_box(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_READVBLK, &iosb, routine, 0, text, sizeof(text));
}
static long stream(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_READVBLK | IO$M_STREAM, &iosb, 0, 0, text, 2);
}
static long attention(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_SETMODE | IO$M_WRTATTN, &iosb, 0, 0, routine, 0);
}
static long write_null(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK, &iosb, 0, 0, "text", 4, 0, ' ');
}
static long read_null(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_READVBLK, &iosb, 0, 0, text, sizeof(text));
}
static long getdvi(void)
{
    static unsigned unit;
    static ILE3 items[2] = {{sizeof(unit), DVI$_UNIT, &unit, 0}, {0, 0, 0, 0}};

    return sys$getdvi(EFN$C_ENF, chan, 0, items, 0, 0, 0, 0);
}

#define IO(name_, call_, prepare_, act_, undo_) \
    BY(name_, call_, prepare_, act_, NULL, undo_, 0, {ANY_KIND, 0})
#define PLAIN(name_, call_, prepare_, act_, undo_) \
    BY(name_, call_, prepare_, act_, NULL, undo_, NOTHING, {ANY_KIND, 0})

const struct scenario vms_io_scenarios[] = {
    IO("$crembx", VMS_CREMBX, warm, create, drop_made),
    IO("$crembx with a name", VMS_CREMBX, warm, create_named, drop_made),
    IO("$crembx, one that there is", VMS_CREMBX, named_box, create_named, drop_both),
    IO("$assign", VMS_ASSIGN, named_box, assign, drop_both),
    IO("$assign to a file", VMS_ASSIGN, warm, assign_file, drop_made),
    PLAIN("$dassgn", VMS_DASSGN, filled_box, dassgn, NULL),
    PLAIN("$cancel", VMS_CANCEL, filled_box, cancel, drop),
    PLAIN("$delmbx", VMS_DELMBX, filled_box, delmbx, drop),
    IO("$qio, a write", VMS_QIO, box, write_box, drop),
    IO("$qio, a read", VMS_QIO, filled_box, read_box, drop),
    IO("$qio, a read that waits", VMS_QIO, box, read_box, drop),
    IO("$qio, a stream", VMS_QIO, filled_box, stream, drop),
    IO("$qio, attention", VMS_QIO, box, attention, drop),
    IO("$qio, a write to a file", VMS_QIO, null_channel, write_null, drop),
    IO("$qio, a read of a file", VMS_QIO, null_channel, read_null, drop),
    PLAIN("$getdvi", VMS_GETDVI, filled_box, getdvi, drop),
    {0},
};
