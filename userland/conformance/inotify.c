/* inotify: which calls report what, in which order, and how events are read; from inotify(7),
   inotify_init(2), inotify_add_watch(2), inotify_rm_watch(2). */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int in; /* the instance of the tests */

static const char *event_name(uint32_t mask)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {IN_ACCESS, "ACCESS"},           {IN_MODIFY, "MODIFY"},
        {IN_ATTRIB, "ATTRIB"},           {IN_CLOSE_WRITE, "CLOSE_WRITE"},
        {IN_CLOSE_NOWRITE, "CLOSE"},     {IN_OPEN, "OPEN"},
        {IN_MOVED_FROM, "MOVED_FROM"},   {IN_MOVED_TO, "MOVED_TO"},
        {IN_CREATE, "CREATE"},           {IN_DELETE, "DELETE"},
        {IN_DELETE_SELF, "DELETE_SELF"}, {IN_MOVE_SELF, "MOVE_SELF"},
        {IN_Q_OVERFLOW, "Q_OVERFLOW"},   {IN_IGNORED, "IGNORED"},
    };
    static char text[40];

    for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (mask & names[k].bit) {
            snprintf(text, sizeof(text), "%s%s", names[k].name, mask & IN_ISDIR ? "/dir" : "");
            return text;
        }
    return "?";
}

/* All events that are there, as words: the number of the watch, the event, the name. Cookies are
   told as = where two neighbours have the same one other than 0. */
static const char *events(int fd)
{
    static char text[4000];
    char buf[4096] __attribute__((aligned(8)));
    uint32_t cookie = 0;
    size_t n = 0;
    ssize_t r;

    text[0] = '\0';
    while ((r = read(fd, buf, sizeof(buf))) > 0)
        for (ssize_t at = 0; at < r;) {
            struct inotify_event *e = (struct inotify_event *)(buf + at);

            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d %s%s%s%s", n ? ", " : "", e->wd,
                                  event_name(e->mask), e->len ? " " : "", e->len ? e->name : "",
                                  e->cookie && e->cookie == cookie ? " =" : "");
            cookie = e->cookie;
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    return n ? text : "nothing";
}

#define EVENTS(name) TEXT(name, "%s", events(in))

static void make_file(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY, 0644);

    if (write(fd, "text", 4) != 4)
        TEXT("no file", "%s", name);
    close(fd);
}

static void begin(void)
{
    char folder[] = "/tmp/inotify.XXXXXX";

    if (!mkdtemp(folder) || chdir(folder))
        _exit(99);
    mkdir("d", 0755);
    mkdir("other", 0755);
    make_file("d/f");
    make_file("d/g");
    symlink("f", "d/link");
}

static void arguments(void)
{
    int pipes[2], cloexec;

    CASE_AS("init1 with unknown bits", inotify_init1(1));
    in = (int)syscall(SYS_inotify_init1, IN_NONBLOCK);
    VALUE_AS("init1", in >= 0);
    cloexec = inotify_init1(IN_CLOEXEC);
    CASE_AS("close on exec", fcntl(cloexec, F_GETFD));
    CASE_AS("flags", fcntl(cloexec, F_GETFL) & (O_NONBLOCK | O_ACCMODE));
    close(cloexec);
    if (pipe(pipes))
        return;
    CASE_AS("add_watch of no descriptor", inotify_add_watch(999, "d", IN_OPEN));
    CASE_AS("add_watch of a pipe", inotify_add_watch(pipes[0], "d", IN_OPEN));
    CASE_AS("add_watch of no file", inotify_add_watch(in, "none", IN_OPEN));
    CASE_AS("add_watch of an empty path", inotify_add_watch(in, "", IN_OPEN));
    CASE_AS("add_watch of a bad path", inotify_add_watch(in, (char *)8, IN_OPEN));
    CASE_AS("add_watch of nothing", inotify_add_watch(in, "d", 0));
    CASE_AS("add_watch of unknown bits", inotify_add_watch(in, "d", 0x1000));
    CASE_AS("IN_ONLYDIR of a file", inotify_add_watch(in, "d/f", IN_OPEN | IN_ONLYDIR));
    CASE_AS("IN_MASK_ADD with IN_MASK_CREATE",
            inotify_add_watch(in, "d", IN_OPEN | IN_MASK_ADD | IN_MASK_CREATE));
    CASE_AS("rm_watch of no descriptor", inotify_rm_watch(999, 1));
    CASE_AS("rm_watch of a pipe", inotify_rm_watch(pipes[0], 1));
    CASE_AS("rm_watch of no watch", inotify_rm_watch(in, 1));
    CASE_AS("rm_watch of watch -1", inotify_rm_watch(in, -1));
    CASE_AS("write", write(in, "x", 1));
    CASE_AS("lseek", lseek(in, 0, SEEK_SET));
    CASE_AS("pread", pread(in, &(char[64]){0}, 64, 0));
    CASE_AS("read with no event", read(in, &(char[64]){0}, 64));
    CASE_AS("read of nothing", read(in, &(char[64]){0}, 0));
    close(pipes[0]);
    close(pipes[1]);
}

static void watches(void)
{
    CASE_AS("the first watch", inotify_add_watch(in, "d", IN_OPEN));
    CASE_AS("the second", inotify_add_watch(in, "d/f", IN_OPEN));
    CASE_AS("of the same directory", inotify_add_watch(in, "d/../d", IN_CLOSE));
    CASE_AS("IN_MASK_CREATE where one is", inotify_add_watch(in, "d", IN_OPEN | IN_MASK_CREATE));
    CASE_AS("IN_MASK_CREATE where none is", inotify_add_watch(in, "d/g", IN_OPEN | IN_MASK_CREATE));
    close(open("d/f", O_RDONLY));
    EVENTS("the mask was replaced");
    CASE_AS("IN_MASK_ADD", inotify_add_watch(in, "d", IN_OPEN | IN_MASK_ADD));
    close(open("d/f", O_RDONLY));
    EVENTS("the mask was extended");
    CASE_AS("rm_watch", inotify_rm_watch(in, 2));
    EVENTS("rm_watch reports");
    CASE_AS("rm_watch again", inotify_rm_watch(in, 2));
    CASE_AS("numbers are not used again", inotify_add_watch(in, "d/f", IN_OPEN));
    CASE_AS("a link is followed", inotify_add_watch(in, "d/link", IN_OPEN));
    CASE_AS("IN_DONT_FOLLOW", inotify_add_watch(in, "d/link", IN_OPEN | IN_DONT_FOLLOW));
    for (int wd = 1; wd < 6; wd++)
        inotify_rm_watch(in, wd);
    (void)events(in);
}

/* What happens to one file: its own watch and that of its directory. */
static void both(void)
{
    char buf[8];
    int d = inotify_add_watch(in, "d", IN_ALL_EVENTS);
    int f = inotify_add_watch(in, "d/f", IN_ALL_EVENTS), fd;
    struct timespec times[2] = {{1000, 0}, {1000, 0}};

    VALUE_AS("the next numbers", d == 6 && f == 7);
    fd = open("d/f", O_RDWR);
    EVENTS("open");
    VALUE_AS("four bytes", read(fd, buf, 8));
    EVENTS("read");
    VALUE_AS("no bytes", read(fd, buf, 8));
    EVENTS("read at the end");
    VALUE_AS("written", write(fd, "12", 2));
    EVENTS("write");
    VALUE_AS("nothing written", write(fd, "", 0));
    EVENTS("write of nothing");
    VALUE_AS("pwritten", pwrite(fd, "12", 2, 0));
    EVENTS("pwrite");
    VALUE_AS("pread", pread(fd, buf, 2, 0));
    EVENTS("pread");
    VALUE_AS("readv", preadv(fd, &(struct iovec){buf, 4}, 1, 0));
    EVENTS("preadv");
    CASE_AS("ftruncate", ftruncate(fd, 2));
    EVENTS("ftruncate");
    CASE_AS("fallocate", fallocate(fd, 0, 0, 100));
    EVENTS("fallocate");
    CASE_AS("fchmod", fchmod(fd, 0600));
    EVENTS("fchmod");
    CASE_AS("chown", chown("d/f", (uid_t)-1, (gid_t)-1));
    CASE_AS("chown to itself", chown("d/f", getuid(), getgid()));
    EVENTS("chown");
    CASE_AS("futimens", futimens(fd, times));
    EVENTS("both times");
    times[1].tv_nsec = UTIME_OMIT;
    CASE_AS("futimens of atime", futimens(fd, times));
    EVENTS("atime");
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_nsec = UTIME_NOW;
    CASE_AS("futimens of mtime", futimens(fd, times));
    EVENTS("mtime");
    CASE_AS("fsync", fsync(fd));
    EVENTS("fsync");
    dup2(fd, 50);
    close(fd);
    EVENTS("close of one of two");
    close(50);
    EVENTS("close after opening for writing");
    close(open("d/f", O_RDONLY));
    EVENTS("open and close for reading");
    close(open("d/f", O_WRONLY | O_TRUNC));
    TEXT("O_TRUNC changes it", "%d", strstr(events(in), "MODIFY") != NULL);
    CASE_AS("truncate", truncate("d/f", 10));
    EVENTS("truncate");
    CASE_AS("stat", stat("d/f", &(struct stat){0}));
    CASE_AS("access", access("d/f", R_OK));
    EVENTS("stat and access");
    CASE_AS("link", link("d/f", "other/l"));
    EVENTS("link elsewhere");
    CASE_AS("unlink", unlink("other/l"));
    EVENTS("unlink of the other name");
    inotify_rm_watch(in, d);
    inotify_rm_watch(in, f);
    (void)events(in);
}

static void copies(void)
{
    int from, to;
    loff_t at = 0;

    make_file("d/to");
    from = open("d/g", O_RDONLY);
    to = open("d/to", O_WRONLY);
    VALUE_AS("a watch", inotify_add_watch(in, "d", IN_ACCESS | IN_MODIFY) > 0);
    VALUE_AS("sendfile", sendfile(to, from, NULL, 4));
    EVENTS("sendfile");
    VALUE_AS("copy_file_range", copy_file_range(from, &at, to, NULL, 4, 0));
    EVENTS("copy_file_range");
    close(from);
    close(to);
    unlink("d/to");
    (void)events(in);
}

/* Names that come and go. */
static void names(void)
{
    int d = inotify_add_watch(in, "d", IN_ALL_EVENTS), fd;
    int other = inotify_add_watch(in, "other", IN_ALL_EVENTS);

    VALUE_AS("one number for the same inode", d == 8 && other == 9);
    fd = open("d/new", O_CREAT | O_EXCL | O_WRONLY, 0644);
    EVENTS("a new file");
    close(fd);
    EVENTS("is closed");
    CASE_AS("mkdir", mkdir("d/sub", 0755));
    EVENTS("mkdir");
    CASE_AS("symlink", symlink("x", "d/s"));
    EVENTS("symlink");
    CASE_AS("mkfifo", mkfifo("d/p", 0600));
    EVENTS("mkfifo");
    CASE_AS("link", link("d/new", "d/l"));
    EVENTS("a second name");
    CASE_AS("link that exists", link("d/new", "d/l"));
    CASE_AS("mkdir that exists", mkdir("d/sub", 0755));
    EVENTS("what fails reports nothing");
    CASE_AS("rename", rename("d/new", "d/renamed"));
    EVENTS("rename in a directory");
    CASE_AS("rename to itself", rename("d/renamed", "d/l"));
    EVENTS("rename to another name of it");
    CASE_AS("rename to another directory", rename("d/renamed", "other/moved"));
    EVENTS("rename to another directory");
    CASE_AS("rename of a directory", rename("d/sub", "other/sub"));
    EVENTS("rename of a directory");
    CASE_AS("exchange", renameat2(AT_FDCWD, "d/g", AT_FDCWD, "other/moved", RENAME_EXCHANGE));
    EVENTS("exchange of two names");
    CASE_AS("and back", renameat2(AT_FDCWD, "d/g", AT_FDCWD, "other/moved", RENAME_EXCHANGE));
    (void)events(in);
    CASE_AS("chmod of a directory in it", chmod("other/sub", 0700));
    EVENTS("chmod of a directory in it");
    make_file("other/sub/deep");
    EVENTS("not of what lies deeper");
    unlink("other/sub/deep");
    CASE_AS("rmdir", rmdir("other/sub"));
    EVENTS("rmdir");
    CASE_AS("unlink", unlink("other/moved"));
    EVENTS("unlink");
    CASE_AS("unlink of a link", unlink("d/s"));
    EVENTS("unlink of a link");
    CASE_AS("unlink of a FIFO", unlink("d/p"));
    EVENTS("unlink of a FIFO");
    CASE_AS("unlink of the second name", unlink("d/l"));
    EVENTS("unlink of the second name");
    CASE_AS("chmod of the directory", chmod("d", 0711));
    EVENTS("chmod of the directory");
    fd = open("d", O_RDONLY | O_DIRECTORY);
    EVENTS("open of the directory");
    close(fd);
    EVENTS("close of the directory");
    inotify_rm_watch(in, d);
    inotify_rm_watch(in, other);
    (void)events(in);
}

static void selves(void)
{
    int f, g, sub, fd;

    make_file("d/self");
    mkdir("d/sub", 0755);
    f = inotify_add_watch(in, "d/self", IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB);
    sub = inotify_add_watch(in, "d/sub", IN_ALL_EVENTS);
    g = inotify_add_watch(in, "d/g", IN_DELETE_SELF | IN_ATTRIB);
    VALUE_AS("three watches", f > 0 && sub > f && g > sub);
    CASE_AS("rename", rename("d/self", "other/self"));
    EVENTS("the file was moved");
    CASE_AS("rename of the directory", rename("d/sub", "other/sub"));
    EVENTS("the directory was moved");
    fd = open("d/g", O_RDONLY);
    CASE_AS("rename over it", rename("other/self", "d/g"));
    EVENTS("one was moved, the other lost its name");
    close(fd);
    EVENTS("and ended");
    CASE_AS("unlink", unlink("d/g"));
    EVENTS("unlinked and gone");
    CASE_AS("rmdir", rmdir("other/sub"));
    EVENTS("the directory is gone");
    CASE_AS("its watch is gone", inotify_rm_watch(in, sub));
    make_file("d/g");
}

static void modes(void)
{
    int wd = inotify_add_watch(in, "d/f", IN_OPEN | IN_ONESHOT);

    VALUE_AS("IN_ONESHOT", wd > 0);
    close(open("d/f", O_RDONLY));
    close(open("d/f", O_RDONLY));
    TEXT("once", "%d", strstr(events(in), "OPEN") != NULL);
    CASE_AS("and gone", inotify_rm_watch(in, wd));
    wd = inotify_add_watch(in, "d", IN_OPEN | IN_EXCL_UNLINK);
    VALUE_AS("IN_EXCL_UNLINK", wd > 0);
    close(open("d/f", O_RDONLY));
    TEXT("names that are there", "%d", strstr(events(in), "OPEN f") != NULL);
    inotify_rm_watch(in, wd);
    (void)events(in);
}

/* How events are read. */
static void reading(void)
{
    struct pollfd p = {.fd = in, .events = POLLIN | POLLOUT};
    struct epoll_event e = {.events = EPOLLIN};
    char buf[64] __attribute__((aligned(8)));
    struct inotify_event *event = (struct inotify_event *)buf;
    int wd = inotify_add_watch(in, "d", IN_OPEN), bytes = -1, ep = epoll_create1(0);
    int file = inotify_add_watch(in, "d/f", IN_ATTRIB);

    VALUE_AS("watched", wd > 0);
    CASE_AS("epoll", epoll_ctl(ep, EPOLL_CTL_ADD, in, &e));
    CASE_AS("poll with none", poll(&p, 1, 0));
    CASE_AS("epoll with none", epoll_wait(ep, &e, 1, 0));
    CASE_AS("FIONREAD with none", ioctl(in, FIONREAD, &bytes));
    VALUE_AS("no bytes", bytes);
    close(open("d/f", O_RDONLY));
    chmod("d/f", 0644);
    CASE_AS("poll", poll(&p, 1, 0));
    VALUE_AS("its events", p.revents);
    CASE_AS("epoll_wait", epoll_wait(ep, &e, 1, 0));
    CASE_AS("FIONREAD", ioctl(in, FIONREAD, &bytes));
    VALUE_AS("bytes of a name and of none", bytes);
    CASE_AS("TCGETS", ioctl(in, 0x402C7413, buf));
    CASE_AS("a buffer too short", read(in, buf, 16));
    CASE_AS("one byte too short", read(in, buf, 31));
    CASE_AS("room for one", read(in, buf, 33));
    TEXT("the event", "%d %x %u %u %s", event->wd == wd, event->mask, event->cookie, event->len,
         event->name);
    CASE_AS("the other", read(in, buf, 16));
    TEXT("the event", "%d %x %u %u", event->wd == file, event->mask, event->cookie, event->len);
    CASE_AS("no more", read(in, buf, 64));
    close(open("d/f", O_RDONLY));
    CASE_AS("a bad buffer", read(in, (char *)8, 64));
    CASE_AS("has lost it", read(in, buf, 64));
    for (int k = 0; k < 5; k++)
        close(open("d/f", O_RDONLY));
    EVENTS("equal events are one");
    close(open("d/f", O_RDONLY));
    close(open("d/g", O_RDONLY));
    close(open("d/f", O_RDONLY));
    EVENTS("equal neighbours only");
    close(ep);
    inotify_rm_watch(in, wd);
    inotify_rm_watch(in, file);
    (void)events(in);
}

static void long_names(void)
{
    char name[260] = "d/", buf[300] __attribute__((aligned(8)));
    struct inotify_event *e = (struct inotify_event *)buf;
    int wd = inotify_add_watch(in, "d", IN_CREATE), length[] = {15, 16, 255};

    for (unsigned k = 0; k < 3; k++) {
        memset(name + 2, 'n', 255);
        name[2 + length[k]] = '\0';
        close(open(name, O_CREAT | O_WRONLY, 0600));
        VALUE_AS("bytes of an event with a long name", read(in, buf, sizeof(buf)));
        TEXT("its name", "%u %d", e->len, (int)strlen(e->name));
        unlink(name);
    }
    inotify_rm_watch(in, wd);
    (void)events(in);
}

static void fifos(void)
{
    char buf[8];
    int wd, fd;

    mkfifo("d/fifo", 0600);
    wd = inotify_add_watch(in, "d", IN_ALL_EVENTS);
    fd = open("d/fifo", O_RDWR);
    EVENTS("open of a FIFO");
    VALUE_AS("written", write(fd, "12", 2));
    VALUE_AS("read", read(fd, buf, 8));
    EVENTS("write and read");
    close(fd);
    EVENTS("close of a FIFO");
    unlink("d/fifo");
    inotify_rm_watch(in, wd);
    (void)events(in);
}

/* A read that waits. */
static void waiting(void)
{
    int fd = inotify_init1(0), wd = inotify_add_watch(fd, "d", IN_OPEN), status;
    char buf[64];
    pid_t pid = fork();

    if (pid == 0) {
        usleep(50000);
        close(open("d/f", O_RDONLY));
        _exit(0);
    }
    VALUE_AS("a waiting read", read(fd, buf, sizeof(buf)));
    waitpid(pid, &status, 0);
    VALUE_AS("of its watch", wd);
    close(fd);
}

static void nobody(void)
{
    int fd;

    if (setuid(65534) != 0)
        _exit(1);
    fd = inotify_init1(IN_NONBLOCK);
    CASE_AS("a file that cannot be read", inotify_add_watch(fd, "d/f", IN_OPEN));
    CASE_AS("a directory that cannot be read", inotify_add_watch(fd, "other", IN_OPEN));
    CASE_AS("a directory that cannot be searched", inotify_add_watch(fd, "other/x", IN_OPEN));
}

static void permissions(void)
{
    if (chmod("d/f", 0222) || chmod("other", 0300) || chmod(".", 0755) || chmod("d", 0755))
        _exit(99);
    in_child("another user", nobody);
}

int main(void)
{
    cases_begin();
    begin();
    arguments();
    watches();
    both();
    copies();
    names();
    selves();
    modes();
    reading();
    long_names();
    fifos();
    waiting();
    permissions();
    return 0;
}
