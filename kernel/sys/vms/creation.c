/*
 * A process of $CREPRC begins: it opens its files and loads its image, by its own rights, in its
 * own directory and by its own logical names. Where that fails, the process ends with a condition
 * value, as on OpenVMS: the service has returned long since.
 */
#include "kernel/sys/vms/creation.h"

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/lnm.h"
#include "kernel/sys/vms/mailbox_file.h"
#include "mm/pool/pool.h"

#define TRANSLATIONS_MOST 10 /* of a name that leads to another one */
#define NULL_DEVICE       "/dev/null"
#define FILE_TABLES       "LNM$FILE_DEV"
#define PROCESS_TABLE     "LNM$PROCESS_TABLE"

struct creation *creation_alloc(void)
{
    struct creation *x = npp_alloc(sizeof(*x));

    if (x) {
        memset(x, 0, sizeof(*x));
        exec_args_init(&x->args);
    }
    return x;
}

void creation_free(struct creation *x)
{
    exec_args_free(&x->args);
    npp_free(x, sizeof(*x));
}

static cond_t condition_of(int err)
{
    switch (err) {
    case 0:
        return SS$_NORMAL;
    case -ENOENT:
    case -ENOTDIR:
        return SS$_NOSUCHFILE;
    case -EACCES:
    case -EPERM:
        return SS$_NOPRIV;
    case -ENXIO:
    case -ENODEV:
        return SS$_NOSUCHDEV;
    case -ENOMEM:
        return SS$_INSFMEM;
    case -EAGAIN:
    case -EMFILE:
    case -ENFILE:
    case -EDQUOT:
        return SS$_EXQUOTA;
    default:
        return SS$_ABORT;
    }
}

/* ---- logical names ---- */

static struct lnm_string string_of(const char *s)
{
    return (struct lnm_string){s, (uint32_t)strlen(s)};
}

static cond_t take_translation(const struct lnm_view *v, void *arg)
{
    struct lnm_string s;
    uint32_t attributes;

    if (!lnm_translation(v->block, 0, &s, &attributes) || s.length > CREATION_NAME_MAX)
        return SS$_NOTRAN;
    memcpy(arg, s.s, s.length);
    ((char *)arg)[s.length] = '\0';
    return SS$_NORMAL;
}

/* Replace a name without a slash, of CREATION_NAME_MAX + 1 bytes, by what it stands for. */
static void translate(char *name)
{
    const struct lnm_who who = vms_lnm_who();
    char to[CREATION_NAME_MAX + 1];

    for (unsigned n = 0; n < TRANSLATIONS_MOST && !strchr(name, '/'); n++) {
        if (lnm_translate(&who, string_of(FILE_TABLES), string_of(name), PSL$C_USER, false,
                          take_translation, to) != SS$_NORMAL)
            return;
        str_copy(name, to, sizeof(to));
    }
}

/* Make the logical name of a file, as the manual promises, for programs that translate it. */
static cond_t define(const char *name, const char *file)
{
    const struct lnm_who who = vms_lnm_who();
    struct lnm_string s = string_of(file);
    struct lnm_name *block = lnm_name_alloc(string_of(name), PSL$C_EXEC, 0,
                                            lnm_translation_bytes(s.length));
    bool kept = false;
    cond_t status;

    if (!block)
        return SS$_INSFMEM;
    memcpy(lnm_name_add(block, 0, 0, s.length), s.s, s.length);
    status = lnm_define(&who, string_of(PROCESS_TABLE), block, false, NULL, NULL, &kept);
    if (cond_ok(status) && !kept)
        return SS$_NORMAL;
    lnm_name_free(block);
    return status;
}

/* ---- files ---- */

static int open_path(const char *path, uint32_t flags, struct file **f)
{
    const struct process *p = process_self();
    struct cwd_use root = fs_root_get(p->fs), cwd = fs_cwd_get(p->fs);
    struct io_cred cred = process_cred(p);
    bool created;
    int err;

    cred.root = root.dir;
    err = file_open_at(&cred, path[0] == '/' ? NULL : cwd.dir, path, flags, 0666 & ~fs_umask(p->fs),
                       f, &created);
    fs_cwd_put(cwd);
    fs_cwd_put(root);
    return err;
}

static cond_t install(struct file *f, unsigned fd)
{
    int err = fd_replace(process_self()->files, f, fd, false);

    if (err < 0)
        file_unref(f);
    return condition_of(err < 0 ? err : 0);
}

static uint32_t flags_of(unsigned fd, bool device)
{
    if (fd == CREATION_INPUT)
        return O_RDONLY | O_NOCTTY;
    return O_WRONLY | O_APPEND | O_NOCTTY | (device ? 0 : O_CREAT);
}

static cond_t open_device(const struct vms_device *d, unsigned fd, struct file **f)
{
    if (d->kind == VMS_DEVICE_MAILBOX)
        return vms_mailbox_open(d->unit, fd != CREATION_INPUT, f);
    if (d->kind == VMS_DEVICE_DESCRIPTOR) /* the name of a file that is not there yet */
        return SS$_NOSUCHDEV;
    return condition_of(open_path(d->path, flags_of(fd, true), f));
}

/* Open one of the three, unless the process has the caller's. A name with a colon or an underscore
 * before it, or a logical name for one, is that of a device, and any other a path. Output is added
 * to a file that exists, so nothing is lost. */
static cond_t open_one(struct creation *x, unsigned fd)
{
    static const char *const names[] = {"SYS$INPUT", "SYS$OUTPUT", "SYS$ERROR"};
    char path[CREATION_NAME_MAX + 1];
    struct vms_device device;
    struct file *f;
    bool is_device;
    cond_t status, found;

    if (!x->file[fd][0] && x->keep_files)
        return SS$_NORMAL;
    str_copy(path, x->file[fd][0] ? x->file[fd] : NULL_DEVICE, sizeof(path));
    found = vms_device_named(path, sizeof(path), &is_device, &device);
    if (!is_device)
        translate(path);
    status = is_device && found != SS$_NORMAL ? found : define(names[fd], path);
    if (status != SS$_NORMAL)
        return status;
    if (fd == CREATION_ERROR && strcmp(x->file[fd], x->file[CREATION_OUTPUT]) == 0) {
        f = fd_file(process_self()->files, CREATION_OUTPUT); /* nobody else uses the table */
        file_ref(f);
        return install(f, fd);
    }
    status = is_device ? open_device(&device, fd, &f)
                       : condition_of(open_path(path, flags_of(fd, false), &f));
    return status == SS$_NORMAL ? install(f, fd) : status;
}

/* ---- the beginning ---- */

static cond_t begin(struct creation *x)
{
    struct process *p = process_self();
    cond_t status = SS$_NORMAL;

    if (x->change_creds)
        status = condition_of(creds_set(p, &x->creds));
    for (unsigned fd = 0; fd < CREATION_FILES && status == SS$_NORMAL; fd++)
        status = open_one(x, fd);
    if (status != SS$_NORMAL)
        return status;
    translate(x->image);
    return condition_of(exec_program(x->image, &x->args));
}

void creation_start(void *arg)
{
    struct creation *x = arg;
    bool hibernate = x->hibernate;
    cond_t status = x->abandoned ? SS$_ABORT : begin(x);

    creation_free(x);
    if (status != SS$_NORMAL) {
        __atomic_store_n(&process_self()->kin.final_status, KIN_STATUS_GIVEN | cond_value(status),
                         __ATOMIC_RELAXED);
        process_exit(4u << 8);
    }
    process_begin_user(hibernate);
}
