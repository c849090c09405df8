/* Calls on attributes of files and on their storage: times, nodes, file systems, locks, copies,
 * ranges, vectors, files without a name. /tmp is empty before and after each. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <tap.h>
#include <unistd.h>

#define A(p) ((unsigned long)(p))
#define HERE A(AT_FDCWD)

#define FILE_ TMP "/file"
#define OTHER TMP "/other"
#define NEW   TMP "/new"
#define LINK  TMP "/link" /* to FILE_ */

#define SYS_FCHMODAT2  562
#define STATFS64_BYTES 88
#define F_OFD_SETLK_   37
#define MANY           20 /* buffers: more than need no allocation */
#define FILLED         10 /* bytes of OTHER */

static int fd = -1, other = -1, folder = -1, ends[2] = {-1, -1}, full[2] = {-1, -1};
static char text[2 * PAGE];
static struct iovec hello = {"hello", 5};
static struct iovec cold_piece = {(void *)COLD, 5}, pieces[MANY];
static struct flock lock, part;
static unsigned long device; /* that has /tmp */

/* ---- state before a call ---- */

static struct stat status_of(const char *path)
{
    struct stat st = {0};

    lstat(path, &st);
    return st;
}

static void make(void)
{
    memset(text, 'a', sizeof(text));
    for (unsigned i = 0; i < MANY; i++)
        pieces[i] = (struct iovec){text + i, 1};
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    part = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 10};
    fd = open(FILE_, O_RDWR | O_CREAT | O_TRUNC, 0644);
    other = open(OTHER, O_RDWR | O_CREAT | O_TRUNC, 0644);
    folder = open("/tmp", O_RDONLY | O_DIRECTORY);
    if (folder < 0 || write(fd, "hello", 5) != 5 || lseek(fd, 0, SEEK_SET) != 0 ||
        write(other, text, FILLED) != FILLED || symlink(FILE_, LINK) != 0)
        bail_out("no files: %s", strerror(errno));
    device = status_of(FILE_).st_dev;
    cold_make();
}

/* OTHER is one hole. */
static void make_hole(void)
{
    make();
    if (ftruncate(other, 0) != 0 || ftruncate(other, 4 * (long)PAGE) != 0 ||
        lseek(other, 0, SEEK_SET) != 0)
        bail_out("no hole: %s", strerror(errno));
}

static void make_full(void)
{
    make();
    if (write(other, text, sizeof(text)) != sizeof(text))
        bail_out("no pages: %s", strerror(errno));
}

static void make_pipe(void)
{
    make();
    if (pipe2(ends, O_NONBLOCK) != 0)
        bail_out("no pipe: %s", strerror(errno));
}

/* One pipe with bytes, and one without; OTHER is a hole. */
static void make_pipes(void)
{
    make_hole();
    if (pipe2(ends, O_NONBLOCK) != 0 || pipe(full) != 0 || write(full[1], "hello", 5) != 5)
        bail_out("no pipe: %s", strerror(errno));
}

static void make_named_pipe(void)
{
    make();
    if (mkfifo(NEW, 0644) != 0)
        bail_out("no pipe: %s", strerror(errno));
}

static void make_locked(void)
{
    make();
    if (fcntl(fd, F_SETLK, &lock) != 0 || flock(fd, LOCK_EX) != 0)
        bail_out("no lock: %s", strerror(errno));
}

static void make_sealable(void)
{
    make();
    close(other);
    other = memfd_create("sealed", MFD_ALLOW_SEALING);
}

#define HUGE    (4ul << 20)
#define HUGE_AT (24 * BLOCK)

static void make_huge(void)
{
    make();
    close(other);
    other = memfd_create("huge", MFD_HUGETLB);
}

static long map_huge(unsigned long n, unsigned flags)
{
    return raw6(SYS_mmap, HUGE_AT, n, PROT_READ | PROT_WRITE, flags | MAP_FIXED, A(other), 0);
}
static long do_map_huge(void) { return map_huge(3 * HUGE, MAP_SHARED); }
static long do_map_huge_private(void) { return map_huge(2 * HUGE, MAP_PRIVATE); }
static long do_cut_huge(void) { return raw6(SYS_ftruncate, A(other), HUGE, 0, 0, 0, 0); }
static bool is_huge(long r) { return r == (long)HUGE_AT; }

static void make_huge_mapped(void)
{
    make_huge();
    if (!is_huge(map_huge(2 * HUGE, MAP_SHARED)))
        bail_out("no file of huge pages");
    munmap((void *)HUGE_AT, 2 * HUGE);
}

static void drop(void)
{
    munmap((void *)HUGE_AT, 3 * HUGE);
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
    fd = other = folder = ends[0] = ends[1] = -1;
    unlink(FILE_);
    unlink(OTHER);
    unlink(NEW);
    unlink(LINK);
}

/* ---- effects of a call ---- */

static bool is_new_file(long r) { return r == 0 && S_ISREG(status_of(NEW).st_mode); }
static bool is_new_pipe(long r) { return r == 0 && S_ISFIFO(status_of(NEW).st_mode); }
static bool opened(long r) { return r >= 3 && close((int)r) == 0; }
static bool is_private(long r) { return r == 0 && (status_of(FILE_).st_mode & 0777) == 0600; }
static bool is_of_7(long r) { return r == 0 && status_of(FILE_).st_uid == 7; }
static bool is_old(long r) { return r == 0 && status_of(FILE_).st_mtime == 0; }
static bool told(long r) { return r == 0 && *(unsigned *)COLD != 0; }

/* At `at` OTHER has the five bytes of FILE_, and nothing after its size. */
static bool copied(long at, long size)
{
    char got[5] = "";

    return pread(other, got, 5, at) == 5 && memcmp(got, "hello", 5) == 0 &&
           status_of(OTHER).st_size == size;
}

static bool sent(long r) { return r == 5 && copied(FILLED, FILLED + 5) && *(long *)COLD == 0; }
static bool sent_at(long r) { return r == 5 && copied(FILLED, FILLED + 5) && *(long *)COLD == 5; }
static bool filled_hole(long r) { return r == 5 && copied(0, 4 * (long)PAGE); }
static bool copied_at(long r) { return r == 5 && copied(0, FILLED) && *(long *)COLD == 5; }

static bool pipe_has_5(long r)
{
    char got[8];

    return r == 5 && read(ends[0], got, sizeof(got)) == 5 && memcmp(got, "hello", 5) == 0;
}

static bool got_hello(long r) { return r == 5 && memcmp((void *)COLD, "hello", 5) == 0; }
static bool wrote_many(long r) { return r == MANY && status_of(FILE_).st_size == MANY; }
static bool wrote_far(long r) { return r == MANY && status_of(FILE_).st_size == PAGE + MANY; }
static bool added_many(long r) { return r == MANY && status_of(FILE_).st_size == 5 + MANY; }
static bool has_pages(long r) { return r == 0 && status_of(OTHER).st_size == 3 * (long)PAGE; }
static bool kept_size(long r) { return r == 0 && status_of(OTHER).st_size == 4 * (long)PAGE; }
static bool is_cleared(long r)
{
    char byte = 1;

    return r == 0 && pread(other, &byte, 1, 5) == 1 && byte == 0;
}

/* flock by another open file fails. */
static bool is_flocked(long r)
{
    int f = open(FILE_, O_RDWR);
    bool right = r == 0 && flock(f, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK;

    close(f);
    return right;
}

/* Is the lock of byte 15, and that of byte 30, refused to another open file? The close ends the
   process's own locks. */
static bool locks_are(bool at_15, bool at_30)
{
    struct flock want = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 15, .l_len = 1};
    int f = open(FILE_, O_RDWR);
    bool right = (fcntl(f, F_OFD_SETLK_, &want) == -1) == at_15;

    want.l_start = 30;
    right &= (fcntl(f, F_OFD_SETLK_, &want) == -1) == at_30;
    close(f);
    return right;
}

static bool all_locked(long r) { return r == 0 && locks_are(true, true); }
static bool part_locked(long r) { return r == 0 && locks_are(false, true); }

/* ---- calls ---- */

static long on(unsigned long call, int f, unsigned long a, unsigned long b, unsigned long c)
{
    return raw6(call, A(f), a, b, c, 0, 0);
}

/* The right refusal is a success. */
static long refused(long r, long error) { return r == -error ? 0 : r; }

static long do_syncfs(void) { return on(SYS_syncfs, fd, 0, 0, 0); }
static long do_sync_range(void) { return on(SYS_sync_file_range, fd, 0, PAGE, 2); }
static long do_advise(void) { return on(SYS_fadvise64, fd, 0, 0, POSIX_FADV_WILLNEED); }
static long do_readahead(void) { return on(SYS_readahead, fd, 0, PAGE, 0); }
static long do_fstatfs(void) { return on(SYS_fstatfs, fd, COLD, 0, 0); }
static long do_fstatfs64(void) { return on(SYS_fstatfs64, fd, STATFS64_BYTES, COLD, 0); }
static long do_ustat(void) { return raw6(SYS_ustat, device, COLD, 0, 0, 0, 0); }
static long do_getdents(void) { return on(SYS_getdents, folder, COLD, PAGE, 0); }
static long do_flock(void) { return on(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0); }
static long do_unflock(void) { return on(SYS_flock, fd, LOCK_UN, 0, 0); }
static long do_setlk(void) { return on(SYS_fcntl, fd, F_SETLK, A(&lock), 0); }
static long do_unlock_part(void) { return on(SYS_fcntl, fd, F_SETLK, A(&part), 0); }
static long do_ofd_setlk(void) { return on(SYS_fcntl, fd, F_OFD_SETLK_, A(&lock), 0); }
static long do_getlk(void) { return on(SYS_fcntl, fd, F_GETLK, A(&lock), 0); }
/* A lock of no known kind, refused after it has been read. */
static long do_no_lock(void) { return refused(on(SYS_fcntl, fd, F_SETLK, COLD, 0), EINVAL); }

static long do_sendfile(void) { return on(SYS_sendfile, other, A(fd), 0, 5); }
static long do_sendfile_at(void) { return on(SYS_sendfile, other, A(fd), COLD, 5); }
static long do_sendfile_pipe(void) { return on(SYS_sendfile, ends[1], A(fd), 0, 5); }
static long do_splice(void) { return raw6(SYS_splice, A(fd), 0, A(ends[1]), 0, 5, 0); }
static long do_splice_out(void) { return raw6(SYS_splice, A(full[0]), 0, A(other), 0, 5, 0); }
static long do_splice_across(void) { return raw6(SYS_splice, A(full[0]), 0, A(ends[1]), 0, 5, 0); }
static long do_tee(void) { return raw6(SYS_tee, A(full[0]), A(ends[1]), 5, 0, 0, 0); }
static long do_vmsplice(void) { return raw6(SYS_vmsplice, A(ends[1]), A(&hello), 1, 0, 0, 0); }
static long do_copy(void) { return raw6(SYS_copy_file_range, A(fd), 0, A(other), 0, 5, 0); }
static long do_copy_at(void)
{
    return raw6(SYS_copy_file_range, A(fd), COLD, A(other), COLD + 8, 5, 0);
}

static long do_allocate(void) { return on(SYS_fallocate, other, 0, 0, 3 * PAGE); }
static long do_fill_hole(void) { return on(SYS_fallocate, other, 0, PAGE, PAGE); }
static long do_punch(void)
{
    return on(SYS_fallocate, other, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE);
}
static long do_punch_part(void)
{
    return on(SYS_fallocate, other, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8);
}
static long do_zero(void) { return on(SYS_fallocate, other, FALLOC_FL_ZERO_RANGE, 0, 3 * PAGE); }

static long do_preadv(void) { return on(SYS_preadv, fd, A(&cold_piece), 1, 0); }
static long do_preadv2(void) { return on(SYS_preadv2, fd, A(&cold_piece), 1, 0); }
static long do_pwritev(void) { return on(SYS_pwritev, fd, A(pieces), MANY, PAGE); }
static long do_pwritev2(void) { return on(SYS_pwritev2, fd, A(pieces), MANY, PAGE); }
static long do_append(void)
{
    return raw6(SYS_pwritev2, A(fd), A(pieces), MANY, 0, 0, 0x10); /* RWF_APPEND */
}
static long do_writev_many(void) { return on(SYS_writev, fd, A(pieces), MANY, 0); }
static long do_seal(void) { return on(SYS_fcntl, other, F_ADD_SEALS, F_SEAL_GROW, 0); }

/* Extended attributes: no file has any, which is said when the file has been found. */
/* Nothing can be mounted, and /tmp is no mount. */
static long do_mount(void)
{
    return refused(raw6(SYS_mount, A("none"), A(TMP), A("none"), 0, 0, 0), ENODEV);
}
/* Nor is it a disk. */
static long do_swapon(void) { return refused(raw6(SYS_swapon, A(TMP), 0, 0, 0, 0, 0), EINVAL); }
static long do_swapoff(void) { return refused(raw6(SYS_swapoff, A(TMP), 0, 0, 0, 0, 0), EINVAL); }
static long do_umount2(void) { return refused(raw6(SYS_umount2, A(TMP), 0, 0, 0, 0, 0), EINVAL); }
static long do_oldumount(void)
{
    return refused(raw6(SYS_oldumount, A(TMP), 0, 0, 0, 0, 0), EINVAL);
}
static long do_setxattr(void)
{
    return refused(raw6(SYS_setxattr, A(LINK), A("user.a"), A(text), 5, 0, 0), EOPNOTSUPP);
}
static long do_lsetxattr(void)
{
    return refused(raw6(SYS_lsetxattr, A(LINK), A("user.a"), COLD, 5, 0, 0), EOPNOTSUPP);
}
static long do_fsetxattr(void)
{
    return refused(raw6(SYS_fsetxattr, A(fd), A("user.a"), COLD, 5, 0, 0), EOPNOTSUPP);
}
static long do_getxattr(void)
{
    return refused(raw6(SYS_getxattr, A(LINK), A("user.a"), A(text), 5, 0, 0), EOPNOTSUPP);
}
static long do_lgetxattr(void)
{
    return refused(raw6(SYS_lgetxattr, A(LINK), A("user.a"), A(text), 5, 0, 0), EOPNOTSUPP);
}
/* The name, in an untouched page, is empty. */
static long do_fgetxattr(void) { return refused(on(SYS_fgetxattr, fd, COLD, 0, 0), ERANGE); }
static long do_flistxattr(void) { return on(SYS_flistxattr, fd, A(text), PAGE, 0); }
static long do_removexattr(void)
{
    return refused(raw6(SYS_removexattr, A(LINK), A("user.a"), 0, 0, 0, 0), EOPNOTSUPP);
}
static long do_lremovexattr(void)
{
    return refused(raw6(SYS_lremovexattr, A(LINK), A("user.a"), 0, 0, 0, 0), EOPNOTSUPP);
}
static long do_fremovexattr(void)
{
    return refused(on(SYS_fremovexattr, fd, A("user.a"), 0, 0), EOPNOTSUPP);
}

/* A call with these arguments. */
#define PATH(name_, call_, effect_, flags_, ...)                                          \
    {                                                                                     \
        .name = name_, .call = (call_), .prepare = make, .effect = effect_, .undo = drop, \
        .flags = (flags_), .args = {                                                      \
            __VA_ARGS__                                                                   \
        }                                                                                 \
    }
/* A call that is made by a function; last, results that are not the usual ones. */
#define FULL \
    {OF_FILE, -ENOSPC}, { MEGA_ALLOC_NPP, -ENOSPC }
#define NO_LOCK {ANY_KIND, -ENOLCK}

const struct scenario storage_scenarios[] = {
    PATH("mknod", SYS_mknod, is_new_file, 0, A(NEW), S_IFREG | 0644, 0),
    PATH("mknod, a named pipe", SYS_mknod, is_new_pipe, 0, A(NEW), S_IFIFO | 0644, 0),
    PATH("mknodat", SYS_mknodat, is_new_file, 0, HERE, A(NEW), S_IFREG | 0644, 0),
    PATH("fchmodat2", SYS_FCHMODAT2, is_private, 0, HERE, A(FILE_), 0600, 0),
    PATH("fchownat", SYS_fchownat, is_of_7, 0, HERE, A(FILE_), 7, 7, 0),
    PATH("utimes", SYS_utimes, is_old, WARM, A(FILE_), COLD),
    PATH("futimesat", SYS_futimesat, is_old, WARM, HERE, A(FILE_), COLD),
    PATH("statx", SYS_statx, told, 0, HERE, A(LINK), 0, 0x7FF, COLD),
    PATH("statfs", SYS_statfs, told, 0, A(FILE_), COLD),
    PATH("statfs64", SYS_statfs64, told, 0, A(FILE_), STATFS64_BYTES, COLD),
    WITH("fstatfs", SYS_fstatfs, make, do_fstatfs, told, 0),
    WITH("fstatfs64", SYS_fstatfs64, make, do_fstatfs64, told, 0),
    WITH("ustat", SYS_ustat, make, do_ustat, told, 0),
    WITH("mount", SYS_mount, make, do_mount, NULL, 0),
    WITH("swapon", SYS_swapon, make, do_swapon, NULL, 0),
    WITH("swapoff", SYS_swapoff, make, do_swapoff, NULL, 0),
    WITH("umount2", SYS_umount2, make, do_umount2, NULL, 0),
    WITH("oldumount", SYS_oldumount, make, do_oldumount, NULL, 0),
    WITH("getdents", SYS_getdents, make, do_getdents, NULL, ABSORBS),
    PATH("sync", SYS_sync, NULL, NOTHING, 0),
    WITH("syncfs", SYS_syncfs, make, do_syncfs, NULL, NOTHING),
    WITH("sync_file_range", SYS_sync_file_range, make, do_sync_range, NULL, NOTHING),
    WITH("fadvise64", SYS_fadvise64, make, do_advise, NULL, NOTHING),
    WITH("readahead", SYS_readahead, make, do_readahead, NULL, NOTHING),

    {.name = "open, a named pipe",
     .call = SYS_open,
     .prepare = make_named_pipe,
     .args = {A(NEW), O_RDWR},
     .effect = opened,
     .undo = drop},
    PATH("memfd_create", SYS_memfd_create, opened, 0, A("name"), MFD_ALLOW_SEALING),
    PATH("memfd_create, name in an untouched page", SYS_memfd_create, opened, WARM, COLD, 0),
    PATH("memfd_create, huge pages", SYS_memfd_create, opened, 0, A("name"), MFD_HUGETLB),
    WITH("mmap, a file of huge pages", SYS_mmap, make_huge, do_map_huge, is_huge, 0),
    WITH("mmap, a file of huge pages that has grown", SYS_mmap, make_huge_mapped, do_map_huge,
         is_huge, 0),
    WITH("mmap, a file of huge pages, private", SYS_mmap, make_huge_mapped, do_map_huge_private,
         is_huge, 0),
    WITH("ftruncate, a file of huge pages", SYS_ftruncate, make_huge_mapped, do_cut_huge, NULL, 0),
    WITH("fcntl, a seal", SYS_fcntl, make_sealable, do_seal, NULL, NOTHING),

    WITH("flock", SYS_flock, make, do_flock, is_flocked, 0, NO_LOCK),
    WITH("flock, again", SYS_flock, make_locked, do_flock, is_flocked, 0, NO_LOCK),
    WITH("flock, unlock", SYS_flock, make_locked, do_unflock, NULL, NOTHING),
    WITH("fcntl, a lock", SYS_fcntl, make, do_setlk, all_locked, 0, NO_LOCK),
    WITH("fcntl, unlock a part", SYS_fcntl, make_locked, do_unlock_part, part_locked, 0, NO_LOCK),
    WITH("fcntl, a lock of an open file", SYS_fcntl, make, do_ofd_setlk, all_locked, 0, NO_LOCK),
    WITH("fcntl, ask for a lock", SYS_fcntl, make_locked, do_getlk, NULL, NOTHING),
    WITH("fcntl, a lock in an untouched page", SYS_fcntl, make, do_no_lock, NULL, 0),

    WITH("sendfile", SYS_sendfile, make, do_sendfile, sent, 0, FULL),
    WITH("sendfile, offset in an untouched page", SYS_sendfile, make, do_sendfile_at, sent_at, WARM,
         FULL),
    WITH("sendfile to a hole", SYS_sendfile, make_hole, do_sendfile, filled_hole, 0, FULL),
    WITH("sendfile to a pipe", SYS_sendfile, make_pipe, do_sendfile_pipe, pipe_has_5, 0),
    WITH("splice to a pipe", SYS_splice, make_pipe, do_splice, pipe_has_5, ABSORBS),
    WITH("splice to a file", SYS_splice, make_pipes, do_splice_out, NULL, 0, FULL),
    WITH("splice between pipes", SYS_splice, make_pipes, do_splice_across, pipe_has_5, 0),
    WITH("tee", SYS_tee, make_pipes, do_tee, pipe_has_5, 0),
    WITH("vmsplice", SYS_vmsplice, make_pipe, do_vmsplice, pipe_has_5, 0),
    WITH("copy_file_range", SYS_copy_file_range, make_hole, do_copy, filled_hole, 0, FULL),
    WITH("copy_file_range, offsets in an untouched page", SYS_copy_file_range, make, do_copy_at,
         copied_at, WARM, FULL),

    WITH("fallocate", SYS_fallocate, make, do_allocate, has_pages, 0, {ANY_KIND, -ENOSPC}),
    WITH("fallocate in a hole", SYS_fallocate, make_hole, do_fill_hole, kept_size, 0,
         {ANY_KIND, -ENOSPC}),
    WITH("fallocate, punch a hole", SYS_fallocate, make_full, do_punch, is_cleared, NOTHING),
    WITH("fallocate, clear bytes", SYS_fallocate, make_full, do_punch_part, is_cleared, NOTHING),
    WITH("fallocate, clear a range and grow", SYS_fallocate, make, do_zero, has_pages, NOTHING),

    WITH("preadv to an untouched page", SYS_preadv, make, do_preadv, got_hello, 0),
    WITH("preadv2 to an untouched page", SYS_preadv2, make, do_preadv2, got_hello, 0),
    WITH("pwritev of many pieces", SYS_pwritev, make, do_pwritev, wrote_far, 0, FULL),
    WITH("pwritev2 of many pieces", SYS_pwritev2, make, do_pwritev2, wrote_far, 0, FULL),
    WITH("pwritev2 at the end", SYS_pwritev2, make, do_append, added_many, 0, FULL),
    WITH("writev of many pieces", SYS_writev, make, do_writev_many, wrote_many, 0, FULL),

    WITH("setxattr", SYS_setxattr, make, do_setxattr, NULL, 0),
    WITH("lsetxattr", SYS_lsetxattr, make, do_lsetxattr, NULL, WARM),
    WITH("fsetxattr", SYS_fsetxattr, make, do_fsetxattr, NULL, 0),
    WITH("getxattr", SYS_getxattr, make, do_getxattr, NULL, 0),
    WITH("lgetxattr", SYS_lgetxattr, make, do_lgetxattr, NULL, 0),
    WITH("fgetxattr", SYS_fgetxattr, make, do_fgetxattr, NULL, 0),
    PATH("listxattr", SYS_listxattr, NULL, 0, A(LINK), A(text), PAGE),
    PATH("llistxattr", SYS_llistxattr, NULL, 0, A(LINK), A(text), PAGE),
    WITH("flistxattr", SYS_flistxattr, make, do_flistxattr, NULL, NOTHING),
    WITH("removexattr", SYS_removexattr, make, do_removexattr, NULL, 0),
    WITH("lremovexattr", SYS_lremovexattr, make, do_lremovexattr, NULL, 0),
    WITH("fremovexattr", SYS_fremovexattr, make, do_fremovexattr, NULL, NOTHING),
    {0},
};
