/* Look-ups with restrictions and roots of processes: openat2 and chroot; from openat2(2),
   chroot(2), getcwd(2), path_resolution(7). */
#include "conformance.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#ifndef SYS_openat2
#define SYS_openat2 547
#endif

static int top, below; /* the test's folder; d in it */

/* What opened: the number in the file, or 0; -1 with the error. */
static long opened(int fd)
{
    char c = '0';

    if (fd < 0)
        return -1;
    if (read(fd, &c, 1) != 1)
        c = '0';
    close(fd);
    return c - '0';
}

static int open_how(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how h = {.flags = flags, .mode = mode, .resolve = resolve};

    return (int)syscall(SYS_openat2, dir, path, &h, sizeof(h));
}

static long look(int dir, const char *path, uint64_t resolve)
{
    return opened(open_how(dir, path, O_RDONLY, 0, resolve));
}

static void make(const char *path, const char *text)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0644);

    (void)!write(fd, text, strlen(text));
    close(fd);
}

/* 1: f, d/f is 2, d/e/f is 3; links of all kinds in d. */
static void ground(void)
{
    char here[256], text[300];

    mkdir("ground", 0755); /* on Megalith the working directory is the root */
    chdir("ground");
    getcwd(here, sizeof(here));
    make("f", "1");
    mkdir("d", 0755);
    make("d/f", "2");
    mkdir("d/e", 0755);
    make("d/e/f", "3");
    symlink("f", "d/link");
    symlink("../f", "d/up");
    symlink("e/../link", "d/round");
    symlink("/f", "d/absolute");
    snprintf(text, sizeof(text), "%s/f", here);
    symlink(text, "d/whole");
    symlink("/proc/self/cwd", "d/magic");
    symlink("nowhere", "d/dangling");
    symlink("loop", "d/loop");
    top = open(".", O_RDONLY | O_DIRECTORY);
    below = open("d", O_RDONLY | O_DIRECTORY);
}

static void arguments(void)
{
    struct {
        struct open_how h;
        uint64_t more[4];
    } large = {.h = {.flags = O_RDONLY}};
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

#define SIZE(name, from, n) CASE_AS(name, opened((int)syscall(SYS_openat2, top, "f", from, n)))
    SIZE("as it is", &large, 24);
    SIZE("too small", &large, 23);
    SIZE("no bytes", &large, 0);
    SIZE("larger, with zeroes", &large, sizeof(large));
    large.more[3] = 1;
    SIZE("larger, not all zeroes", &large, sizeof(large));
    SIZE("larger than any", &large, 1 << 20);
    SIZE("a bad address", nowhere, 24);
    CASE_AS("a bad path", opened(open_how(top, nowhere, O_RDONLY, 0, 0)));
    CASE_AS("an empty path", look(top, "", 0));
    CASE_AS("a bad directory", look(-1, "f", 0));
    CASE_AS("a file as a directory", look(open("f", O_RDONLY), "f", 0));
    CASE_AS("an unknown flag", open_how(top, "f", 1ul << 40, 0, 0));
    CASE_AS("an unknown restriction", look(top, "f", 0x40));
    CASE_AS("beneath and in root", look(top, "f", RESOLVE_BENEATH | RESOLVE_IN_ROOT));
    CASE_AS("a mode without O_CREAT", open_how(top, "f", O_RDONLY, 0644, 0));
    CASE_AS("a mode that is none", open_how(top, "g", O_CREAT | O_WRONLY, 0200000, 0));
    CASE_AS("O_PATH with O_RDWR", open_how(top, "f", O_PATH | O_RDWR, 0, 0));
    CASE_AS("O_PATH with O_TRUNC", open_how(top, "f", O_PATH | O_TRUNC, 0, 0));
    CASE_AS("O_PATH", close(open_how(top, "f", O_PATH | O_CLOEXEC, 0, 0)));
    CASE_AS("O_CREAT", close(open_how(top, "made", O_CREAT | O_WRONLY, 0640, RESOLVE_BENEATH)));
    CASE_AS("it is there", access("made", F_OK));
    CASE_AS("O_EXCL", open_how(top, "made", O_CREAT | O_EXCL | O_WRONLY, 0640, RESOLVE_BENEATH));
    CASE_AS("O_TMPFILE, unwritable", open_how(top, ".", O_TMPFILE, 0600, 0));
    CASE_AS("O_TMPFILE", close(open_how(top, ".", O_TMPFILE | O_RDWR, 0600, RESOLVE_BENEATH)));
    munmap(nowhere, 65536);
}

static void restriction(const char *name, uint64_t resolve)
{
    static const char *const paths[] = {"f",
                                        "e/f",
                                        "./f",
                                        "e/../f",
                                        "../f",
                                        "..",
                                        "../d/f",
                                        "e/../../f",
                                        "link",
                                        "up",
                                        "round",
                                        "absolute",
                                        "whole",
                                        "magic/f",
                                        "magic",
                                        "dangling",
                                        "loop",
                                        "/f",
                                        "/",
                                        "e/..",
                                        ".",
                                        "link/",
                                        "f/",
                                        "nothing",
                                        "/proc/self/exe",
                                        "/proc/self/fd/0",
                                        "/../f",
                                        "e/../e/../e/../e/f"};
    char text[80];

    for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]); k++) {
        if (resolve == 0 && strchr("/pad", paths[k][0]) && strcmp(paths[k], "absolute") == 0)
            continue; /* what is /f here? */
        if (!(resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)) &&
            (strcmp(paths[k], "/f") == 0 || strcmp(paths[k], "absolute") == 0 ||
             strcmp(paths[k], "/../f") == 0 || strncmp(paths[k], "/proc", 5) == 0))
            continue;
        snprintf(text, sizeof(text), "%s, %s", name, paths[k]);
        CASE_AS(text, look(below, paths[k], resolve));
    }
    snprintf(text, sizeof(text), "%s, the link itself", name);
    CASE_AS(text, close(open_how(below, "up", O_PATH | O_NOFOLLOW, 0, resolve)));
    snprintf(text, sizeof(text), "%s, new behind a link", name);
    CASE_AS(text, close(open_how(below, "dangling", O_CREAT | O_WRONLY, 0600, resolve)));
    unlink("d/nowhere");
}

static void file_systems(void)
{
    int root = open("/", O_RDONLY | O_DIRECTORY), proc = open("/proc", O_RDONLY | O_DIRECTORY);

    dup2(top, 9);

    CASE_AS("no other, /proc", look(root, "proc/self/stat", RESOLVE_NO_XDEV) > 0);
    CASE_AS("no other, proc itself", look(root, "proc", RESOLVE_NO_XDEV));
    CASE_AS("no other, up from proc", look(proc, "..", RESOLVE_NO_XDEV));
    CASE_AS("no other, in proc", close(open_how(proc, "self/stat", O_RDONLY, 0, RESOLVE_NO_XDEV)));
    CASE_AS("no other, out by a link", look(proc, "self/cwd/f", RESOLVE_NO_XDEV));
    CASE_AS("no other, absolute", close(open_how(proc, "/", O_RDONLY, 0, RESOLVE_NO_XDEV)));
    CASE_AS("no magic, a descriptor's", look(proc, "self/fd/9", RESOLVE_NO_MAGICLINKS));
    CASE_AS("no magic, a plain one",
            close(open_how(proc, "self/stat", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS)));
    CASE_AS("no magic, the link itself",
            close(open_how(proc, "self/cwd", O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_MAGICLINKS)));
    CASE_AS("no magic, self", close(open_how(proc, "self", O_PATH, 0, RESOLVE_NO_MAGICLINKS)));
    CASE_AS("beneath, self", close(open_how(proc, "self/stat", O_RDONLY, 0, RESOLVE_BENEATH)));
    CASE_AS("no links, self", look(proc, "self/stat", RESOLVE_NO_SYMLINKS));
    CASE_AS("cached", look(top, "f", RESOLVE_CACHED) >= -1);
    CASE_AS("cached, to be made", open_how(top, "f", O_CREAT | O_RDWR, 0600, RESOLVE_CACHED));
    CASE_AS("cached, truncated", open_how(top, "f", O_TRUNC | O_RDWR, 0, RESOLVE_CACHED));
    close(root);
    close(proc);
}

/* ---- chroot ---- */

static void cwd(const char *name)
{
    char text[256];
    long n = syscall(SYS_getcwd, text, sizeof(text));

    if (n < 0)
        CASE_AS(name, n);
    else
        TEXT(name, "%s", strncmp(text, "(unreachable)", 13) == 0 ? "(unreachable)" : text);
}

static long at(const char *path) { return opened(open(path, O_RDONLY)); }

static void chroot_errors(void)
{
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CASE_AS("chroot, no such", chroot("nowhere"));
    CASE_AS("chroot, a file", chroot("f"));
    CASE_AS("chroot, below a file", chroot("f/x"));
    CASE_AS("chroot, an empty path", chroot(""));
    CASE_AS("chroot, a bad address", chroot(nowhere));
    CASE_AS("chroot, a loop", chroot("d/loop"));
    mkdir("closed", 0700);
    setresuid(65534, 65534, 65534);
    CASE_AS("chroot, not root", chroot("d"));
    CASE_AS("chroot, not root and may not search", chroot("closed"));
}

static void in_root(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = "/socket"};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);

    CASE(chroot("d"));
    cwd("getcwd outside");
    CASE_AS("relative", at("f"));
    CASE_AS("absolute", at("/f"));
    CASE_AS("up from the root", at("/../../f"));
    CASE_AS("out by the working directory", at("../../../../../../f") >= -1);
    CASE_AS("a link up", at("/up"));
    CASE_AS("an absolute link", at("/absolute"));
    CASE(chdir("/"));
    cwd("getcwd");
    CASE_AS("relative, inside", at("f"));
    CASE_AS("up", at("../f"));
    CASE_AS("up and up", at("../../../../f"));
    CASE(chdir("e"));
    cwd("getcwd, deeper");
    CASE(chdir("../.."));
    cwd("getcwd, up");
    CASE_AS("by a descriptor outside", opened(openat(top, "f", O_RDONLY)));
    CASE_AS("up from there", opened(openat(top, "d/../f", O_RDONLY)));
    CASE_AS("beneath it", look(top, "d/../f", RESOLVE_BENEATH));
    CASE_AS("a root in the root", look(below, "/absolute", RESOLVE_IN_ROOT));
    CASE_AS("bind", bind(s, (struct sockaddr *)&a, sizeof(a)));
    CASE_AS("listen", listen(s, 1));
    CASE_AS("connect", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, sizeof(a)));
    CASE_AS("rename to outside", rename("/e/f", "/../g"));
    CASE_AS("it is inside", at("/g"));
    CASE(chroot("/e"));
    CASE_AS("a root below", at("/f"));
    CASE_AS("a root below, up", at("/../g"));
    cwd("getcwd above it");
    CASE(fchdir(top));
    CASE_AS("out by fchdir", chroot("."));
    CASE_AS("back", at("d/g"));
}

static void inherited_child(void) { CASE_AS("a child", at("/f")); }

static void inherited(void)
{
    CASE(chroot("."));
    CASE(chdir("/d"));
    in_child("child", inherited_child);
    cwd("its parent");
}

int main(void)
{
    cases_begin();
    umask(022);
    ground();
    arguments();
    restriction("none", 0);
    restriction("no links", RESOLVE_NO_SYMLINKS);
    restriction("no magic", RESOLVE_NO_MAGICLINKS);
    restriction("beneath", RESOLVE_BENEATH);
    restriction("in root", RESOLVE_IN_ROOT);
    file_systems();
    in_child("errors", chroot_errors);
    in_child("inherited", inherited);
    in_child("in root", in_root);
    CASE_AS("this process's root", at("/f") >= -1);
    CASE_AS("bound outside", unlink("d/socket"));
    CASE_AS("renamed outside", access("d/g", F_OK));
    return 0;
}
