/*
 * Names of devices.
 *
 * A name is translated through logical names as often as there is a translation, unless it begins
 * with an underscore or the translation is terminal. What is left is a device and a colon, which
 * may be missing. SYS$INPUT and its relatives, and TT, which a login defines on OpenVMS, stand for
 * the first three descriptors and the controlling terminal where no logical name of theirs is
 * defined.
 */
#include "kernel/sys/vms/device.h"

#include "kernel/base/abi/psldef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/proc/channels.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/fdtable.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/lnm.h"
#include "kernel/sys/vms/mailbox_file.h"

#define NAME_MAX LNM$C_NAMLENGTH

struct name {
    char text[NAME_MAX + 1];
    uint32_t length;
    bool terminal; /* not to be translated any more */
    bool colon;    /* there was one behind it */
};

static cond_t take(const struct lnm_view *v, void *arg)
{
    struct name *n = arg;
    struct lnm_string s;
    uint32_t attributes;

    if (!lnm_translation(v->block, 0, &s, &attributes))
        return SS$_NOLOGNAM;
    if (s.length == 0)
        return SS$_IVDEVNAM;
    memcpy(n->text, s.s, s.length);
    n->length = s.length;
    n->terminal = (attributes & LNM$M_TERMINAL) != 0;
    return SS$_NORMAL;
}

/* What comes before the colon is the device. */
static void cut(struct name *n)
{
    const char *colon = memchr(n->text, ':', n->length);

    n->colon = colon != NULL;
    if (colon)
        n->length = (uint32_t)(colon - n->text);
}

static cond_t translate(struct name *n)
{
    static const struct lnm_string file_dev = {"LNM$FILE_DEV", 12};
    const struct lnm_who who = vms_lnm_who();
    char text[NAME_MAX];

    for (unsigned depth = 0; depth <= LNM$C_MAXDEPTH; depth++) {
        struct lnm_string s = {text, n->length};
        cond_t status;

        cut(n);
        s.length = n->length;
        if (n->terminal || !n->length || n->text[0] == '_')
            return SS$_NORMAL;
        memcpy(text, n->text, n->length);
        status = lnm_translate(&who, file_dev, s, PSL$C_USER, false, take, n);
        if (status == SS$_IVDEVNAM || status == SS$_TOOMANYLNAM)
            return status;
        if (status != SS$_NORMAL)
            return SS$_NORMAL;
    }
    return SS$_TOOMANYLNAM;
}

/* ---- devices ---- */

static void upcase(char *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (s[i] >= 'a' && s[i] <= 'z')
            s[i] = (char)(s[i] - 'a' + 'A');
}

/* The number that follows `prefix` and ends the name. */
static bool numbered(const char *s, uint32_t n, const char *prefix, uint32_t *unit)
{
    uint32_t at = (uint32_t)strlen(prefix);

    *unit = 0;
    if (n <= at || n > at + 5 || memcmp(s, prefix, at) != 0)
        return false;
    for (; at < n; at++) {
        if (s[at] < '0' || s[at] > '9')
            return false;
        *unit = *unit * 10 + (uint32_t)(s[at] - '0');
    }
    return true;
}

/* Devices with one unit. */
static const struct fixed {
    const char *name;
    const char *path; /* NULL: a descriptor */
    uint32_t descriptor;
} fixed[] = {
    {"SYS$INPUT", NULL, 0},         {"SYS$OUTPUT", NULL, 1},  {"SYS$ERROR", NULL, 2},
    {"SYS$COMMAND", "/dev/tty", 0}, {"TT", "/dev/tty", 0},    {"OPA0", "/dev/console", 0},
    {"NL", "/dev/null", 0},         {"NLA0", "/dev/null", 0},
};

/* A disk or partition, by the name that show device prints, in upper case. */
static bool disk_of(const char *s, uint32_t n, struct vms_device *d)
{
    for (unsigned minor = 0; minor < BLOCK_DISKS * BLOCK_VOLUMES; minor++) {
        const struct block_volume *v = block_volume(minor);
        char name[BLOCK_NAME];

        if (!v)
            continue;
        str_copy(name, v->name, sizeof(name));
        upcase(name, (uint32_t)strlen(name));
        if (strlen(name) != n || memcmp(name, s, n) != 0)
            continue;
        d->kind = VMS_DEVICE_DISK;
        d->unit = minor;
        (void)format(d->path, sizeof(d->path), "/dev/%s", v->name);
        return true;
    }
    return false;
}

static bool device_of(const char *s, uint32_t n, struct vms_device *d)
{
    uint32_t unit;

    *d = (struct vms_device){.kind = VMS_DEVICE_PATH};
    if (numbered(s, n, "MBA", &unit)) {
        d->kind = VMS_DEVICE_MAILBOX;
        d->unit = unit;
        return true;
    }
    if (numbered(s, n, "FTA", &unit)) {
        (void)format(d->path, sizeof(d->path), "/dev/pts/%u", unit);
        return true;
    }
    if (disk_of(s, n, d))
        return true;
    for (unsigned i = 0; i < ARRAY_SIZE(fixed); i++) {
        if (strlen(fixed[i].name) != n || memcmp(fixed[i].name, s, n) != 0)
            continue;
        if (fixed[i].path) {
            str_copy(d->path, fixed[i].path, sizeof(d->path));
        } else {
            d->kind = VMS_DEVICE_DESCRIPTOR;
            d->unit = fixed[i].descriptor;
        }
        return true;
    }
    return false;
}

static bool is_device_name(const char *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(s[i] >= 'A' && s[i] <= 'Z') && !(s[i] >= '0' && s[i] <= '9') && s[i] != '$' &&
            s[i] != '_')
            return false;
    return n != 0;
}

/* The device of a translated name. */
static cond_t device_named(struct name *n, struct vms_device *d)
{
    uint32_t first = 0;

    while (first < n->length && n->text[first] == '_')
        first++;
    while (n->length > first && n->text[n->length - 1] == ' ')
        n->length--;
    upcase(n->text, n->length);
    if (!is_device_name(n->text + first, n->length - first))
        return SS$_IVDEVNAM;
    return device_of(n->text + first, n->length - first, d) ? SS$_NORMAL : SS$_NOSUCHDEV;
}

/* One of the first three descriptors, which may have a logical name that leads to a file. */
static bool is_descriptor(char *s, uint32_t n, struct vms_device *d)
{
    upcase(s, n);
    return device_of(s, n, d) && d->kind == VMS_DEVICE_DESCRIPTOR;
}

/* A descriptor of a mailbox stands for the mailbox. */
static void look_through(struct vms_device *d)
{
    struct fd_use use = fd_get(process_self()->files, d->unit);
    uint32_t unit = use.file ? vms_mailbox_file_unit(use.file) : 0;

    fd_put(use);
    if (unit) {
        d->kind = VMS_DEVICE_MAILBOX;
        d->unit = unit;
    }
}

cond_t vms_device_find(vaddr_t devnam, struct vms_device *d)
{
    struct name n = {.terminal = false}, given;
    cond_t status = vms_string(devnam, n.text, sizeof(n.text), &n.length);

    if (status != SS$_NORMAL)
        return status == SS$_ACCVIO ? status : SS$_IVDEVNAM;
    if (n.length == 0 || n.length > NAME_MAX)
        return SS$_IVLOGNAM;
    given = n;
    cut(&given);
    status = translate(&n);
    if (status != SS$_NORMAL)
        return status;
    if (memchr(n.text, '/', n.length))
        status = is_descriptor(given.text, given.length, d) ? SS$_NORMAL : SS$_IVDEVNAM;
    else
        status = device_named(&n, d);
    if (status == SS$_NORMAL && d->kind == VMS_DEVICE_DESCRIPTOR)
        look_through(d);
    return status;
}

cond_t vms_device_named(char *name, size_t size, bool *is_device, struct vms_device *d)
{
    struct name n = {.length = (uint32_t)strlen(name)};
    cond_t status;

    *is_device = false;
    if (!n.length || n.length > NAME_MAX || strchr(name, '/'))
        return SS$_IVDEVNAM;
    memcpy(n.text, name, n.length);
    status = translate(&n);
    if (status != SS$_NORMAL)
        return status;
    *is_device = (n.colon || n.text[0] == '_') && !memchr(n.text, '/', n.length);
    if (!*is_device) { /* a logical name with a colon may be that of a file, too */
        if (name[strlen(name) - 1] == ':')
            name[strlen(name) - 1] = '\0';
        return SS$_IVDEVNAM;
    }
    status = device_named(&n, d);
    n.text[MIN(n.length, NAME_MAX - 1u)] = '\0';
    (void)format(name, size, "%s:", n.text);
    return status;
}

struct mailbox_who vms_mailbox_identity(void)
{
    const struct process *p = process_self();

    return (struct mailbox_who){.pid = p->pid,
                                .uic_group = process_uic_group(p),
                                .uic_member = process_uic_member(p),
                                .system = creds_is_system(p),
                                .bypass = (process_privileges(p) & PRV_BYPASS) != 0};
}

cond_t vms_mailbox_who(struct mailbox_who *who)
{
    *who = vms_mailbox_identity();
    who->channels = process_channels();
    return who->channels ? SS$_NORMAL : SS$_INSFMEM;
}
