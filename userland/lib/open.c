/* sys$open, as far as it is here: a channel to a file of POSIX or to a disk (FAB$M_UFO). */
#include <agndef.h>
#include <descrip.h>
#include <errno.h>
#include <fabdef.h>
#include <fcntl.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service.h"

#undef sys$open

const struct FAB cc$rms_fab = {.fab$b_bid = FAB$C_BID, .fab$b_bln = FAB$C_BLN};

#define WRITES (FAB$M_PUT | FAB$M_DEL | FAB$M_UPD | FAB$M_TRN)

static int status_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return RMS$_FNF;
    case EACCES:
    case EPERM:
    case EROFS:
    case ETXTBSY:
        return SS$_NOPRIV;
    case ENOMEM:
    case ENFILE:
    case EMFILE:
        return SS$_INSFMEM;
    case EFAULT:
        return SS$_ACCVIO;
    case EISDIR:
    case ENXIO:
    case ENODEV:
        return SS$_NOTFILEDEV;
    default:
        return SS$_ABORT;
    }
}

static int open_device(const char *name, size_t n, int writes, unsigned short *chan)
{
    struct dsc$descriptor_s d = {.dsc$w_length = (unsigned short)n,
                                 .dsc$b_dtype = DSC$K_DTYPE_T,
                                 .dsc$b_class = DSC$K_CLASS_S,
                                 .dsc$a_pointer = (char *)name};

    return sys$assign(&d, chan, 0, 0, writes ? 0 : AGN$M_READONLY);
}

/* Only what a channel can be had to is opened: to open a FIFO or a terminal has effects. */
static int open_file(const char *path, int writes, unsigned short *chan, unsigned *blocks)
{
    struct stat st;
    int fd, status;

    if (stat(path, &st) != 0)
        return status_of(errno);
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
        return SS$_NOTFILEDEV;
    fd = open(path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return status_of(errno);
    status = call(MEGA_SYS_FILE_CHANNEL, (quad)fd, (quad)chan, 0, 0, 0, 0);
    if (fstat(fd, &st) == 0)
        *blocks = (unsigned)((st.st_size + 511) / 512);
    close(fd);
    return status;
}

int sys$open(struct FAB *fab, mega_completion err, mega_completion suc)
{
    const char *name = fab->fab$b_fns ? fab->fab$l_fna : fab->fab$l_dna;
    size_t n = fab->fab$b_fns ? fab->fab$b_fns : fab->fab$b_dns;
    int writes = (fab->fab$b_fac & WRITES) != 0, status;
    unsigned short chan = 0;
    char path[256];

    (void)err;
    (void)suc;
    fab->fab$l_stv = 0;
    if (fab->fab$b_bid != FAB$C_BID || !n || !name)
        status = SS$_BADPARAM;
    else if (!(fab->fab$l_fop & FAB$M_UFO))
        status = SS$_UNSUPPORTED;
    else if (name[n - 1] == ':') {
        status = open_device(name, n, writes, &chan);
    } else {
        memcpy(path, name, n);
        path[n] = 0;
        status = strlen(path) == n ? open_file(path, writes, &chan, &fab->fab$l_alq) : RMS$_FNF;
    }
    if (status == SS$_NORMAL) {
        status = RMS$_NORMAL;
        fab->fab$l_stv = chan;
    }
    fab->fab$l_sts = (unsigned)status;
    return tell(__func__, status);
}
