// TAP
/* /proc: what its files say of this process, of others and of the system; its names; its mount. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define PAGE 8192

static char text[65536];

/* Read a file into `text`. Its length, or -errno. */
static long slurp(const char *path)
{
    int fd = open(path, O_RDONLY);
    long n = 0, got;

    if (fd < 0)
        return -errno;
    while ((got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
        n += got;
    got = got < 0 ? -errno : n;
    close(fd);
    text[n] = 0;
    return got;
}

static const char *of_pid(pid_t pid, const char *name)
{
    static char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return path;
}

/* The state letter in /proc/PID/stat, or 0. */
static char state_of(pid_t pid)
{
    char *end;

    if (slurp(of_pid(pid, "stat")) <= 0)
        return 0;
    end = strrchr(text, ')');
    return end ? end[2] : 0;
}

static bool becomes(pid_t pid, char state)
{
    for (int i = 0; i < 2000 && state_of(pid) != state; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    return state_of(pid) == state;
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    return pid;
}

/* ---- one process ---- */

static void program_path(void)
{
    static const char *const winding[] = {
        "//tests/proc_files",     "/tests//proc_files",
        "/tests/./proc_files",    "/./tests/proc_files",
        "/tmp/program",           "/tests/../tests/proc_files",
        "/tmp/folder/proc_files", "/proc/self/root/tests/proc_files",
    };
    char path[256] = "";
    int status = -1;

    ok(symlink("/tests/proc_files", "/tmp/program") == 0 && symlink("../tests", "/tmp/folder") == 0,
       "links to the program and to its folder");
    is(readlink("/proc/self/exe", path, sizeof(path)), (long)strlen("/tests/proc_files"),
       "the program's path has its whole length");
    ok(strcmp(path, "/tests/proc_files") == 0, "it is %s", path);
    if (fork() == 0) {
        if (chdir("/tests/../tests/.") == 0)
            execl("./proc_files", "proc_files", "exe", NULL);
        _exit(9);
    }
    wait(&status);
    is(status, 0, "a program executed as ./NAME has an absolute path");
    for (size_t k = 0; k < sizeof(winding) / sizeof(*winding); k++) {
        if (fork() == 0) {
            execl(winding[k], "proc_files", "exe", NULL);
            _exit(9);
        }
        wait(&status);
        is(status, 0, "and the same path when it is executed as %s", winding[k]);
    }
    unlink("/tmp/program");
    unlink("/tmp/folder");
}

/* Its path is that from the root of all, also where a process has another root. */
static void program_path_below(void)
{
    char path[256] = "", byte;
    int fds[2];
    pid_t pid;

    if (pipe(fds) != 0)
        return;
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        close(fds[1]);
        close(fds[0]);
        if (chroot("/tests") == 0)
            execl("/proc_files", "proc_files", "hold", NULL);
        _exit(9);
    }
    close(fds[1]);
    is(read(fds[0], &byte, 1), 1, "a program begins below another root");
    is(readlink(of_pid(pid, "exe"), path, sizeof(path)), (long)strlen("/tests/proc_files"),
       "its path has its whole length");
    ok(strcmp(path, "/tests/proc_files") == 0, "it is %s", path);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fds[0]);
}

/* Tell that the program has begun, and stay. */
static int hold(void)
{
    if (write(1, "", 1) == 1)
        pause();
    return 1;
}

static int report_exe(void)
{
    char path[256] = "";

    return readlink("/proc/self/exe", path, sizeof(path)) < 0 || strcmp(path, "/tests/proc_files");
}

static void numbers(void)
{
    unsigned pid, ppid, pgrp, session;
    char name[32], state;
    char expected[64];

    ok(slurp("/proc/self/stat") > 0, "stat can be read");
    is(sscanf(text, "%u (%31[^)]) %c %u %u %u", &pid, name, &state, &ppid, &pgrp, &session), 6,
       "its first fields are there");
    ok(pid == (unsigned)getpid() && ppid == (unsigned)getppid() && pgrp == (unsigned)getpgrp() &&
           session == (unsigned)getsid(0) && state == 'R' && !strcmp(name, "proc_files"),
       "they are this process's");
    ok(slurp("/proc/self/status") > 0, "status can be read");
    snprintf(expected, sizeof(expected), "Pid:\t%d\n", getpid());
    ok(strstr(text, expected), "it names the process");
    signal(SIGUSR1, SIG_IGN);
    slurp("/proc/self/status");
    ok(strstr(text, "SigIgn:\t0000000020000000\n"), "it shows an ignored signal");
    signal(SIGUSR1, SIG_DFL);
}

static void states(void)
{
    pid_t pid = sleeper();

    ok(becomes(pid, 'S'), "a process that waits is S");
    kill(pid, SIGSTOP);
    ok(becomes(pid, 'T'), "one that was stopped is T");
    kill(pid, SIGKILL);
    ok(becomes(pid, 'Z'), "one that has ended is Z");
    is(readlink(of_pid(pid, "exe"), text, sizeof(text)), -1, "it runs no program any more");
    waitpid(pid, NULL, 0);
    is(slurp(of_pid(pid, "stat")), -ENOENT, "it is gone once its status was read");
}

static void gone_while_open(void)
{
    pid_t pid = sleeper();
    int fd = open(of_pid(pid, "stat"), O_RDONLY);
    char c;

    ok(fd >= 0, "a file of a process is open");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    is(read(fd, &c, 1), -1, "it cannot be read when the process has ended");
    is(errno, ENOENT, "with ENOENT");
    close(fd);
}

static void maps(void)
{
    char *p = mmap(NULL, 5 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char line[64], *heap = sbrk(0);
    unsigned many = 400, found = 0;
    char *all = mmap(NULL, 2 * many * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    snprintf(line, sizeof(line), "%08lx-%08lx r-xs", (long)p, (long)(p + 5 * PAGE));
    ok(slurp("/proc/self/maps") > 0, "maps can be read");
    ok(strstr(text, line), "it shows a new mapping");
    ok(strstr(text, "[stack]") && strstr(text, "[heap]"), "it names stack and heap");
    (void)heap;
    for (unsigned i = 0; i < many; i++)
        mprotect(all + 2 * i * PAGE, PAGE, PROT_READ);
    slurp("/proc/self/maps");
    for (unsigned i = 0; i < many; i++) {
        snprintf(line, sizeof(line), "%08lx-%08lx r--p", (long)(all + 2 * i * PAGE),
                 (long)(all + (2 * i + 1) * PAGE));
        found += strstr(text, line) != NULL;
    }
    is(found, many, "it shows each of many mappings");
    munmap(p, 5 * PAGE);
    munmap(all, 2 * many * PAGE);
}

/* Of a file that is mapped, and of a descriptor of it, `path` is told, or none if it is NULL. */
static void named(int fd, const char *map, const char *path, const char *what)
{
    char link[64], name[256] = "", line[256];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    snprintf(line, sizeof(line), "%08lx-", (long)map);
    slurp("/proc/self/maps");
    if (path) {
        ok(n > 0 && !strcmp(name, path), "%s: the descriptor is %s", what, name);
        snprintf(line, sizeof(line), "%s\n", path);
        ok(strstr(text, line), "%s: the mapping has a path", what);
    } else {
        ok(n > 0 && name[0] != '/', "%s: the descriptor is %s", what, name);
        ok(!strstr(text, "/tmp/proc"), "%s: the mapping has no path", what);
    }
}

static void paths(void)
{
    int fd = open("/tmp/proc_a", O_CREAT | O_RDWR, 0600);
    char *map;

    ftruncate(fd, PAGE);
    map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    named(fd, map, "/tmp/proc_a", "new");
    map[0] = 1;
    named(fd, map, "/tmp/proc_a", "written");
    rename("/tmp/proc_a", "/tmp/proc_b");
    named(fd, map, "/tmp/proc_b", "renamed");
    mkdir("/tmp/proc_dir", 0755);
    rename("/tmp/proc_b", "/tmp/proc_dir/c");
    named(fd, map, "/tmp/proc_dir/c", "moved");
    rename("/tmp/proc_dir", "/tmp/proc_other");
    named(fd, map, "/tmp/proc_other/c", "its directory renamed");
    link("/tmp/proc_other/c", "/proc_d");
    unlink("/tmp/proc_other/c");
    named(fd, map, "/proc_d", "another name");
    close(open("/tmp/proc_e", O_CREAT | O_RDWR, 0600));
    syscall(SYS_renameat2, AT_FDCWD, "/proc_d", AT_FDCWD, "/tmp/proc_e", 2u);
    named(fd, map, "/tmp/proc_e", "exchanged");
    rename("/tmp/proc_e", "/tmp/proc\ne");
    slurp("/proc/self/maps");
    ok(strstr(text, "/tmp/proc?e\n"), "a line feed in a name makes no line");
    rename("/proc_d", "/tmp/proc\ne");
    named(fd, map, NULL, "replaced");
    unlink("/tmp/proc\ne");
    rmdir("/tmp/proc_other");
    slurp("/proc/self/maps");
    ok(strstr(text, "/tests/proc_files\n"), "the program itself");
    munmap(map, PAGE);
    close(fd);
}

/* A line of /proc/self/smaps about the mapping that begins at p, in pages; -1: it is not there. */
static long pages_of(const char *p, const char *what)
{
    char line[64];
    const char *at;

    slurp("/proc/self/smaps");
    snprintf(line, sizeof(line), "%08lx-", (long)p);
    at = strstr(text, line);
    snprintf(line, sizeof(line), "\n%s:", what);
    at = at ? strstr(at, line) : NULL;
    return at ? atol(at + strlen(line)) * 1024 / PAGE : -1;
}

static void memory(void)
{
    unsigned long far = 3ul << 30;
    char *p = mmap(NULL, 40 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *s = mmap(NULL, 4ul << 30, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int go[2], status;
    pid_t pid;

    is(pages_of(p, "Size"), 40, "smaps: the size");
    is(pages_of(p, "Rss"), 0, "smaps: nothing is in memory before it is touched");
    for (int i = 0; i < 40; i += 3)
        p[i * PAGE] = 1;
    is(pages_of(p, "Rss"), 14, "smaps: the pages that were touched");
    is(pages_of(p, "Private_Dirty"), 14, "smaps: they are private");
    is(pages_of(p, "Anonymous"), 14, "smaps: and anonymous");
    pipe(go);
    pid = fork();
    if (pid == 0) {
        char c;

        p[0] = 2;
        _exit(read(go[0], &c, 1) < 0); /* until it is killed */
    }
    for (int i = 0; i < 2000 && pages_of(p, "Private_Dirty") != 1; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    is(pages_of(p, "Private_Dirty"), 1, "smaps: a page that the child has written is private");
    is(pages_of(p, "Shared_Dirty"), 13, "smaps: fork has shared the others");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(pages_of(p, "Private_Dirty"), 14, "smaps: until it ends");
    close(go[0]);
    close(go[1]);
    s[0] = s[far] = s[far + PAGE] = 1;
    is(pages_of(s, "Rss"), 3, "smaps: of 4 GiB of shared memory three pages");
    is(pages_of(s, "Shared_Clean"), 3, "smaps: which are shared");
    munmap(p, 40 * PAGE);
    munmap(s, 4ul << 30);
}

static void strings(void)
{
    int status = -1;

    slurp("/proc/self/cmdline");
    ok(memcmp(text, "/tests/proc_files", 18) == 0, "cmdline is argv[0] first: %s", text);
    if (fork() == 0) {
        char *args[] = {"proc_files", "strings", "two words", "", NULL};
        char *vars[] = {"A=1", "B=", NULL};

        execve("/tests/proc_files", args, vars);
        _exit(9);
    }
    wait(&status);
    is(status, 0, "cmdline and environ are those of exec");
}

static int report_strings(void)
{
    static const char args[] = "proc_files\0strings\0two words\0";
    static const char vars[] = "A=1\0B=";
    long n = slurp("/proc/self/cmdline");

    if (n != sizeof(args) || memcmp(text, args, sizeof(args)))
        return 1;
    n = slurp("/proc/self/environ");
    return n != sizeof(vars) || memcmp(text, vars, sizeof(vars));
}

static void descriptors(void)
{
    int dir = open("/tmp", O_RDONLY | O_DIRECTORY), again;
    char path[64], name[256] = "";
    struct stat a, b;
    struct dirent *e;
    bool listed = false;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
    ok(readlink(path, name, sizeof(name)) == 4 && !strcmp(name, "/tmp"), "a descriptor's link");
    again = open(path, O_RDONLY);
    ok(again >= 0 && fstat(dir, &a) == 0 && fstat(again, &b) == 0 && a.st_ino == b.st_ino,
       "opening it opens the same file again");
    close(again);
    d = opendir("/proc/self/fd");
    while (d && (e = readdir(d)))
        listed |= atoi(e->d_name) == dir;
    closedir(d);
    ok(listed, "its number is listed");
    close(dir);
    is(readlink(path, name, sizeof(name)), -1, "and not when it is closed");
}

/* ---- others ---- */

static void privacy(void)
{
    pid_t other = sleeper(), pid;
    int status = -1;

    pid = fork();
    if (pid == 0) {
        int wrong = setgid(1000) || setuid(1000);

        wrong |= slurp(of_pid(other, "maps")) >= 0;
        wrong |= slurp(of_pid(other, "smaps")) >= 0;
        wrong |= slurp(of_pid(other, "cmdline")) >= 0;
        wrong |= slurp(of_pid(other, "environ")) >= 0;
        wrong |= readlink(of_pid(other, "exe"), text, 100) >= 0;
        wrong |= readlink(of_pid(other, "cwd"), text, 100) >= 0;
        wrong |= open(of_pid(other, "fd"), O_RDONLY) >= 0;
        wrong |= slurp(of_pid(other, "stat")) <= 0;
        wrong |= slurp(of_pid(getpid(), "maps")) <= 0;
        _exit(wrong);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "another user sees that a process exists, but not into it");
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

/* ---- the system ---- */

static void system_files(void)
{
    struct sysinfo info;
    unsigned long total;

    sysinfo(&info);
    ok(slurp("/proc/meminfo") > 0 && sscanf(text, "MemTotal: %lu kB", &total) == 1 &&
           total == info.totalram / 1024,
       "meminfo has the memory that sysinfo tells");
    ok(slurp("/proc/stat") > 0 && strstr(text, "cpu0 ") && strstr(text, "btime "), "stat");
    ok(slurp("/proc/uptime") > 0 && slurp("/proc/cpuinfo") > 0 && slurp("/proc/version") > 0,
       "uptime, cpuinfo, version");
    ok(slurp("/proc/mounts") > 0 && strstr(text, " /proc proc "), "mounts");
}

/* The number in a file of /proc/sys, or -1. */
static long number_in(const char *path)
{
    char *end;
    long n = slurp(path) > 0 ? strtol(text, &end, 10) : -1;

    return n >= 0 && !strcmp(end, "\n") ? n : -1;
}

static void parameters(void)
{
    char was[65], uuid[40] = "", again[40] = "";
    struct utsname u;
    struct rlimit l;
    int pipe_ends[2];

    pipe(pipe_ends);
    uname(&u);
    gethostname(was, sizeof(was));
    sethostname("another", 7);
    ok(slurp("/proc/sys/kernel/hostname") == 8 && !strcmp(text, "another\n"),
       "sys/kernel/hostname");
    sethostname(was, strlen(was));
    slurp("/proc/sys/kernel/osrelease");
    ok(!strncmp(text, u.release, strlen(u.release)), "sys/kernel/osrelease is uname's");
    slurp("/proc/sys/kernel/ostype");
    ok(!strncmp(text, u.sysname, strlen(u.sysname)), "and ostype");
    ok(number_in("/proc/sys/kernel/pid_max") >= getpid(), "sys/kernel/pid_max");
    ok(number_in("/proc/sys/kernel/threads-max") > 1, "sys/kernel/threads-max");
    is(number_in("/proc/sys/kernel/ngroups_max"), sysconf(_SC_NGROUPS_MAX), "ngroups_max");
    is(setgroups((size_t)number_in("/proc/sys/kernel/ngroups_max") + 1, (gid_t[64]){0}), -1,
       "more groups are refused");
    is(number_in("/proc/sys/fs/pipe-max-size"), fcntl(pipe_ends[0], F_GETPIPE_SZ), "pipe-max-size");
    l.rlim_cur = l.rlim_max = (rlim_t)number_in("/proc/sys/fs/nr_open");
    is(setrlimit(RLIMIT_NOFILE, &l), 0, "as many descriptors as fs/nr_open says");
    l.rlim_max++;
    is(setrlimit(RLIMIT_NOFILE, &l), -1, "and no more");
    is(number_in("/proc/sys/vm/max_map_count"), 65530, "vm/max_map_count");
    is(number_in("/proc/sys/vm/overcommit_memory"), 1, "vm/overcommit_memory");
    ok(mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED,
       "more is mapped than there is memory");
    slurp("/proc/sys/kernel/random/uuid");
    is(sscanf(text, "%39s", uuid), 1, "a UUID");
    ok(strlen(uuid) == 36 && uuid[14] == '4' && strchr("89ab", uuid[19]), "of version 4: %s", uuid);
    slurp("/proc/sys/kernel/random/uuid");
    sscanf(text, "%39s", again);
    ok(strcmp(uuid, again) != 0, "and then another one");
    is(write(open("/proc/sys/vm/overcommit_memory", O_WRONLY), "0", 1), -1, "not to be written");
}

/* The line of /proc/net/unix that ends in this name, NULL: there is none. */
static const char *socket_line(const char *name)
{
    char *at, *line;

    slurp("/proc/net/unix");
    at = strstr(text, name);
    if (!at || at[strlen(name)] != '\n')
        return NULL;
    for (line = at; line > text && line[-1] != '\n';)
        line--;
    return line;
}

static void sockets(void)
{
    struct sockaddr_un path = {AF_UNIX, "/tmp/proc_files.socket"};
    struct sockaddr_un abstract = {AF_UNIX, "\0proc\0files"};
    int a = socket(AF_UNIX, SOCK_STREAM, 0), b = socket(AF_UNIX, SOCK_DGRAM, 0), c;
    unsigned flags, type, state;
    unsigned long inode;
    struct stat st;

    ok(!socket_line(path.sun_path), "net/unix does not show a socket before it has a name");
    bind(a, (void *)&path, sizeof(path));
    listen(a, 1);
    fstat(a, &st);
    is(sscanf(socket_line(path.sun_path), "%*x: %*x %*x %x %x %x %lu", &flags, &type, &state,
              &inode),
       4, "then it has a line");
    ok(flags == 0x10000 && type == SOCK_STREAM && state == 1 && inode == st.st_ino,
       "flags, type, state and inode");
    bind(b, (void *)&abstract, 2 + 11);
    ok(socket_line("@proc@files"), "an abstract name");
    c = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(c, (void *)&path, sizeof(path));
    close(accept(a, NULL, NULL));
    close(a);
    ok(!socket_line(path.sun_path), "it is gone with the socket");
    close(b);
    close(c);
    unlink(path.sun_path);
}

/* The files from which the C library learns who users are. */
static void users(void)
{
    FILE *f = fopen("/etc/passwd", "r");
    const struct passwd *p;
    unsigned n = 0, root = 0;

    while (f && (p = fgetpwent(f))) {
        n++;
        root += p->pw_uid == 0 && !strcmp(p->pw_name, "root");
    }
    is(root, 1, "/etc/passwd has root");
    ok(n >= 2, "and other users");
    f = freopen("/etc/group", "r", f);
    ok(f && fgetgrent(f) && f, "/etc/group");
    fclose(f);
}

static void all_processes(void)
{
    pid_t pid[3] = {sleeper(), sleeper(), sleeper()};
    unsigned found = 0, last = 0, disorder = 0;
    DIR *d = opendir("/proc");
    struct dirent *e;

    while (d && (e = readdir(d))) {
        unsigned n = (unsigned)atoi(e->d_name);

        if (!n)
            continue;
        disorder += n <= last;
        last = n;
        for (int i = 0; i < 3; i++)
            found += n == (unsigned)pid[i];
    }
    closedir(d);
    is(found, 3, "every process is listed once");
    is(disorder, 0, "in ascending order");
    for (int i = 0; i < 3; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
}

/* ---- the file system ---- */

static void reading(void)
{
    static char whole[65536], one[65536];
    long n = slurp("/proc/self/maps"), at = 0;
    int fd = open("/proc/self/maps", O_RDONLY);

    memcpy(whole, text, sizeof(whole));
    while (at < n && read(fd, one + at, 1) == 1)
        at++;
    ok(at == n && !memcmp(whole, one, (size_t)n), "byte by byte it is the same text");
    is(pread(fd, one, 20, 30), 20, "pread");
    ok(!memcmp(one, whole + 30, 20), "reads at its offset");
    is(pread(fd, one, 20, n + 1000), 0, "and nothing behind the end");
    is(lseek(fd, 10, SEEK_SET), 10, "lseek");
    ok(read(fd, one, 10) == 10 && !memcmp(one, whole + 10, 10), "goes back");
    is(lseek(fd, -1, SEEK_SET), -1, "but not below 0");
    close(fd);
}

static void refusals(void)
{
    struct stat root, proc;
    char cwd[64] = "";

    is(open("/proc/new", O_CREAT | O_RDWR, 0666), -1, "no file can be made");
    is(mkdir("/proc/new", 0777), -1, "no directory");
    is(unlink("/proc/version"), -1, "none can be removed");
    is(rename("/proc/version", "/proc/old"), -1, "nor renamed");
    is(rmdir("/proc"), -1, "the directory that is covered stays");
    is(errno, EBUSY, "with EBUSY");
    is(rename("/proc", "/tmp/proc"), -1, "where it is");
    is(link("/proc/version", "/tmp/version"), -1, "no link leads out");
    is(errno, EXDEV, "with EXDEV");
    is(write(open("/proc/self/stat", O_WRONLY), "x", 1), -1, "nor can it be written");
    is(truncate("/proc/self/stat", 0), -1, "or truncated");
    ok(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, open("/proc/self/stat", O_RDONLY), 0) == MAP_FAILED,
       "or mapped");
    is(chdir("/proc/self"), 0, "it can be the working directory");
    getcwd(cwd, sizeof(cwd));
    ok(atoi(cwd + strlen("/proc/")) == getpid(), "whose path is %s", cwd);
    ok(chdir("../..") == 0 && stat(".", &root) == 0 && stat("/", &proc) == 0 &&
           root.st_ino == proc.st_ino,
       ".. leads out of it");
    is(open("/proc/00001/stat", O_RDONLY), -1, "a pid has one name");
    is(open("/proc/4294967297/stat", O_RDONLY), -1, "and does not wrap");
}

static void *nothing(void *arg) { return arg; }

/* Processes that go into a directory, remove it, leave it, begin a thread and end; *now is the
 * number of the last. */
static void move(volatile pid_t *now)
{
    char name[32];

    for (;;) {
        pid_t pid = fork();
        pthread_t t;

        if (pid == 0) {
            *now = getpid();
            snprintf(name, sizeof(name), "/tmp/moving.%d", getpid());
            for (int i = 0; i < 8; i++) {
                if (mkdir(name, 0700) || chdir(name) || rmdir(name) || chdir("/tmp"))
                    _exit(1);
                if (i == 4)
                    pthread_create(&t, NULL, nothing, NULL);
            }
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

/* The directory of a process is counted for whoever looks at it, while its owner leaves it, shares
 * it with a thread, or ends. */
static void where_others_work(void)
{
    volatile pid_t *now = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                               0);
    unsigned seen = 0, gone = 0, wrong = 0;
    int last = 0; /* errno of the last that was wrong */
    char path[32], where[64];
    pid_t mover = fork();

    if (mover == 0)
        move(now);
    /* On one CPU it may be that whoever moves always ends before this process runs again. */
    for (int i = 0; i < 6000 || (!seen && i < 6000000); i++) {
        struct stat st;

        snprintf(path, sizeof(path), "/proc/%d/%s", *now, i % 2 ? "cwd" : "root");
        if (readlink(path, where, sizeof(where)) > 0 && stat(path, &st) == 0)
            seen++;
        else if (errno == ENOENT || errno == ESRCH)
            gone++;
        else
            wrong++, last = errno;
    }
    kill(mover, SIGKILL);
    waitpid(mover, NULL, 0);
    ok(seen > 0 && wrong == 0,
       "a process that moves is seen where it works: %u times, %u not, %u wrong (errno %d)", seen,
       gone, wrong, last);
    munmap((void *)now, PAGE);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "exe"))
        return report_exe();
    if (argc > 1 && !strcmp(argv[1], "hold"))
        return hold();
    if (argc > 1 && !strcmp(argv[1], "strings"))
        return report_strings();
    program_path();
    program_path_below();
    numbers();
    states();
    gone_while_open();
    maps();
    paths();
    memory();
    strings();
    descriptors();
    privacy();
    system_files();
    parameters();
    sockets();
    users();
    all_processes();
    where_others_work();
    reading();
    refusals();
    return tap_done();
}
