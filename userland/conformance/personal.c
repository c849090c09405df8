/* prctl(2), personality(2), capget(2), sched_setscheduler(2), sethostname(2), wait4(2): what a
 * process sets and asks about itself. execveat(2), ioctl(2) of any file, mount(2), umount(2). */
#include "conformance.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <time.h>

static void names(void)
{
    char name[17] = "";

    CASE_AS("PR_SET_NAME", prctl(PR_SET_NAME, "a name that is too long"));
    CASE_AS("PR_GET_NAME", prctl(PR_GET_NAME, name));
    TEXT("name", "%s", name);
    CASE_AS("PR_SET_NAME, bad address", prctl(PR_SET_NAME, 8));
    CASE_AS("PR_GET_NAME, bad address", prctl(PR_GET_NAME, 8));
    prctl(PR_SET_NAME, "short");
    prctl(PR_GET_NAME, name);
    TEXT("short name", "%s", name);
}

static volatile sig_atomic_t died;

static void on_death(int sig) { died = sig; }

/* A grandchild whose parent ends gets the signal that it asked for. */
static void parent_dies(void)
{
    int ready[2], told[2], sig = 0;
    char byte;

    if (pipe(ready) || pipe(told))
        _exit(9);
    if (fork() == 0) {
        if (fork() == 0) {
            signal(SIGUSR1, on_death);
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            if (write(ready[1], "x", 1) != 1)
                _exit(9);
            for (int k = 0; k < 1000 && !died; k++)
                usleep(10000);
            sig = died;
            _exit(write(told[1], &sig, sizeof(sig)) != sizeof(sig));
        }
        _exit(read(ready[0], &byte, 1) != 1);
    }
    if (read(told[0], &sig, sizeof(sig)) != sizeof(sig))
        _exit(9);
    TEXT("signal at the parent's death", "%s", sig ? sigabbrev_np(sig) : "none");
    wait(NULL);
}

static void flags(void)
{
    int sig = -1;

    CASE_AS("prctl, unknown", prctl(9999, 0, 0, 0, 0));
    CASE_AS("PR_GET_PDEATHSIG", prctl(PR_GET_PDEATHSIG, &sig));
    VALUE_AS("pdeathsig at first", sig);
    CASE_AS("PR_SET_PDEATHSIG, 100", prctl(PR_SET_PDEATHSIG, 100));
    CASE_AS("PR_SET_PDEATHSIG", prctl(PR_SET_PDEATHSIG, SIGTERM));
    prctl(PR_GET_PDEATHSIG, &sig);
    VALUE_AS("pdeathsig", sig);
    if (fork() == 0) {
        prctl(PR_GET_PDEATHSIG, &sig);
        VALUE_AS("pdeathsig of a child", sig);
        VALUE_AS("dumpable of a child", prctl(PR_GET_DUMPABLE));
        _exit(0);
    }
    wait(NULL);
    prctl(PR_SET_PDEATHSIG, 0);
    CASE_AS("PR_GET_DUMPABLE", prctl(PR_GET_DUMPABLE));
    CASE_AS("PR_SET_DUMPABLE, 2", prctl(PR_SET_DUMPABLE, 2));
    CASE_AS("PR_SET_DUMPABLE, 0", prctl(PR_SET_DUMPABLE, 0));
    CASE_AS("PR_GET_DUMPABLE after that", prctl(PR_GET_DUMPABLE));
    CASE_AS("PR_GET_KEEPCAPS", prctl(PR_GET_KEEPCAPS));
    CASE_AS("PR_SET_KEEPCAPS, 2", prctl(PR_SET_KEEPCAPS, 2));
    CASE_AS("PR_GET_NO_NEW_PRIVS", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    CASE_AS("PR_SET_NO_NEW_PRIVS, 0", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    CASE_AS("PR_SET_NO_NEW_PRIVS, more arguments", prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0));
    CASE_AS("PR_SET_NO_NEW_PRIVS", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    CASE_AS("PR_GET_NO_NEW_PRIVS after that", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    CASE_AS("PR_CAPBSET_READ, beyond", prctl(PR_CAPBSET_READ, 200, 0, 0, 0));
    CASE_AS("personality, ask", personality(0xFFFFFFFF));
    CASE_AS("personality, no random addresses", personality(ADDR_NO_RANDOMIZE));
    CASE_AS("personality after that", personality(0xFFFFFFFF));
}

struct cap_header {
    uint32_t version;
    int32_t pid;
};

static void capabilities(void)
{
    struct cap_header h = {0x20080522, 0};
    uint32_t data[6] = {0};

    CASE_AS("capget", syscall(SYS_capget, &h, data));
    CASE_AS("capget, bad address", syscall(SYS_capget, 8, data));
    CASE_AS("capget, bad data", syscall(SYS_capget, &h, 8));
    h.pid = -1;
    CASE_AS("capget, negative process", syscall(SYS_capget, &h, data));
    h.pid = 1 << 30;
    CASE_AS("capget, no such process", syscall(SYS_capget, &h, data));
    h = (struct cap_header){1, 0};
    CASE_AS("capget, unknown version", syscall(SYS_capget, &h, data));
    TEXT("version to use", "%x", h.version);
    h = (struct cap_header){1, 0};
    CASE_AS("capget, unknown version, no data", syscall(SYS_capget, &h, NULL));
    CASE_AS("capset of what is", syscall(SYS_capget, &h, data) || syscall(SYS_capset, &h, data));
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    syscall(SYS_capget, &h, data);
    TEXT("user: capabilities", "%x %x %x", data[0], data[1], data[3]);
    data[0] = 1;
    CASE_AS("user: capset of more", syscall(SYS_capset, &h, data));
}

static void scheduling(void)
{
    struct sched_param param = {0};

    CASE_AS("priority max, FIFO", sched_get_priority_max(SCHED_FIFO));
    CASE_AS("priority min, RR", sched_get_priority_min(SCHED_RR));
    CASE_AS("priority max, OTHER", sched_get_priority_max(SCHED_OTHER));
    CASE_AS("priority min, BATCH", sched_get_priority_min(SCHED_BATCH));
    CASE_AS("priority max, unknown", sched_get_priority_max(77));
    CASE_AS("getscheduler", sched_getscheduler(0));
    CASE_AS("getscheduler, negative", sched_getscheduler(-1));
    CASE_AS("getscheduler, no such process", sched_getscheduler(1 << 30));
    CASE_AS("getparam", sched_getparam(0, &param));
    CASE_AS("getparam, no place", sched_getparam(0, NULL));
    VALUE_AS("priority", param.sched_priority);
    CASE_AS("setscheduler OTHER", sched_setscheduler(0, SCHED_OTHER, &param));
    CASE_AS("setparam", sched_setparam(0, &param));
    param.sched_priority = 1;
    CASE_AS("setparam, a priority", sched_setparam(0, &param));
    CASE_AS("setscheduler OTHER, a priority", sched_setscheduler(0, SCHED_OTHER, &param));
    CASE_AS("setscheduler, unknown", sched_setscheduler(0, 77, &param));
    CASE_AS("setscheduler, no parameter", sched_setscheduler(0, SCHED_OTHER, NULL));
    param.sched_priority = 100;
    CASE_AS("setscheduler FIFO, 100", sched_setscheduler(0, SCHED_FIFO, &param));
    param.sched_priority = 5;
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    param.sched_priority = 0;
    CASE_AS("user: setparam of another's process", sched_setparam(getppid(), &param));
    CASE_AS("user: getparam of another's process", sched_getparam(getppid(), &param));
    param.sched_priority = 5;
    CASE_AS("user: setscheduler FIFO", sched_setscheduler(0, SCHED_FIFO, &param));
}

static void host(void)
{
    struct utsname u;
    char name[65];

    uname(&u);
    CASE_AS("sethostname, too long", sethostname(name, 65));
    CASE_AS("sethostname, bad address", syscall(SYS_sethostname, 8, 5));
    CASE_AS("setdomainname, too long", setdomainname(name, 65));
    CASE_AS("uname, bad address", syscall(SYS_uname, 8));
    CASE_AS("sethostname of what is", sethostname(u.nodename, strlen(u.nodename)));
    CASE_AS("gethostname", gethostname(name, sizeof(name)));
    VALUE_AS("gethostname and uname", strcmp(name, u.nodename));
    if (setresuid(1001, 1001, 1001))
        _exit(9);
    CASE_AS("user: sethostname", sethostname("x", 1));
    CASE_AS("user: setdomainname", setdomainname("x", 1));
}

static void waiting(void)
{
    CASE_AS("wait4, INT_MIN", syscall(SYS_wait4, INT32_MIN, NULL, 0, NULL));
    CASE_AS("wait4, no child", wait4(-1, NULL, 0, NULL));
    CASE_AS("wait4, no such child", wait4(1 << 30, NULL, 0, NULL));
    CASE_AS("wait4, unknown option", wait4(-1, NULL, 0x100, NULL));
    CASE_AS("waitid, no option", waitid(P_ALL, 0, NULL, 0));
    CASE_AS("waitid, unknown kind", waitid(77, 0, NULL, WEXITED));
    CASE_AS("waitid, no child", waitid(P_ALL, 0, NULL, WEXITED));
}

static char *const arguments[] = {"true", NULL}, *const no_words[] = {NULL};

static long exec_at(int dir, const char *path, int flags)
{
    return syscall(SYS_execveat, dir, path, arguments, no_words, flags);
}

static int in_bin;

static void by_descriptor(void) { exec_at(open("/bin/true", O_PATH), "", AT_EMPTY_PATH); }
static void by_directory(void) { exec_at(in_bin, "true", 0); }
static void by_path(void) { exec_at(-1, "/bin/true", 0); }

static void without_exec(void)
{
    int file = open("/bin/true", O_RDONLY);

    in_bin = open("/bin", O_RDONLY | O_DIRECTORY);
    symlink("/bin/true", "/tmp/conformance.link");
    CASE_AS("execveat, no such file", exec_at(in_bin, "none-of-that-name", 0));
    CASE_AS("execveat, no descriptor", exec_at(-1, "true", 0));
    CASE_AS("execveat, a file as directory", exec_at(file, "true", 0));
    CASE_AS("execveat, no path", exec_at(file, "", 0));
    CASE_AS("execveat, no path and no descriptor", exec_at(-1, "", AT_EMPTY_PATH));
    CASE_AS("execveat, a directory", exec_at(in_bin, "", AT_EMPTY_PATH));
    CASE_AS("execveat, the working directory", exec_at(AT_FDCWD, "", AT_EMPTY_PATH));
    CASE_AS("execveat, unknown flags", exec_at(in_bin, "true", 0x10));
    CASE_AS("execveat, a bad path", exec_at(in_bin, (void *)8, 0));
    CASE_AS("execveat, a link that is not followed",
            exec_at(AT_FDCWD, "/tmp/conformance.link", AT_SYMLINK_NOFOLLOW));
    unlink("/tmp/conformance.link");
    close(file);
}

static void requests(void)
{
    int fd = open("/dev/null", O_RDWR), path = open("/dev/null", O_PATH), on = 1, off = 0;

    CASE_AS("FIONBIO", ioctl(fd, FIONBIO, &on));
    VALUE_AS("O_NONBLOCK", (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    CASE_AS("FIONBIO, off", ioctl(fd, FIONBIO, &off));
    VALUE_AS("O_NONBLOCK then", fcntl(fd, F_GETFL) & O_NONBLOCK);
    CASE_AS("FIONBIO, a bad address", ioctl(fd, FIONBIO, 8));
    CASE_AS("FIOCLEX", ioctl(fd, FIOCLEX));
    VALUE_AS("FD_CLOEXEC", fcntl(fd, F_GETFD));
    CASE_AS("FIONCLEX", ioctl(fd, FIONCLEX));
    VALUE_AS("FD_CLOEXEC then", fcntl(fd, F_GETFD));
    CASE_AS("FIONBIO, O_PATH", ioctl(path, FIONBIO, &on));
    CASE_AS("FIOCLEX, no descriptor", ioctl(-1, FIOCLEX));
}

static void small_calls(void)
{
    struct timespec t = {-1, -1};
    uint32_t attr[12] = {0};

    CASE_AS("sched_rr_get_interval", sched_rr_get_interval(0, &t));
    CASE_AS("sched_rr_get_interval, negative", sched_rr_get_interval(-1, &t));
    CASE_AS("sched_rr_get_interval, nobody", sched_rr_get_interval(0x3FFFFFFF, &t));
    CASE_AS("sched_getattr", syscall(SYS_sched_getattr, 0, attr, sizeof(attr), 0));
    CASE_AS("sched_getattr, too small", syscall(SYS_sched_getattr, 0, attr, 47, 0));
    CASE_AS("sched_getattr, flags", syscall(SYS_sched_getattr, 0, attr, sizeof(attr), 1));
    attr[0] = 48;
    attr[2] = attr[3] = 0;
    CASE_AS("sched_setattr", syscall(SYS_sched_setattr, 0, attr, 0));
    CASE_AS("sched_setattr, flags", syscall(SYS_sched_setattr, 0, attr, 1));
    CASE_AS("sched_setattr, nowhere", syscall(SYS_sched_setattr, 0, NULL, 0));
    CASE_AS("sched_setattr, a bad place", syscall(SYS_sched_setattr, 0, 8, 0));
    CASE_AS("sched_setattr, a negative thread", syscall(SYS_sched_setattr, -1, attr, 0));
    attr[0] = 47;
    CASE_AS("sched_setattr, too short", syscall(SYS_sched_setattr, 0, attr, 0));
    VALUE_AS("the size that it wants is told", attr[0] >= 48);
    attr[0] = 48;
    attr[2] = 0x80;
    CASE_AS("sched_setattr, unknown bits", syscall(SYS_sched_setattr, 0, attr, 0));
    attr[2] = 0;
    attr[1] = 77;
    CASE_AS("sched_setattr, no such policy", syscall(SYS_sched_setattr, 0, attr, 0));
    attr[1] = 0;
    CASE_AS("sched_getattr, nobody", syscall(SYS_sched_getattr, 0x3FFFFFFF, attr, 48, 0));
    CASE_AS("sched_getattr, a bad address", syscall(SYS_sched_getattr, 0, 8, 48, 0));
    CASE_AS("membarrier, unknown", syscall(SYS_membarrier, 1 << 30, 0));
    CASE_AS("umount, unknown flags", umount2("/", 0x100));
    setresuid(65534, 65534, 65534);
    CASE_AS("user: mount", mount("none", "/tmp", "tmpfs", 0, NULL));
    CASE_AS("user: mount, no such place", mount("none", "/none-there", "tmpfs", 0, NULL));
    CASE_AS("user: mount, a bad type", mount("none", "/tmp", (void *)8, 0, NULL));
    CASE_AS("user: umount", umount2("/tmp", 0));
}

int main(void)
{
    cases_begin();
    in_child("names", names);
    in_child("flags", flags);
    in_child("parent_dies", parent_dies);
    in_child("capabilities", capabilities);
    in_child("scheduling", scheduling);
    in_child("host", host);
    in_child("waiting", waiting);
    without_exec();
    in_child("execveat, a descriptor", by_descriptor);
    in_child("execveat, a directory and a name", by_directory);
    in_child("execveat, a path from the root", by_path);
    requests();
    in_child("small calls", small_calls);
    return 0;
}
