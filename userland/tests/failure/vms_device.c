/*
 * $QIO beyond what vms_io.c has: terminals, disks, permanent mailboxes, requests that wait for the
 * other side; $GETDVI by names. The terminal is a pseudo-terminal of its own, by the name FTAn:;
 * the disk is vda, if there is one (tests/test_allocation_failure.py attaches it).
 */
#include "failure.h"

#include <cmbdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <tap.h>
#include <unistd.h>

static $DESCRIPTOR(box_name, "FAILURE_BOX");
static $DESCRIPTOR(null_device, "NL:");
static $DESCRIPTOR(disk, "VDA:");
static $DESCRIPTOR(input, "SYS$INPUT");
static char terminal_text[16];
static struct dsc$descriptor_s terminal = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, terminal_text};
static unsigned short chan, made;
static struct _iosb iosb;
static char text[512] __attribute__((aligned(512)));
static int master = -1, calls;

static void routine(void) { calls++; }

/* The table of channels stays once it is there. */
static void warm(void)
{
    unsigned short c;

    sys$assign(&null_device, &c, 0, 0, 0);
    sys$dassgn(c);
    memset(&iosb, 0, sizeof(iosb));
    made = 0;
    warm_up();
}
static void drop(void)
{
    sys$dassgn(chan);
    sys$dassgn(made);
}

/* ---- mailboxes ---- */

static void box(void)
{
    warm();
    sys$crembx(0, &chan, 64, 640, 0, 0, &box_name, 0, 0);
}
static void one_way_box(void)
{
    warm();
    sys$crembx(0, &chan, 64, 640, 0, 0, 0, CMB$M_WRITEONLY, 0);
}
static void permanent_box(void)
{
    warm();
    sys$crembx(1, &chan, 64, 640, 0, 0, &box_name, 0, 0);
}
static void drop_permanent(void)
{
    sys$delmbx(made ? made : chan);
    drop();
    chan = 0;
}
static long create(void) { return sys$crembx(1, &made, 64, 640, 0, 0, 0, 0, 0); }
static long create_named(void) { return sys$crembx(1, &made, 64, 640, 0, 0, &box_name, 0, 0); }
static long assign_box(void) { return sys$assign(&box_name, &made, 0, 0, 0); }
static long delete_box(void) { return sys$delmbx(chan); }
static long set_mode(unsigned modifier)
{
    return sys$qio(EFN$C_ENF, chan, IO$_SETMODE | modifier, &iosb, routine, 0, 0, 0);
}
static long reader_wait(void) { return set_mode(IO$M_READERWAIT); }
static long writer_wait(void) { return set_mode(IO$M_WRITERWAIT); }
static long protect(void) { return set_mode(IO$M_SETPROT); }
static long sense(void) { return sys$qio(EFN$C_ENF, chan, IO$_SENSEMODE, &iosb, 0, 0); }
static long mark(void) { return sys$qio(EFN$C_ENF, chan, IO$_WRITEOF | IO$M_NOW, &iosb, 0, 0); }
static long write_now(void)
{
    return sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, text, 4);
}
static bool is_waiting(long r) { return r == SS$_NORMAL && iosb.iosb$w_status == 0; }
static bool is_done(long r) { return r == SS$_NORMAL && iosb.iosb$w_status == SS$_NORMAL; }

/* ---- information by names ---- */

static long facts_of(struct dsc$descriptor_s *name)
{
    static unsigned unit;
    static ILE3 items[2] = {{sizeof(unit), DVI$_UNIT, &unit, 0}, {0, 0, 0, 0}};

    return sys$getdvi(EFN$C_ENF, 0, name, items, &iosb, 0, 0, 0);
}
static long facts_of_box(void) { return facts_of(&box_name); }
static long facts_of_terminal(void) { return facts_of(&terminal); }
static long facts_of_input(void) { return facts_of(&input); }
static long facts_of_disk(void) { return facts_of(&disk); }

/* ---- terminals ---- */

static void pair(void)
{
    int unlocked = 0, number = 0;

    warm();
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) || ioctl(master, TIOCGPTN, &number))
        bail_out("no pair");
    terminal.dsc$w_length = (unsigned short)snprintf(terminal_text, sizeof(terminal_text),
                                                     "FTA%d:", number);
}
static void terminal_channel(void)
{
    pair();
    if (sys$assign(&terminal, &chan, 0, 0, 0) != SS$_NORMAL)
        bail_out("no channel to %s", terminal_text);
}
static void typed(void)
{
    terminal_channel();
    if (write(master, "line\n", 5) != 5)
        bail_out("nothing typed");
}
static void hang_up(void)
{
    drop();
    close(master);
}
static long assign_terminal(void) { return sys$assign(&terminal, &made, 0, 0, 0); }
static long terminal_io(unsigned function, unsigned long p3, unsigned long p4)
{
    return sys$qio(EFN$C_ENF, chan, function, &iosb, routine, 0, text, 16, p3, p4, "name? ", 6);
}
static long read_terminal(void) { return terminal_io(IO$_READVBLK, 0, 0); }
static long read_timed(void) { return terminal_io(IO$_READVBLK | IO$M_TIMED, 1000, 0); }
static long read_prompt(void) { return terminal_io(IO$_READPROMPT, 0, 0); }
static long read_purged(void) { return terminal_io(IO$_READPROMPT | IO$M_PURGE, 0, 0); }
static long write_terminal(void) { return terminal_io(IO$_WRITEVBLK, 0, ' '); }

/* ---- disks ---- */

static void disk_channel(void)
{
    warm();
    if (sys$assign(&disk, &chan, 0, 0, 0) != SS$_NORMAL)
        bail_out("no channel to the disk");
}
static long assign_disk(void) { return sys$assign(&disk, &made, 0, 0, 0); }
static long disk_io(unsigned function)
{
    return sys$qiow(EFN$C_ENF, chan, function, &iosb, 0, 0, text, sizeof(text), 0, 0, 0, 0);
}
static long read_disk(void) { return disk_io(IO$_READLBLK); }
static long write_disk(void) { return disk_io(IO$_WRITELBLK); }

#define IO(name_, call_, prepare_, act_, effect_, undo_) \
    BY(name_, call_, prepare_, act_, effect_, undo_, 0, {ANY_KIND, 0})
#define PLAIN(name_, call_, prepare_, act_, effect_, undo_) \
    BY(name_, call_, prepare_, act_, effect_, undo_, NOTHING, {ANY_KIND, 0})

const struct scenario vms_device_scenarios[] = {
    IO("$crembx, permanent", VMS_CREMBX, warm, create, NULL, drop_permanent),
    IO("$crembx, permanent with a name", VMS_CREMBX, warm, create_named, NULL, drop_permanent),
    IO("$assign of a permanent mailbox", VMS_ASSIGN, permanent_box, assign_box, NULL,
       drop_permanent),
    PLAIN("$delmbx, permanent", VMS_DELMBX, permanent_box, delete_box, NULL, drop_permanent),
    IO("$qio, a wait for a reader", VMS_QIO, one_way_box, reader_wait, is_waiting, drop),
    IO("$qio, a wait for a writer", VMS_QIO, box, writer_wait, is_done, drop),
    IO("$qio, protection", VMS_QIO, box, protect, is_done, drop),
    IO("$qio, what is in a mailbox", VMS_QIO, box, sense, is_done, drop),
    IO("$qio, a mark", VMS_QIO, box, mark, is_done, drop),
    IO("$qio, a write that does not wait", VMS_QIO, box, write_now, is_done, drop),
    PLAIN("$getdvi of a mailbox's name", VMS_GETDVI, box, facts_of_box, is_done, drop),
    IO("$getdvi of SYS$INPUT", VMS_GETDVI, warm, facts_of_input, is_done, NULL),
    IO("$getdvi of a terminal's name", VMS_GETDVI, pair, facts_of_terminal, is_done, hang_up),
    IO("$assign of a terminal", VMS_ASSIGN, pair, assign_terminal, NULL, hang_up),
    IO("$qio, a terminal's read that waits", VMS_QIO, terminal_channel, read_terminal, is_waiting,
       hang_up),
    IO("$qio, a terminal's read with a limit", VMS_QIO, terminal_channel, read_timed, is_waiting,
       hang_up),
    IO("$qio, a terminal's read of what was typed", VMS_QIO, typed, read_terminal, is_done,
       hang_up),
    IO("$qio, a prompt and a read", VMS_QIO, typed, read_prompt, is_done, hang_up),
    IO("$qio, what was typed is discarded", VMS_QIO, typed, read_purged, is_waiting, hang_up),
    IO("$qio, a terminal's write", VMS_QIO, terminal_channel, write_terminal, is_done, hang_up),
    {0},
};

const struct scenario disk_scenarios[] = {
    PLAIN("$getdvi of a disk's name", VMS_GETDVI, warm, facts_of_disk, is_done, NULL),
    IO("$assign of a disk", VMS_ASSIGN, warm, assign_disk, NULL, drop),
    IO("$qio, a disk's read", VMS_QIO, disk_channel, read_disk, is_done, drop),
    IO("$qio, a disk's write", VMS_QIO, disk_channel, write_disk, is_done, drop),
    {0},
};
