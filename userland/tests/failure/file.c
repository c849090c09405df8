/* Calls on files, directories, pipes and descriptors. /tmp is empty before and after each. */
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <tap.h>
#include <unistd.h>

#define A(p) ((unsigned long)(p))
#define HERE A(AT_FDCWD)

#define FILE_ TMP "/file"
#define NEW   TMP "/new"
#define LINK  TMP "/link" /* to FILE_ */
#define DIR_  TMP "/folder"

static int fd = -1, ends[2] = {-1, -1};
static char text[3 * PAGE];
static struct iovec vector[2] = {{text, 100}, {text + 100, 100}};

/* ---- state before a call ---- */

static void make_file(void)
{
    int f = open(FILE_, O_RDWR | O_CREAT | O_TRUNC, 0644);

    memset(text, 'a', sizeof(text));
    if (f < 0 || write(f, "hello", 5) != 5 || symlink(FILE_, LINK) != 0 || mkdir(DIR_, 0755) != 0)
        bail_out("no files: %s", strerror(errno));
    close(f);
    cold_make();
}

static void make_open(void)
{
    make_file();
    fd = open(FILE_, O_RDWR);
}

/* A large file that is one hole. */
static void make_hole(void)
{
    make_open();
    ftruncate(fd, 200 * (long)PAGE);
}

static void make_folder_open(void)
{
    make_file();
    fd = open("/tmp", O_RDONLY | O_DIRECTORY);
}

static void make_pipe(void)
{
    if (pipe(ends) != 0)
        bail_out("no pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    cold_make();
}

static void make_full_pipe(void)
{
    make_pipe();
    if (write(ends[1], "hello", 5) != 5)
        bail_out("the pipe takes nothing");
}

/* Fill the pipe so that the next write extends over the end of the ring's first page. */
static void make_pipe_near_end(void)
{
    make_pipe();
    if (write(ends[1], text, PAGE - 10) != PAGE - 10)
        bail_out("the pipe takes nothing");
}

static void drop(void)
{
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
    fd = ends[0] = ends[1] = -1;
    unlink(FILE_);
    unlink(NEW);
    unlink(LINK);
    rmdir(DIR_);
    rmdir(NEW);
    unlink(DIR_ "/new");
}

/* ---- effects of a call ---- */

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static bool new_is_there(long r) { return r == 0 && is_there(NEW); }
static bool file_is_gone(long r) { return r == 0 && !is_there(FILE_); }
static bool folder_is_gone(long r) { return r == 0 && !is_there(DIR_); }
static bool was_renamed(long r) { return r == 0 && is_there(NEW) && !is_there(FILE_); }

static bool size_is(const char *path, long n)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size == n;
}

static bool opened(long r)
{
    if (r < 3)
        return false;
    close((int)r);
    return true;
}

static bool opened_new(long r) { return opened(r) && size_is(NEW, 0); }
static bool opened_empty(long r) { return opened(r) && size_is(FILE_, 0); }
static bool is_empty(long r) { return r == 0 && size_is(FILE_, 0); }

static bool both_opened(long r)
{
    const int *p = (const int *)COLD;

    (void)r;
    return opened(p[0]) && opened(p[1]);
}

/* An empty path, which is refused after it has been read. */
static long open_no_path(void)
{
    long r = raw6(SYS_open, COLD, O_RDWR, 0, 0, 0, 0);

    return r == -ENOENT ? 0 : r;
}

static long second_end;

static long do_pipe(void)
{
    register unsigned long v0 __asm__("$0") = SYS_pipe;
    register unsigned long r19 __asm__("$19") = 0;
    register unsigned long r20 __asm__("$20") = 0;

    __asm__ volatile("callsys"
                     : "+r"(v0), "+r"(r19), "+r"(r20)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$16", "$17", "$18", "$21",
                       "$22", "$23", "$24", "$25", "$27", "$28", "memory");
    second_end = (long)r20;
    return r19 ? -(long)v0 : (long)v0;
}

static bool pipe_opened(long r) { return opened(r) && opened(second_end); }

static bool reads(const char *path, const char *want, size_t n, long at)
{
    char got[16] = {0};
    int f = open(path, O_RDONLY);
    bool right = pread(f, got, n, at) == (long)n && memcmp(got, want, n) == 0;

    close(f);
    return right;
}

/* The whole length, or only the pages for which memory could be allocated. */
static bool wrote_page(long r)
{
    return (r == (long)(2 * PAGE) || r == (long)PAGE) && size_is(FILE_, r) &&
           reads(FILE_, "aa", 2, r - 2);
}

static bool wrote_far(long r)
{
    return r == 5 && size_is(FILE_, 100 * (long)PAGE + 5) && reads(FILE_, "hello", 5, 0) &&
           reads(FILE_, "aaaaa", 5, 100 * (long)PAGE);
}

static bool got_hello(long r) { return r == 5 && memcmp((void *)COLD, "hello", 5) == 0; }
static bool wrote_200(long r) { return r == 200 && size_is(FILE_, 200); }

static bool pipe_holds(long n)
{
    char room[PAGE];
    long sum = 0, r;

    while ((r = read(ends[0], room, sizeof(room))) > 0)
        sum += r;
    return sum == n;
}

static bool pipe_got_100(long r) { return r == 100 && pipe_holds(100); }
static bool pipe_got_both(long r) { return r == 100 && pipe_holds((long)PAGE + 90); }

static bool is_pipe_count(long r) { return r == 0 && *(int *)COLD == 5; }

static struct pollfd polled[1];
static void poll_prepare(void)
{
    make_full_pipe();
    polled[0] = (struct pollfd){ends[0], POLLIN, 0};
}

static long do_read(void) { return raw6(SYS_read, A(fd), COLD, 5, 0, 0, 0); }
static long do_pread(void) { return raw6(SYS_pread64, A(fd), COLD, 5, 0, 0, 0); }
static long do_read_hole(void) { return raw6(SYS_pread64, A(fd), A(text), 100, 50 * PAGE, 0, 0); }
static long do_readv(void)
{
    static struct iovec v[1] = {{(void *)COLD, 5}};

    return raw6(SYS_readv, A(fd), A(v), 1, 0, 0, 0);
}
static long do_write(void) { return raw6(SYS_write, A(fd), A(text), 2 * PAGE, 0, 0, 0); }
static long do_write_cold(void) { return raw6(SYS_write, A(fd), COLD, 100, 0, 0, 0); }
static bool wrote_cold(long r) { return r == 100; }
static long do_pwrite_far(void) { return raw6(SYS_pwrite64, A(fd), A(text), 5, 100 * PAGE, 0, 0); }
static long do_writev(void) { return raw6(SYS_writev, A(fd), A(vector), 2, 0, 0, 0); }
static long do_pipe_read(void) { return raw6(SYS_read, A(ends[0]), COLD, 5, 0, 0, 0); }
static long do_pipe_write(void) { return raw6(SYS_write, A(ends[1]), A(text), 100, 0, 0, 0); }
static long do_pipe_write_cold(void) { return raw6(SYS_write, A(ends[1]), COLD, 100, 0, 0, 0); }
static long do_fionread(void) { return raw6(SYS_ioctl, A(ends[0]), FIONREAD, COLD, 0, 0, 0); }
static long do_poll_pipe(void) { return raw6(SYS_poll, A(polled), 1, 0, 0, 0, 0); }
static long do_getdents(void) { return raw6(SYS_getdents64, A(fd), COLD, PAGE, 0, 0, 0); }
static long do_fstat(void) { return raw6(SYS_fstat64, A(fd), COLD, 0, 0, 0, 0); }
static long do_lseek(void) { return raw6(SYS_lseek, A(fd), 3, SEEK_SET, 0, 0, 0) - 3; }
static long do_fsync(void) { return raw6(SYS_fsync, A(fd), 0, 0, 0, 0, 0); }
static long do_fdatasync(void) { return raw6(447, A(fd), 0, 0, 0, 0, 0); }
static long do_fchmod(void) { return raw6(SYS_fchmod, A(fd), 0600, 0, 0, 0, 0); }
static long do_fchown(void) { return raw6(SYS_fchown, A(fd), 0, 0, 0, 0, 0); }
static long do_ftruncate(void) { return raw6(SYS_ftruncate, A(fd), 10 * PAGE, 0, 0, 0, 0); }
static long do_fchdir(void) { return raw6(SYS_fchdir, A(fd), 0, 0, 0, 0, 0); }
static long do_close(void)
{
    long r = raw6(SYS_close, A(fd), 0, 0, 0, 0, 0);

    if (r == 0)
        fd = -1;
    return r;
}
static long do_close_range(void)
{
    long r = raw6(SYS_close_range, A(fd), A(fd), 0, 0, 0, 0);

    if (r == 0)
        fd = -1;
    return r;
}
static long do_dup(void) { return raw6(SYS_dup, A(fd), 0, 0, 0, 0, 0); }
static long do_dup2(void) { return raw6(SYS_dup2, A(fd), 20, 0, 0, 0, 0); }
static long do_dup3(void) { return raw6(SYS_dup3, A(fd), 20, O_CLOEXEC, 0, 0, 0); }
static long do_dup2_far(void) { return raw6(SYS_dup2, A(fd), 200, 0, 0, 0, 0); }
static long do_dup3_far(void) { return raw6(SYS_dup3, A(fd), 200, O_CLOEXEC, 0, 0, 0); }
static long do_dupfd(void) { return raw6(SYS_fcntl, A(fd), F_DUPFD, 20, 0, 0, 0); }
static long do_getfl(void) { return raw6(SYS_fcntl, A(fd), F_GETFL, 0, 0, 0, 0); }

/* For openat2: a file for reading and writing, below the root. */
static const uint64_t beneath[3] = {O_RDWR, 0, 8};

/* Copies a part of the identity of a working directory. */
static bool cwd_is_folder(long r)
{
    char path[64];

    bool right = r == 0 && raw6(SYS_getcwd, A(path), sizeof(path), 0, 0, 0, 0) > 0 &&
                 strcmp(path, "/tmp/folder") == 0;

    chdir("/");
    return right;
}

static void cwd_drop(void)
{
    chdir("/");
    drop();
}

/* A call with a path, and its variant relative to a descriptor. prepare is make_file, undo is
 * drop. */
#define PATH(name_, call_, effect_, ...)                                                       \
    {                                                                                          \
        .name = name_, .call = (call_), .prepare = make_file, .effect = effect_, .undo = drop, \
        .args = {                                                                              \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }

const struct scenario file_scenarios[] = {
    PATH("open", SYS_open, opened, A(FILE_), O_RDWR),
    PATH("open through a link", SYS_open, opened, A(LINK), O_RDWR),
    PATH("openat", SYS_openat, opened, HERE, A("tmp/file"), O_RDWR),
    PATH("openat2", 547, opened, HERE, A("tmp/file"), A(&beneath), sizeof(beneath)),
    {.name = "chroot",
     .call = SYS_chroot,
     .prepare = make_file,
     .args = {A(DIR_)},
     .undo = drop,
     .flags = IN_CHILD},
    PATH("open, a new file", SYS_open, opened_new, A(NEW), O_RDWR | O_CREAT, 0644),
    PATH("open, a new file and no other", SYS_open, opened_new, A(NEW), O_RDWR | O_CREAT | O_EXCL,
         0644),
    PATH("open, cut short", SYS_open, opened_empty, A(FILE_), O_RDWR | O_TRUNC),
    PATH("mkdir", SYS_mkdir, new_is_there, A(NEW), 0755),
    PATH("mkdirat", SYS_mkdirat, new_is_there, HERE, A(NEW), 0755),
    PATH("rmdir", SYS_rmdir, folder_is_gone, A(DIR_)),
    PATH("unlink", SYS_unlink, file_is_gone, A(FILE_)),
    PATH("unlinkat", SYS_unlinkat, file_is_gone, HERE, A(FILE_), 0),
    PATH("link", SYS_link, new_is_there, A(FILE_), A(NEW)),
    PATH("linkat", SYS_linkat, new_is_there, HERE, A(FILE_), HERE, A(NEW), 0),
    PATH("symlink", SYS_symlink, new_is_there, A(FILE_), A(NEW)),
    PATH("symlinkat", SYS_symlinkat, new_is_there, A(FILE_), HERE, A(NEW)),
    PATH("rename", SYS_rename, was_renamed, A(FILE_), A(NEW)),
    PATH("renameat", SYS_renameat, was_renamed, HERE, A(FILE_), HERE, A(NEW)),
    PATH("renameat2", 510, was_renamed, HERE, A(FILE_), HERE, A(NEW), 0),
    PATH("rename over another", SYS_rename, file_is_gone, A(FILE_), A(LINK)),
    PATH("readlink", SYS_readlink, NULL, A(LINK), COLD, 100),
    PATH("readlinkat", SYS_readlinkat, NULL, HERE, A(LINK), COLD, 100),
    PATH("access", SYS_access, NULL, A(LINK), R_OK),
    PATH("faccessat", SYS_faccessat, NULL, HERE, A(FILE_), R_OK),
    PATH("faccessat2", 549, NULL, HERE, A(FILE_), R_OK, 0),
    PATH("chmod", SYS_chmod, NULL, A(FILE_), 0600),
    PATH("fchmodat", SYS_fchmodat, NULL, HERE, A(FILE_), 0600),
    PATH("chown", SYS_chown, NULL, A(LINK), 0, 0),
    PATH("lchown", 208, NULL, A(LINK), 0, 0),
    PATH("truncate", SYS_truncate, is_empty, A(FILE_), 0),
    PATH("utimensat", SYS_utimensat, NULL, HERE, A(FILE_), 0, 0),
    PATH("stat", SYS_stat64, NULL, A(LINK), COLD),
    PATH("lstat", SYS_lstat64, NULL, A(LINK), COLD),
    PATH("fstatat", SYS_fstatat64, NULL, HERE, A(LINK), COLD, 0),
    PATH("getcwd", SYS_getcwd, NULL, COLD, 100),
    {.name = "chdir",
     .call = SYS_chdir,
     .prepare = make_file,
     .args = {A(DIR_)},
     .effect = cwd_is_folder,
     .undo = cwd_drop},
    {.name = "open, path in an untouched page",
     .call = SYS_open,
     .prepare = make_file,
     .act = open_no_path,
     .undo = drop,
     .flags = WARM},
    WITH("fchdir", SYS_fchdir, make_folder_open, do_fchdir, NULL, NOTHING),
    WITH("fchmod", SYS_fchmod, make_open, do_fchmod, NULL, NOTHING),
    WITH("fchown", SYS_fchown, make_open, do_fchown, NULL, NOTHING),
    WITH("ftruncate", SYS_ftruncate, make_open, do_ftruncate, NULL, NOTHING),
    WITH("fsync", SYS_fsync, make_open, do_fsync, NULL, NOTHING),
    WITH("fdatasync", 447, make_open, do_fdatasync, NULL, NOTHING),
    WITH("lseek", SYS_lseek, make_open, do_lseek, NULL, NOTHING),
    WITH("close", SYS_close, make_open, do_close, NULL, NOTHING),
    WITH("close_range", SYS_close_range, make_open, do_close_range, NULL, NOTHING),
    WITH("fstat", SYS_fstat64, make_open, do_fstat, NULL, 0),
    WITH("getdents64", SYS_getdents64, make_folder_open, do_getdents, NULL, ABSORBS),
    WITH("dup", SYS_dup, make_open, do_dup, opened, 0),
    WITH("dup2", SYS_dup2, make_open, do_dup2, opened, NOTHING),
    WITH("dup3", SYS_dup3, make_open, do_dup3, opened, NOTHING),
    WITH("fcntl, another descriptor", SYS_fcntl, make_open, do_dupfd, opened, 0),
    WITH("fcntl, flags", SYS_fcntl, make_open, do_getfl, NULL, NOTHING),
    WITH("dup2, the table grows", SYS_dup2, make_open, do_dup2_far, NULL, IN_CHILD),
    WITH("dup3, the table grows", SYS_dup3, make_open, do_dup3_far, NULL, IN_CHILD),
    WITH("read to an untouched page", SYS_read, make_open, do_read, got_hello, 0),
    WITH("pread to an untouched page", SYS_pread64, make_open, do_pread, got_hello, 0),
    WITH("readv to an untouched page", SYS_readv, make_open, do_readv, got_hello, 0),
    {.name = "read a hole",
     .call = SYS_pread64,
     .prepare = make_hole,
     .act = do_read_hole,
     .undo = drop,
     .right = {{OF_FILE, -ENOSPC}}},
    {.name = "write, the file grows",
     .call = SYS_write,
     .prepare = make_open,
     .act = do_write,
     .effect = wrote_page,
     .undo = drop,
     .flags = ABSORBS,
     .right = {{ANY_KIND, -ENOSPC}}},
    {.name = "pwrite far behind the end",
     .call = SYS_pwrite64,
     .prepare = make_open,
     .act = do_pwrite_far,
     .effect = wrote_far,
     .undo = drop,
     .right = {{ANY_KIND, -ENOSPC}}},
    {.name = "write from an untouched page",
     .call = SYS_write,
     .prepare = make_open,
     .act = do_write_cold,
     .effect = wrote_cold,
     .undo = drop,
     .right = {{ANY_KIND, -EFAULT}}},
    WITH("writev", SYS_writev, make_open, do_writev, wrote_200, NOTHING),
    PATH("pipe2", SYS_pipe2, both_opened, COLD, 0),
    WITH("pipe", SYS_pipe, NULL, do_pipe, pipe_opened, 0),
    WITH("write to a pipe", SYS_write, make_pipe, do_pipe_write, pipe_got_100, 0),
    WITH("write to a pipe from an untouched page", SYS_write, make_pipe, do_pipe_write_cold,
         pipe_got_100, 0),
    WITH("write to a pipe over two of its pages", SYS_write, make_pipe_near_end, do_pipe_write,
         pipe_got_both, 0),
    WITH("read from a pipe to an untouched page", SYS_read, make_full_pipe, do_pipe_read, got_hello,
         0),
    WITH("ioctl of a pipe", SYS_ioctl, make_full_pipe, do_fionread, is_pipe_count, 0),
    WITH("poll of a pipe", SYS_poll, poll_prepare, do_poll_pipe, NULL, NOTHING),
    {0},
};
