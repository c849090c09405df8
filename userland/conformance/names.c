/* Names and attributes of files: open's flags, link, rename, mknod, chown, chmod, access, extended
   attributes, directories; from the manual pages of section 2. */
#include "conformance.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define USER 65534

static char text[256];
static char *volatile nowhere = (char *)8; /* no memory there */

static int made(const char *name) { return open(name, O_RDWR | O_CREAT | O_TRUNC, 0644); }

static const char *kind(const char *name)
{
    struct stat st;

    if (lstat(name, &st))
        return "none";
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "directory";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "device";
    case S_IFBLK:
        return "block device";
    }
    return "unknown";
}

static long mode_of(const char *name)
{
    struct stat st;

    return lstat(name, &st) ? -1 : (long)(st.st_mode & 07777);
}

static long links_of(const char *name)
{
    struct stat st;

    return lstat(name, &st) ? -1 : (long)st.st_nlink;
}

static void opening(void)
{
    int fd;

    close(made("file"));
    symlink("file", "link");
    symlink("loop", "loop");
    mkdir("dir", 0755);
    CASE(open("file", O_RDWR | O_CREAT | O_EXCL, 0600));
    CASE(open("link", O_RDWR | O_CREAT | O_EXCL, 0600));
    CASE(open("link", O_RDONLY | O_NOFOLLOW));
    CASE(open("loop", O_RDONLY));
    CASE(open("file/", O_RDONLY));
    CASE(open("file", O_RDONLY | O_DIRECTORY));
    CASE(open("dir", O_WRONLY));
    CASE(open("dir", O_RDONLY | O_CREAT, 0600));
    CASE(open("none", O_RDONLY));
    CASE(open("", O_RDONLY));
    CASE(open("none/file", O_RDWR | O_CREAT, 0600));
    CASE(open("file/file", O_RDWR | O_CREAT, 0600));
    CASE(open("dir/", O_RDWR | O_CREAT, 0600));
    CASE(open("new/", O_RDWR | O_CREAT, 0600));
    CASE(open(nowhere, O_RDONLY));
    memset(text, 'x', sizeof(text));
    text[255] = 0;
    fd = open(text, O_RDWR | O_CREAT, 0600);
    CASE_AS("a name of 255 bytes", fd >= 0 ? unlink(text) : -1);
    CASE(openat(99, "file", O_RDONLY));
    fd = open("file", O_RDONLY);
    CASE_AS("openat(a file)", openat(fd, "file", O_RDONLY));
    close(fd);
    fd = open("link", O_PATH | O_NOFOLLOW);
    VALUE_AS("O_PATH | O_NOFOLLOW opens a link", fd >= 0);
    CASE_AS("readlinkat(fd, \"\")", readlinkat(fd, "", text, sizeof(text)));
    CASE_AS("read(O_PATH)", read(fd, text, 1));
    CASE_AS("fchmod(O_PATH)", fchmod(fd, 0600));
    CASE_AS("fchown(O_PATH)", fchown(fd, 0, 0));
    CASE_AS("ioctl(O_PATH)", fcntl(fd, F_SETFL, O_APPEND));
    CASE_AS("lseek(O_PATH)", lseek(fd, 0, SEEK_SET));
    close(fd);
    CASE(open("none", O_PATH | O_CREAT, 0600));
    CASE(open(".", O_TMPFILE | O_RDONLY, 0600));
    CASE(open("file", O_TMPFILE | O_RDWR, 0600));
    CASE(open("none", O_TMPFILE | O_RDWR, 0600));
    fd = open(".", O_TMPFILE | O_RDWR, 0640);
    VALUE_AS("O_TMPFILE opens a file", fd >= 0);
    CASE_AS("write(O_TMPFILE)", write(fd, "abc", 3));
    snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
    CASE_AS("linkat(O_TMPFILE)", linkat(AT_FDCWD, text, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    VALUE(mode_of("named"));
    VALUE(links_of("named"));
    CASE_AS("linkat(O_TMPFILE, again)", linkat(fd, "", AT_FDCWD, "again", AT_EMPTY_PATH));
    VALUE_AS("links_of(\"named\") (2)", links_of("named"));
    close(fd);
    fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    CASE_AS("linkat(O_TMPFILE | O_EXCL)", linkat(fd, "", AT_FDCWD, "excl", AT_EMPTY_PATH));
    close(fd);
    unlink("named");
    unlink("again");
    unlink("loop");
}

/* The number of a name as its directory lists it; 0: it does not. */
static ino_t listed(const char *folder, const char *name)
{
    struct dirent *e;
    DIR *dir = opendir(folder);
    ino_t ino = 0;

    while (dir && (e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, name) == 0)
            ino = e->d_ino;
    if (dir)
        closedir(dir);
    return ino;
}

/* Copying programs look whether the file that they opened is the one that they saw. */
static void same_file(const char *folder, const char *name)
{
    struct stat before, opened, after;
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_RDONLY);
    if (stat(path, &before) || fstat(fd, &opened) || stat(path, &after))
        TEXT(path, "no attributes");
    else
        TEXT(path, "%d %d %d", before.st_ino == opened.st_ino && before.st_dev == opened.st_dev,
             before.st_ino == after.st_ino, before.st_ino == listed(folder, name));
    close(fd);
}

static ino_t number_of(const char *path)
{
    struct stat st;

    return stat(path, &st) ? 0 : st.st_ino;
}

static void numbers_in_proc(void)
{
    char path[32];

    same_file("/proc", "filesystems");
    same_file("/proc", "1");
    same_file("/proc/self", "status");
    same_file("/proc/self", "task");
    same_file("/proc/sys/kernel", "hostname");
    snprintf(path, sizeof(path), "/proc/%d/status", getppid());
    VALUE_AS("files of two processes differ", number_of("/proc/self/status") != number_of(path));
    VALUE(number_of("/proc/self/status") != number_of("/proc/self/comm"));
}

static void linking(void)
{
    int dir = open("dir", O_RDONLY | O_DIRECTORY);

    CASE(link("none", "other"));
    CASE(link("file", "link"));
    CASE(link("dir", "other"));
    CASE(link("file", "other"));
    VALUE(links_of("file"));
    CASE(link("link", "link2"));
    TEXT("link of a link", "%s", kind("link2"));
    CASE(linkat(AT_FDCWD, "link", AT_FDCWD, "followed", AT_SYMLINK_FOLLOW));
    TEXT("AT_SYMLINK_FOLLOW", "%s", kind("followed"));
    CASE(linkat(AT_FDCWD, "file", AT_FDCWD, "x", AT_SYMLINK_NOFOLLOW));
    CASE(linkat(99, "file", AT_FDCWD, "x", 0));
    CASE(link("file", "none/x"));
    CASE(link("file", "file/x"));
    CASE(link("file", "x/"));
    CASE(symlink("", "x"));
    CASE(symlink("file", "link"));
    CASE(symlink("file", ""));
    CASE(readlink("file", text, 10));
    CASE(readlink("none", text, 10));
    CASE(readlink("link", text, 2));
    CASE(readlink("link", text, 0));
    CASE(readlink("link", nowhere, 10));
    CASE(unlink("dir"));
    CASE(unlink("none"));
    CASE(unlink("file/"));
    CASE(unlinkat(AT_FDCWD, "file", AT_REMOVEDIR));
    CASE(unlinkat(AT_FDCWD, "file", 0x10000));
    CASE(rmdir("file"));
    CASE(rmdir("."));
    CASE(mkdir("file", 0755));
    CASE(mkdir("dir/", 0755));
    CASE(mkdir("none/dir", 0755));
    unlink("other");
    unlink("link2");
    unlink("followed");
    close(dir);
}

static void renaming(void)
{
    close(made("a"));
    close(made("b"));
    mkdir("d1", 0755);
    mkdir("d2", 0755);
    close(made("d2/f"));
    CASE(rename("none", "x"));
    CASE(rename("a", "d1"));
    CASE(rename("d1", "a"));
    CASE(rename("d1", "d2"));
    CASE(rename("d1", "d1/x"));
    CASE(rename("a", "none/x"));
    CASE(rename("a", "a"));
    CASE(rename("a/", "x"));
    CASE(rename("a", "x/"));
    CASE(rename(".", "x"));
    CASE(rename("d1", ".."));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 1 /* NOREPLACE */));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "c", 1));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "c", AT_FDCWD, "a", 1));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 3));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 0x100));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "none", 2 /* EXCHANGE */));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "d2", 2));
    TEXT("a after the exchange", "%s", kind("a"));
    TEXT("d2 after the exchange", "%s", kind("d2"));
    TEXT("a/f after the exchange", "%s", kind("a/f"));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "a/f", 2));
    CASE(syscall(SYS_renameat2, AT_FDCWD, "a/f", AT_FDCWD, "d1", 2));
    TEXT("a/f is now", "%s", kind("a/f"));
    TEXT("d1 is now", "%s", kind("d1"));
    VALUE(links_of("."));
    VALUE(links_of("a"));
    CASE(rmdir("a/f"));
    CASE(rmdir("a"));
    unlink("b");
    unlink("d1");
    unlink("d2");
}

static void nodes(void)
{
    CASE(mknod("fifo", S_IFIFO | 0666, 0));
    TEXT("mknod S_IFIFO", "%s %lo", kind("fifo"), mode_of("fifo"));
    CASE_AS("mknod(\"fifo\", S_IFIFO | 0666, 0) (2)", mknod("fifo", S_IFIFO | 0666, 0));
    CASE(mknod("sock", S_IFSOCK | 0600, 0));
    TEXT("mknod S_IFSOCK", "%s", kind("sock"));
    CASE(open("sock", O_RDONLY));
    CASE(mknod("plain", 0600, 0));
    TEXT("mknod without a type", "%s", kind("plain"));
    CASE(mknod("nodir", S_IFDIR | 0700, 0));
    CASE(mknod("wrong", S_IFLNK | 0700, 0));
    CASE(mknod("null", S_IFCHR | 0600, makedev(1, 3)));
    TEXT("mknod S_IFCHR", "%s", kind("null"));
    CASE(mknod("none", S_IFCHR | 0600, makedev(240, 7)));
    CASE_AS("open(\"none\", O_RDONLY) (2)", open("none", O_RDONLY));
    CASE(mknodat(99, "x", S_IFIFO | 0600, 0));
    CASE(mknod("none/x", S_IFIFO | 0600, 0));
    unlink("fifo");
    unlink("sock");
    unlink("plain");
    unlink("null");
    unlink("none");
}

static void owners(void)
{
    struct stat st;

    chmod("file", 06755);
    CASE(chown("file", 5, 6));
    VALUE(mode_of("file"));
    chmod("file", 06655);
    CASE(chown("file", -1, -1));
    VALUE_AS("mode_of(\"file\") (2)", mode_of("file"));
    CASE(fchownat(AT_FDCWD, "link", 7, 8, AT_SYMLINK_NOFOLLOW));
    lstat("link", &st);
    TEXT("owner of the link", "%d %d", st.st_uid, st.st_gid);
    stat("link", &st);
    TEXT("owner of the file", "%d %d", st.st_uid, st.st_gid);
    CASE(fchownat(AT_FDCWD, "file", 0, 0, 0x10000));
    CASE(fchownat(99, "file", 0, 0, 0));
    CASE(chown("none", 0, 0));
    CASE(chown("file/x", 0, 0));
    CASE(fchown(99, 0, 0));
    CASE(chmod("none", 0));
    CASE(fchmod(99, 0));
    CASE(chmod("file", 0170644));
    VALUE_AS("mode_of(\"file\") (3)", mode_of("file"));
    CASE(chown("file", USER, USER));
    chmod("dir", 0777);
}

static void as_user(void)
{
    gid_t none[1] = {0};

    setgroups(0, none);
    setgid(USER);
    setuid(USER);
    CASE_AS("user: chown to another", chown("file", 1, -1));
    CASE_AS("user: chown to itself", chown("file", USER, -1));
    CASE_AS("user: chgrp to another's group", chown("file", -1, 5));
    chmod("file", 06755);
    CASE_AS("user: chgrp to its own group", chown("file", -1, USER));
    VALUE_AS("mode_of(\"file\") (4)", mode_of("file"));
    CASE_AS("user: chmod of another's file", chmod("root", 0600));
    CASE_AS("user: open another's file", open("root", O_RDONLY));
    CASE_AS("user: access", access("root", R_OK));
    CASE_AS("user: access F_OK", access("root", F_OK));
    CASE_AS("user: mknod of a device", mknod("dir/null", S_IFCHR | 0600, makedev(1, 3)));
    CASE_AS("user: mknod of a fifo", mknod("dir/fifo", S_IFIFO | 0600, 0));
    CASE_AS("user: open with O_NOATIME", open("root2", O_RDONLY | O_NOATIME));
    CASE_AS("user: unlink in root's directory", unlink("root"));
    CASE_AS("user: create in root's directory", open("x", O_RDWR | O_CREAT, 0600));
    CASE_AS("user: rename out of root's directory", rename("root", "dir/root"));
    CASE_AS("user: O_TMPFILE in root's directory", open(".", O_TMPFILE | O_RDWR, 0600));
    unlink("dir/fifo");
}

static void rights(void)
{
    int fd;

    fd = made("root");
    fchmod(fd, 0600);
    close(fd);
    fd = made("root2");
    fchmod(fd, 0644);
    close(fd);
    in_child("as a user", as_user);
    chmod("root", 0);
    CASE(access("root", R_OK | W_OK));
    CASE(access("root", X_OK));
    CASE(access("root", 8));
    CASE(access("none", F_OK));
    CASE(access("file/x", F_OK));
    CASE(access(nowhere, F_OK));
    CASE(faccessat(AT_FDCWD, "link", F_OK, AT_SYMLINK_NOFOLLOW));
    CASE(syscall(SYS_faccessat2, AT_FDCWD, "root", R_OK, AT_EACCESS));
    CASE(syscall(SYS_faccessat2, AT_FDCWD, "root", R_OK, 0x8000));
    CASE(syscall(SYS_faccessat2, AT_FDCWD, "", R_OK, AT_EMPTY_PATH));
    unlink("root");
    unlink("root2");
}

static void attributes(void)
{
    CASE(getxattr("file", "user.none", text, 10));
    CASE(getxattr("none", "user.none", text, 10));
    CASE(getxattr("file", "", text, 10));
    CASE(setxattr("file", "user.a", "1", 1, 7));
    CASE(setxattr("none", "user.a", "1", 1, 0));
    CASE(setxattr("file", "user.a", nowhere, 1, 0));
    CASE_AS("setxattr of 70,000 bytes", setxattr("file", "user.a", nowhere, 70000, 0));
    CASE(listxattr("none", text, 10));
    CASE(fgetxattr(99, "user.a", text, 10));
}

/* The names of a directory by the older call, in two parts. */
static void listing(void)
{
    struct old {
        unsigned long ino, off;
        unsigned short reclen;
        char name[];
    } *e;
    unsigned long long buf[64];
    int fd, names = 0, types = 0;
    long n;

    mkdir("list", 0755);
    close(made("list/a-longer-name"));
    mkdir("list/d", 0700);
    symlink("d", "list/l");
    fd = open("list", O_RDONLY | O_DIRECTORY);
    while ((n = syscall(SYS_getdents, fd, buf, 64)) > 0)
        for (char *p = (char *)buf; p < (char *)buf + n; p += e->reclen) {
            e = (struct old *)p;
            names += (int)strlen(e->name);
            types += p[e->reclen - 1];
        }
    VALUE(n);
    VALUE(names);
    VALUE(types);
    lseek(fd, 0, SEEK_SET);
    CASE_AS("getdents, too small", syscall(SYS_getdents, fd, buf, 8));
    CASE_AS("getdents64, too small", syscall(SYS_getdents64, fd, buf, 8));
    unlink("list/a-longer-name");
    rmdir("list/d");
    unlink("list/l");
    rmdir("list");
    CASE_AS("getdents64, removed", syscall(SYS_getdents64, fd, buf, sizeof(buf)));
    CASE_AS("openat, removed", openat(fd, "x", O_RDWR | O_CREAT, 0600));
    close(fd);
    fd = open("file", O_RDONLY);
    CASE_AS("getdents64, a file", syscall(SYS_getdents64, fd, buf, sizeof(buf)));
    CASE_AS("fchdir, a file", fchdir(fd));
    close(fd);
    CASE(chdir("none"));
    CASE(chdir("file"));
    CASE_AS("getcwd, no room", getcwd(text, 1) ? 0 : -1);
    CASE_AS("getcwd, no bytes", getcwd(text, 0) ? 0 : -1);
}

int main(void)
{
    cases_begin();
    umask(022);
    mkdir("conformance.names", 0755);
    if (chdir("conformance.names"))
        return 1;
    opening();
    linking();
    numbers_in_proc();
    renaming();
    nodes();
    owners();
    rights();
    attributes();
    listing();
    rmdir("dir");
    unlink("link");
    unlink("file");
    if (chdir(".."))
        return 1;
    CASE(rmdir("conformance.names"));
    return 0;
}
