/* Asynchronous I/O of Linux, on a file in memory, whose requests are carried out at once. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tap.h>
#include <unistd.h>

#define SYS_IO_PGETEVENTS 523
#define A(p)              ((unsigned long)(p))

static aio_context_t context;
static int file = -1;
static struct iocb request, *requests[1] = {&request};

static void make(void)
{
    context = 0;
    file = memfd_create("aio", 0);
    if (file < 0 || write(file, "x", 1) != 1)
        bail_out("no file in memory");
    request = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
                            .aio_fildes = (unsigned)file,
                            .aio_buf = COLD,
                            .aio_nbytes = 1};
    cold_make();
}

static void make_context(void)
{
    make();
    if (raw6(SYS_io_setup, 4, A(&context), 0, 0, 0, 0) != 0)
        bail_out("no context");
}

/* One that has an event to be taken. The read touches the page at COLD, which is mapped anew. */
static void make_ended(void)
{
    make_context();
    if (raw6(SYS_io_submit, context, 1, A(requests), 0, 0, 0) != 1)
        bail_out("no request");
    cold_drop();
    cold_make();
}

static void drop(void)
{
    if (context)
        raw6(SYS_io_destroy, context, 0, 0, 0, 0, 0);
    context = 0;
    close(file);
    cold_drop();
}

static long do_setup(void) { return raw6(SYS_io_setup, 4, A(&context), 0, 0, 0, 0); }
static long do_submit(void) { return raw6(SYS_io_submit, context, 1, A(requests), 0, 0, 0); }
static long do_get(void) { return raw6(SYS_io_getevents, context, 1, 1, COLD, 0, 0); }
static long do_pget(void) { return raw6(SYS_IO_PGETEVENTS, context, 1, 1, COLD, 0, 0); }
static long do_cancel(void)
{
    return raw6(SYS_io_cancel, context, A(&request), A(requests), 0, 0, 0) == -EINVAL ? 0 : -1;
}
static long do_destroy(void)
{
    long r = raw6(SYS_io_destroy, context, 0, 0, 0, 0, 0);

    context = 0;
    return r;
}

static bool is_there(long r) { return r == 0 && context != 0; }
static bool is_one(long r) { return r == 1; }

const struct scenario aio_scenarios[] = {
    WITH("io_setup", SYS_io_setup, make, do_setup, is_there, 0),
    WITH("io_submit", SYS_io_submit, make_context, do_submit, is_one, ABSORBS | WARM),
    WITH("io_getevents", SYS_io_getevents, make_ended, do_get, is_one, 0),
    WITH("io_pgetevents", SYS_IO_PGETEVENTS, make_ended, do_pget, is_one, 0),
    WITH("io_cancel", SYS_io_cancel, make_context, do_cancel, NULL, NOTHING),
    WITH("io_destroy", SYS_io_destroy, make_context, do_destroy, NULL, NOTHING),
    {.name = NULL}};
