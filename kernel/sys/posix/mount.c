/*
 * mount and umount: disks with ext4, to be read. Everything else was mounted at boot, and stays.
 * swapon and swapoff: disks as page files.
 *
 * Users are told that they may not, and root, of types that cannot be mounted, that there is no
 * such file system, or that it is there already.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/fs/ext4/ext4.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/process.h"
#include "kernel/sys/posix/path.h"
#include "kernel/sys/posix/upath.h"

#define MNT_FLAGS 0xFu /* MNT_FORCE, MNT_DETACH, MNT_EXPIRE, UMOUNT_NOFOLLOW */
#define NOFOLLOW  0x8u

#define MS_RDONLY 0x1u
/* Those that change nothing here: no set-id bits, no devices, no times of access are ever heeded;
 * MS_NOSUID, MS_NODEV, MS_SYNCHRONOUS, MS_DIRSYNC, MS_NOATIME, MS_NODIRATIME, MS_SILENT,
 * MS_RELATIME, MS_STRICTATIME, MS_LAZYTIME. */
#define MS_HARMLESS 0x3208C96u
#define MS_MAGIC    0xC0ED0000u /* in the upper half, from before 2.4 */

#define OPTIONS_MOST 256u

/* 1: a file system is mounted at the path; 0; or a negative errno. Its type goes to *name. */
static int mounted_at(vaddr_t path, bool follow, const char **name)
{
    struct inode *i;
    int err = path_lookup((uint64_t)AT_FDCWD, path, follow, &i), there;

    if (err)
        return err;
    there = i->fs->root == i;
    *name = i->fs->name; /* names of types stay */
    inode_unref(i);
    return there;
}

/* The options of ext4: words between commas. */
static int parse_options(const char *text, unsigned *flags)
{
    static const struct {
        const char *word;
        unsigned flag;
    } known[] = {{"", 0}, {"noload", EXT4_NOLOAD}, {"norecovery", EXT4_NOLOAD}};

    for (bool more = true; more;) {
        const char *comma = strchr(text, ',');
        size_t n = comma ? (size_t)(comma - text) : strlen(text);
        unsigned k = 0;

        while (k < ARRAY_SIZE(known) &&
               (strlen(known[k].word) != n || memcmp(known[k].word, text, n) != 0))
            k++;
        if (k == ARRAY_SIZE(known))
            return -EINVAL;
        *flags |= known[k].flag;
        more = comma != NULL;
        text += n + 1;
    }
    return 0;
}

/* The volume of a device file. */
static int find_volume(vaddr_t device, struct block_volume **v)
{
    struct inode *i;
    int err = path_lookup((uint64_t)AT_FDCWD, device, true, &i);

    if (err)
        return err;
    err = tree_volume(i, v);
    inode_unref(i);
    return err;
}

static long mount_ext4(vaddr_t device, vaddr_t path, uint64_t flags, vaddr_t data)
{
    struct block_volume *v;
    char options[OPTIONS_MOST] = "";
    unsigned how = 0;
    struct upath u;
    struct fs *fs;
    long err = 0;

    if ((flags & 0xFFFF0000u) == MS_MAGIC)
        flags &= 0xFFFF;
    if (flags & ~(uint64_t)(MS_RDONLY | MS_HARMLESS))
        return -EINVAL;
    if (data && (err = copyin_str(options, data, sizeof(options))) < 0)
        return err == -ENAMETOOLONG ? -EINVAL : err;
    err = parse_options(options, &how);
    if (!err)
        err = find_volume(device, &v);
    if (!(flags & MS_RDONLY) && !(how & EXT4_NOLOAD))
        how |= EXT4_WRITE;
    if (!err && (how & EXT4_WRITE) && v->disk->read_only)
        err = -EROFS;
    if (!err)
        err = path_begin(&u, (uint64_t)AT_FDCWD, path);
    if (err)
        return err;
    err = ext4_create(v, how, &fs);
    if (!err && (err = tree_mount(&u.cred, u.dir, u.text, fs)) != 0)
        fs->end(fs);
    path_end(&u);
    return err;
}

long sys_mount(uint64_t device, uint64_t path, uint64_t type, uint64_t flags, uint64_t data)
{
    const char *name = "";
    char text[32];
    int there;
    long n = 0;

    if (type)
        n = copyin_str(text, type, sizeof(text));
    if (n < 0 && n != -ENAMETOOLONG)
        return n;
    there = mounted_at(path, true, &name);
    if (there < 0)
        return there;
    if (process_euid(process_self()) != 0)
        return -EPERM;
    if (!type)
        return -EINVAL;
    if (n > 0 && strcmp(text, "ext4") == 0)
        return there ? -EBUSY : mount_ext4(device, path, flags, data);
    return n > 0 && there && strcmp(name, text) == 0 ? -EBUSY : -ENODEV;
}

long sys_umount2(uint64_t path, uint64_t flags)
{
    struct upath u;
    int err;

    if ((uint32_t)flags & ~MNT_FLAGS)
        return -EINVAL;
    if (process_euid(process_self()) != 0)
        return -EPERM;
    err = path_begin(&u, (uint64_t)AT_FDCWD, path);
    if (err)
        return err;
    err = tree_unmount(&u.cred, u.dir, u.text, !(flags & NOFOLLOW));
    path_end(&u);
    return err;
}

long sys_oldumount(uint64_t path) { return sys_umount2(path, 0); }

/* ---- page files ---- */

#define SWAP_FLAGS 0x7FFFFu /* priorities, and discarding: all page files are alike here */

long sys_swapon(uint64_t path, uint64_t flags)
{
    struct block_volume *v;
    int err;

    if (process_euid(process_self()) != 0)
        return -EPERM;
    if (flags & ~(uint64_t)SWAP_FLAGS)
        return -EINVAL;
    err = find_volume(path, &v);
    if (err == -ENOTBLK)
        err = -EINVAL; /* only disks and partitions */
    return err ? err : page_file_on(v);
}

long sys_swapoff(uint64_t path)
{
    struct block_volume *v;
    int err;

    if (process_euid(process_self()) != 0)
        return -EPERM;
    err = find_volume(path, &v);
    if (err == -ENOTBLK)
        err = -EINVAL;
    return err ? err : page_file_off(v);
}
