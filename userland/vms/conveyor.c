/*
 * A bounded mailbox between a producer and a consumer: records are read as a stream of bytes, and
 * the producer, a subprocess that runs the same image, waits when there is no room. What $GETDVI
 * tells of the device on the way.
 */
#include <cmbdef.h>
#include <dcdef.h>
#include <descrip.h>
#include <devdef.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

#define RECORDS 200
#define RECORD  50
#define PIECE   128

static $DESCRIPTOR(name, "CONVEYOR");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static unsigned int item(int code)
{
    unsigned int value = 0;

    check(lib$getjpi(&code, 0, 0, &value));
    return value;
}

static int full(unsigned short chan)
{
    IOSB iosb;
    char record[RECORD];
    int status;

    memset(record, 'x', sizeof record);
    do {
        status = sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW | IO$M_NORSWAIT, &iosb, 0, 0,
                          record, sizeof record, 0, 0, 0, 0);
    } while ($VMS_STATUS_SUCCESS(status));
    return status;
}

static void describe(unsigned short chan)
{
    unsigned int class, characteristics, size, messages;
    char device[64];
    unsigned short length;
    IOSB iosb;
    ILE3 items[] = {{4, DVI$_DEVCLASS, &class, 0},      {4, DVI$_DEVCHAR, &characteristics, 0},
                    {4, DVI$_DEVBUFSIZ, &size, 0},      {4, DVI$_DEVDEPEND, &messages, 0},
                    {64, DVI$_DEVNAM, device, &length}, {0, 0, 0, 0}};

    check(sys$getdviw(EFN$C_ENF, chan, 0, items, &iosb, 0, 0, 0));
    check(iosb.iosb$w_status);
    printf("%.4s...: %s, %s, records of up to %u bytes, %u of them wait\n", device,
           class == DC$_MAILBOX ? "a mailbox" : "something else",
           characteristics & DEV$M_SHR ? "shareable" : "not shareable", size, messages);
}

/* What the subprocess does. */
static int produce(void)
{
    unsigned short chan;
    char record[RECORD];
    IOSB iosb;
    int i;

    check(sys$crembx(0, &chan, RECORD, 5 * RECORD, 0, 0, &name, CMB$M_WRITEONLY));
    for (i = 0; i < RECORDS; i++) {
        memset(record, 'a' + i % 26, sizeof record);
        check(sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, &iosb, 0, 0, record,
                       sizeof record, 0, 0, 0, 0));
        check(iosb.iosb$w_status);
    }
    check(sys$qiow(EFN$C_ENF, chan, IO$_WRITEOF | IO$M_NOW, &iosb, 0, 0, 0, 0, 0, 0, 0, 0));
    check(sys$dassgn(chan));
    return SS$_NORMAL;
}

/* A subprocess that runs the same image. */
static void start(void)
{
    char path[256];
    unsigned short length;
    ILE3 items[] = {{255, JPI$_IMAGNAME, path, &length}, {0, 0, 0, 0}};
    struct dsc$descriptor_s image = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, path};

    check(sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    image.dsc$w_length = length;
    check(sys$creprc(0, &image, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0));
}

int main(void)
{
    unsigned short chan;
    char piece[PIECE];
    int bytes = 0, wrong = 0, status;
    IOSB iosb;

    if (item(JPI$_MASTER_PID) != item(JPI$_PID))
        return produce();
    check(sys$crembx(0, &chan, RECORD, 5 * RECORD, 0, 0, &name, CMB$M_READONLY));
    check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_WRITERCHECK, &iosb, 0, 0, piece, PIECE, 0,
                   0, 0, 0));
    printf("nobody writes: %s\n", iosb.iosb$w_status == SS$_NOWRITER ? "SS$_NOWRITER" : "somebody");
    check(sys$dassgn(chan));
    check(sys$crembx(0, &chan, RECORD, 5 * RECORD, 0, 0, &name));
    status = full(chan);
    printf("no room: %s\n", status == SS$_MBFULL ? "SS$_MBFULL" : "another status");
    describe(chan);
    check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_STREAM, &iosb, 0, 0, piece, PIECE, 0, 0, 0,
                   0));
    printf("a piece of %d bytes\n", iosb.iosb$w_bcnt);
    check(sys$qiow(EFN$C_ENF, chan, IO$_SENSEMODE, &iosb, 0, 0, 0, 0, 0, 0, 0, 0));
    printf("left are %d messages with %u bytes\n", iosb.iosb$w_bcnt, iosb.iosb$l_dev_depend);
    check(sys$dassgn(chan));

    check(sys$crembx(0, &chan, RECORD, 5 * RECORD, 0, 0, &name));
    start();
    for (;;) {
        int i;

        check(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_STREAM, &iosb, 0, 0, piece, PIECE, 0, 0,
                       0, 0));
        if (iosb.iosb$w_status == SS$_ENDOFFILE)
            break;
        check(iosb.iosb$w_status);
        for (i = 0; i < iosb.iosb$w_bcnt; i++, bytes++)
            wrong += piece[i] != 'a' + bytes / RECORD % 26;
    }
    printf("%d bytes, %d of them wrong\n", bytes, wrong);
    return SS$_NORMAL;
}
