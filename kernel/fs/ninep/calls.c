/* Requests that a thread waits for: calls.h. */
#include "kernel/fs/ninep/calls.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/sched/thread.h"
#include "mm/phys/page.h"

#define SMALL      128u /* bytes that hold any request or answer without names */
#define NAMES      640u /* and with two names */
#define LIST_BYTES 8000u
#define NS         1000000000

#define GETATTR_BASIC 0x7FFu
#define REMOVE_DIR    0x200u
#define ATIME_GIVEN   0x080u
#define MTIME_GIVEN   0x100u
#define SET_ATIME     0x010u
#define SET_MTIME     0x020u
#define CREATE_NEW    0200u /* it must not exist */
#define USER_NONE     UINT32_MAX

static void put_name(struct ninep_call *call, const struct fs_name *name)
{
    ninep_put_text(&call->m, name->text, name->len);
}

/* Wait for an answer without contents that matter. */
static int wait_only(struct ninep_call *call)
{
    int err = ninep_wait(call);

    if (!err)
        ninep_call_free(call);
    return err;
}

/* The answer was read: free it. 0, or -EIO if it ended early. */
static int done_with(struct ninep_call *call, int err)
{
    if (call->m.bad)
        err = -EPROTO;
    ninep_call_free(call);
    return err == -EPROTO ? -EIO : err;
}

int ninep_attach(struct ninep_client *c, uint32_t fid, struct ninep_qid *q)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_ATTACH, SMALL, SMALL);
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    ninep_put32(&call->m, NINEP_NO_FID);
    ninep_put_text(&call->m, "root", 4);
    ninep_put_text(&call->m, "/", 1);
    ninep_put32(&call->m, 0); /* user */
    err = ninep_wait(call);
    if (err)
        return err;
    ninep_get_qid(&call->m, q);
    return done_with(call, 0);
}

int ninep_walk(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t *fid,
               struct ninep_qid *q)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_WALK, NAMES, SMALL);
    uint32_t to = call ? ninep_fid_new(c) : NINEP_NO_FID;
    bool walked;
    int err;

    if (to == NINEP_NO_FID) {
        if (call)
            ninep_call_free(call);
        return -ENOMEM;
    }
    call->fid = to;
    ninep_put32(&call->m, dir);
    ninep_put32(&call->m, to);
    ninep_put8(&call->m, name ? 1 : 0);
    ninep_put8(&call->m, 0);
    if (name)
        put_name(call, name);
    err = ninep_wait(call);
    if (err)
        return err;
    walked = ninep_get16(&call->m) == (name ? 1 : 0);
    if (walked && name)
        ninep_get_qid(&call->m, q);
    err = done_with(call, walked ? 0 : -EPROTO);
    if (err)
        ninep_fid_drop(c, to);
    else
        *fid = to;
    return err;
}

int ninep_getattr(struct ninep_client *c, uint32_t fid, struct ninep_attributes *a)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_GETATTR, SMALL, 192);
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    ninep_put64(&call->m, GETATTR_BASIC);
    err = ninep_wait(call);
    return err ? err : done_with(call, ninep_get_attributes(&call->m, a));
}

static void put_time(struct ninep_message *m, int64_t ns)
{
    int64_t seconds = ns / NS, rest = ns % NS;

    if (rest < 0) {
        seconds--;
        rest += NS;
    }
    ninep_put64(m, (uint64_t)seconds);
    ninep_put64(m, (uint64_t)rest);
}

int ninep_set_attributes(struct ninep_client *c, uint32_t fid, uint32_t which,
                         const struct ninep_attributes *a)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_SETATTR, SMALL, SMALL);

    if (!call)
        return -ENOMEM;
    if (which & ATIME_GIVEN)
        which |= SET_ATIME;
    if (which & MTIME_GIVEN)
        which |= SET_MTIME;
    ninep_put32(&call->m, fid);
    ninep_put32(&call->m, which);
    ninep_put32(&call->m, a->mode & 07777);
    ninep_put32(&call->m, a->uid);
    ninep_put32(&call->m, a->gid);
    ninep_put64(&call->m, a->size);
    put_time(&call->m, a->atime_ns);
    put_time(&call->m, a->mtime_ns);
    return wait_only(call);
}

int ninep_open(struct ninep_client *c, uint32_t fid, uint32_t how, struct ninep_qid *q)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_LOPEN, SMALL, SMALL);
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    ninep_put32(&call->m, how);
    err = ninep_wait(call);
    if (err)
        return err;
    ninep_get_qid(&call->m, q);
    return done_with(call, 0);
}

int ninep_create(struct ninep_client *c, uint32_t fid, const struct fs_name *name, uint32_t mode,
                 uint32_t gid)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_LCREATE, NAMES, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    put_name(call, name);
    ninep_put32(&call->m, NINEP_READ_WRITE | CREATE_NEW);
    ninep_put32(&call->m, mode & 07777);
    ninep_put32(&call->m, gid);
    return wait_only(call);
}

int ninep_make(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t mode,
               uint32_t gid)
{
    bool directory = (mode & S_IFMT) == S_IFDIR;
    struct ninep_call *call = ninep_call_new(c, directory ? NINEP_MKDIR : NINEP_MKNOD, NAMES,
                                             SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, dir);
    put_name(call, name);
    ninep_put32(&call->m, directory ? mode & 07777 : mode);
    if (!directory) {
        ninep_put32(&call->m, 0); /* numbers of a device */
        ninep_put32(&call->m, 0);
    }
    ninep_put32(&call->m, gid);
    return wait_only(call);
}

int ninep_symlink(struct ninep_client *c, uint32_t dir, const struct fs_name *name,
                  const char *target, uint32_t gid)
{
    size_t n = strlen(target);
    struct ninep_call *call = ninep_call_new(c, NINEP_SYMLINK, NAMES + n, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, dir);
    put_name(call, name);
    ninep_put_text(&call->m, target, n);
    ninep_put32(&call->m, gid);
    return wait_only(call);
}

int ninep_link(struct ninep_client *c, uint32_t dir, const struct fs_name *name, uint32_t fid)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_LINK, NAMES, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, dir);
    ninep_put32(&call->m, fid);
    put_name(call, name);
    return wait_only(call);
}

int ninep_unlink(struct ninep_client *c, uint32_t dir, const struct fs_name *name, bool directory)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_UNLINKAT, NAMES, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, dir);
    put_name(call, name);
    ninep_put32(&call->m, directory ? REMOVE_DIR : 0);
    return wait_only(call);
}

int ninep_rename(struct ninep_client *c, uint32_t from, const struct fs_name *old, uint32_t to,
                 const struct fs_name *name)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_RENAMEAT, NAMES, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, from);
    put_name(call, old);
    ninep_put32(&call->m, to);
    put_name(call, name);
    return wait_only(call);
}

long ninep_readlink(struct ninep_client *c, uint32_t fid, char *buf, size_t n)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_READLINK, SMALL, PATH_MAX + SMALL);
    const char *text;
    uint32_t len;
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    err = ninep_wait(call);
    if (err)
        return err;
    text = ninep_get_text(&call->m, PATH_MAX - 1, &len);
    for (uint32_t k = 0; text && k < len; k++)
        if (text[k] == '\0') /* a path that ends there would be another one */
            err = -EPROTO;
    n = MIN(n, (size_t)len);
    if (text)
        memcpy(buf, text, n);
    err = done_with(call, err);
    return err ? err : (long)n;
}

int ninep_sync(struct ninep_client *c, uint32_t fid, bool only_data)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_FSYNC, SMALL, SMALL);

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    ninep_put32(&call->m, only_data);
    return wait_only(call);
}

int ninep_usage(struct ninep_client *c, uint32_t fid, struct ninep_statfs *s)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_STATFS, SMALL, SMALL);
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    err = ninep_wait(call);
    return err ? err : done_with(call, ninep_get_statfs(&call->m, s));
}

int ninep_list(struct ninep_client *c, uint32_t fid, uint64_t offset, struct ninep_call **out)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_READDIR, SMALL, LIST_BYTES + SMALL);
    uint32_t n;
    int err;

    if (!call)
        return -ENOMEM;
    ninep_put32(&call->m, fid);
    ninep_put64(&call->m, offset);
    ninep_put32(&call->m, LIST_BYTES);
    err = ninep_wait(call);
    if (err)
        return err;
    n = ninep_get32(&call->m);
    if (call->m.bad || n > (size_t)(call->m.end - call->m.at))
        return done_with(call, -EPROTO);
    call->m.end = call->m.at + n;
    *out = call;
    return 0;
}

long ninep_write(struct ninep_client *c, uint32_t fid, uint64_t offset, pfn_t *page,
                 uint32_t npages, uint32_t within, uint32_t n)
{
    struct ninep_call *call = ninep_call_new(c, NINEP_WRITE, SMALL, SMALL);
    uint32_t written;
    int err;

    if (!call) {
        for (uint32_t k = 0; k < npages; k++)
            page_unref(page[k]);
        return -ENOMEM;
    }
    memcpy(call->page, page, npages * sizeof(*page));
    call->npages = npages;
    call->within = within;
    call->data = n;
    ninep_put32(&call->m, fid);
    ninep_put64(&call->m, offset);
    ninep_put32(&call->m, n);
    err = ninep_wait(call);
    if (err)
        return err;
    written = ninep_get32(&call->m);
    err = done_with(call, written <= n ? 0 : -EPROTO);
    return err ? err : (long)written;
}
