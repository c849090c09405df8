/* Channels, mailboxes and terminals. prepare() makes what the call uses; main() has made the events
 * and the channels of this process. */
#include "failure.h"

#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <iosadef.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>
#include <unistd.h>

static $DESCRIPTOR(name, "FAILURE_BOX");
static $DESCRIPTOR(null_device, "NL:");
static unsigned short chan, made;
static struct _iosb iosb;
static char text[32];
static int calls;

static void routine(void) { calls++; }

/* Of Fast I/O: the status areas, a file and what is made for it. */
static IOSA iosa[PAGE / sizeof(IOSA)] __attribute__((aligned(8192)));
static GENERIC_64 iosa_object, data_object;
static FANDLE fandle;
static int file = -1;

static long service_of_file(unsigned short *c) { return (long)raw(MEGA_SYS_FILE_CHANNEL, file, c); }

static int object_of(void *p, unsigned long n, GENERIC_64 *handle)
{
    unsigned __int64 length;
    void *va;

    return sys$create_bufobj_64(p, n, 0, 0, &va, &length, handle);
}

/* The tables of channels and of buffer objects stay once they are there. */
static void warm(void)
{
    unsigned short c;
    GENERIC_64 h;

    sys$assign(&null_device, &c, 0, 0, 0);
    sys$dassgn(c);
    object_of(iosa, PAGE, &h);
    sys$delete_bufobj(&h);
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
static long want_room(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_SETMODE | IO$M_MB_ROOM_NOTIFY, &iosb, 0, 0, routine, 0);
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

/* ---- Fast I/O, with a file ---- */

static void cold(void)
{
    warm();
    cold_map(COLD, 2 * PAGE);
}
static void open_file(void)
{
    cold();
    file = open("/tmp/failure_io", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, iosa, PAGE) != (long)PAGE)
        bail_out("no file");
}
static void two_objects(void)
{
    open_file();
    cold_written = true; /* the pages that are pinned are there */
    if (service_of_file(&chan) != SS$_NORMAL ||
        object_of((void *)COLD, 2 * PAGE, &data_object) != SS$_NORMAL ||
        object_of(iosa, PAGE, &iosa_object) != SS$_NORMAL)
        bail_out("no buffer objects");
}
static void a_fandle(void)
{
    two_objects();
    sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, routine, 0, &fandle);
}
static void used_fandle(void)
{
    a_fandle();
    sys$io_performw(fandle, chan, iosa, (void *)COLD, PAGE, 1);
}
static void drop_object(void)
{
    sys$delete_bufobj(&data_object);
    cold_drop();
}
static void drop_file(void)
{
    sys$dassgn(made);
    made = 0;
    close(file);
    unlink("/tmp/failure_io");
    cold_drop();
}
static void drop_all(void)
{
    sys$io_cleanup(fandle);
    fandle = 0;
    sys$delete_bufobj(&iosa_object);
    sys$delete_bufobj(&data_object);
    sys$dassgn(chan);
    drop_file();
}
static long create_object(void) { return object_of((void *)COLD, 2 * PAGE, &data_object); }
static long delete_object(void) { return sys$delete_bufobj(&data_object); }
static long file_channel(void) { return service_of_file(&made); }
static long set_up(void)
{
    return sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, routine, 0, &fandle);
}
static long perform(void)
{
    struct _iosa *area = iosa;
    long status;

    area->iosa$l_status = 77;
    status = sys$io_perform(fandle, chan, iosa, (void *)COLD, PAGE, 1);
    if (!(status & 1) && area->iosa$l_status != 77)
        bail_out("a request that was refused has changed its status area");
    return status;
}
static long clean_up(void) { return sys$io_cleanup(fandle); }

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
    IO("$qio, room", VMS_QIO, filled_box, want_room, drop),
    IO("$qio, a write to a file", VMS_QIO, null_channel, write_null, drop),
    IO("$qio, a read of a file", VMS_QIO, null_channel, read_null, drop),
    PLAIN("$getdvi", VMS_GETDVI, filled_box, getdvi, drop),
    BY("$create_bufobj_64", VMS_CREATE_BUFOBJ_64, cold, create_object, NULL, drop_object, WARM,
       {ANY_KIND, SS$_INSFMEM}),
    PLAIN("$delete_bufobj", VMS_DELETE_BUFOBJ, two_objects, delete_object, drop_all),
    IO("a channel to an open file", MEGA_SYS_FILE_CHANNEL, open_file, file_channel, drop_file),
    IO("$io_setup", VMS_IO_SETUP, two_objects, set_up, drop_all),
    IO("$io_perform", VMS_IO_PERFORM, a_fandle, perform, drop_all),
    PLAIN("$io_perform, a request used again", VMS_IO_PERFORM, used_fandle, perform, drop_all),
    PLAIN("$io_cleanup", VMS_IO_CLEANUP, used_fandle, clean_up, drop_all),
    {0},
};
