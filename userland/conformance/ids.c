/* User and group ids, supplementary groups and capabilities: setuid(2), setreuid(2), setresuid(2),
 * setfsuid(2), setgroups(2), kill(2), access(2). Each group of cases runs in a child of its own. */
#include "conformance.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

static void show_users(const char *name)
{
    uid_t r, e, s;

    getresuid(&r, &e, &s);
    TEXT(name, "%d %d %d fs %d", (int)r, (int)e, (int)s, setfsuid((uid_t)-1));
}

static void show_groups(const char *name)
{
    gid_t r, e, s;

    getresgid(&r, &e, &s);
    TEXT(name, "%d %d %d fs %d", (int)r, (int)e, (int)s, setfsgid((gid_t)-1));
}

static void root_setuid(void)
{
    CASE_AS("root: setuid(-1)", setuid((uid_t)-1));
    CASE_AS("root: setuid(1001)", setuid(1001));
    show_users("root: ids after setuid(1001)");
    CASE_AS("root: setuid(0) after that", setuid(0));
    CASE_AS("root: setuid(1001) again", setuid(1001));
    CASE_AS("root: seteuid(0) after that", seteuid(0));
}

static void root_seteuid(void)
{
    CASE_AS("seteuid(65534)", seteuid(65534));
    show_users("ids after seteuid(65534)");
    CASE_AS("as 65534: setuid(1000)", setuid(1000));
    CASE_AS("as 65534: setgroups", setgroups(0, NULL));
    CASE_AS("as 65534: setgid(5)", setgid(5));
    CASE_AS("as 65534: open of root's file", open("ids.secret", O_RDONLY));
    CASE_AS("as 65534: access of root's file, by the real id", access("ids.secret", R_OK));
    CASE_AS("as 65534: eaccess", eaccess("ids.secret", R_OK));
    CASE_AS("seteuid(0) back", seteuid(0));
    show_users("ids after seteuid(0)");
    CASE_AS("open of root's file again", open("ids.secret", O_RDONLY) < 0 ? -1 : 0);
    CASE_AS("seteuid(1001)", seteuid(1001));
    CASE_AS("as 1001: setuid(0)", setuid(0));
    show_users("ids after setuid(0) as 1001");
}

static void two_users(void)
{
    CASE_AS("setreuid(1001, 1002)", setreuid(1001, 1002));
    show_users("ids after setreuid(1001, 1002)");
    CASE_AS("setreuid swaps", setreuid(1002, 1001));
    show_users("ids after a swap");
    CASE_AS("setreuid(0, -1)", setreuid(0, (uid_t)-1));
    CASE_AS("setreuid(-1, 1003)", setreuid((uid_t)-1, 1003));
    CASE_AS("setreuid(-1, -1)", setreuid((uid_t)-1, (uid_t)-1));
    CASE_AS("setreuid(1001, 1001)", setreuid(1001, 1001));
    show_users("ids after setreuid(1001, 1001)");
}

static void saved_user(void)
{
    CASE_AS("setreuid(-1, 1002) as root", setreuid((uid_t)-1, 1002));
    show_users("ids after setreuid(-1, 1002)");
    CASE_AS("setreuid(0, 0) back", setreuid(0, 0));
    show_users("ids after setreuid(0, 0)");
    CASE_AS("setreuid(1002, -1) as root", setreuid(1002, (uid_t)-1));
    show_users("ids after setreuid(1002, -1)");
}

static void three_users(void)
{
    CASE_AS("setresuid(1001, 1002, 1003)", setresuid(1001, 1002, 1003));
    show_users("ids after setresuid(1001, 1002, 1003)");
    CASE_AS("setresuid(1004, -1, -1)", setresuid(1004, (uid_t)-1, (uid_t)-1));
    CASE_AS("setresuid(-1, 1003, 1001)", setresuid((uid_t)-1, 1003, 1001));
    show_users("ids after setresuid(-1, 1003, 1001)");
    CASE_AS("setuid(1001) of a user", setuid(1001));
    show_users("ids after setuid(1001) of a user");
    CASE_AS("setresuid(-1, -1, -1)", setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
    CASE_AS("getresuid, bad address", syscall(SYS_getresuid, 8, 8, 8));
}

static void fs_user(void)
{
    CASE_AS("setfsuid(1001)", setfsuid(1001));
    CASE_AS("setfsuid(1002)", setfsuid(1002));
    show_users("ids after setfsuid(1002)");
    CASE_AS("open of root's file with another fs id", open("ids.secret", O_RDONLY));
    CASE_AS("seteuid(0), which sets it back", seteuid(0));
    show_users("ids after seteuid(0) sets it back");
    CASE_AS("setresuid(1001, 1002, 1003) for fs", setresuid(1001, 1002, 1003));
    CASE_AS("setfsuid(1003), saved", setfsuid(1003));
    CASE_AS("setfsuid(1005), not allowed", setfsuid(1005));
    show_users("ids after setfsuid(1005)");
}

static void group_ids(void)
{
    CASE_AS("setgid(-1)", setgid((gid_t)-1));
    CASE_AS("setresgid(1001, 1002, 1003)", setresgid(1001, 1002, 1003));
    show_groups("groups after setresgid");
    CASE_AS("setregid(-1, 1004)", setregid((gid_t)-1, 1004));
    show_groups("groups after setregid(-1, 1004)");
    CASE_AS("setegid(1001)", setegid(1001));
    show_groups("groups after setegid(1001)");
    CASE_AS("setfsgid(7)", setfsgid(7));
    show_groups("groups after setfsgid(7)");
    setuid(1001);
    CASE_AS("user: setgid(1004), saved", setgid(1004));
    show_groups("groups after setgid(1004) of a user");
    CASE_AS("user: setgid(0)", setgid(0));
    CASE_AS("user: setregid(1004, 1001)", setregid(1004, 1001));
    show_groups("groups after setregid of a user");
    CASE_AS("user: setregid(1005, -1)", setregid(1005, (gid_t)-1));
    CASE_AS("user: setresgid(1001, 1001, 0)", setresgid(1001, 1001, 0));
}

static void more_groups(void)
{
    gid_t list[33] = {300, 100, 200}, back[33] = {0};
    int n;

    CASE_AS("setgroups, three", setgroups(3, list));
    CASE_AS("getgroups, how many", getgroups(0, NULL));
    CASE_AS("getgroups, too little room", getgroups(2, back));
    CASE_AS("getgroups, negative", getgroups(-1, back));
    CASE_AS("getgroups, bad address", getgroups(3, (gid_t *)8));
    n = getgroups(33, back);
    TEXT("getgroups", "%d: %d %d %d", n, (int)back[0], (int)back[1], (int)back[2]);
    CASE_AS("setgroups, bad address", setgroups(3, (gid_t *)8));
    CASE_AS("setgroups, more than a system has", setgroups(65537, list));
    CASE_AS("setgroups, 32", setgroups(32, list));
    CASE_AS("setgroups, three again", setgroups(3, list));
    setgid(1000);
    setuid(1000);
    CASE_AS("user: setgroups", setgroups(0, NULL));
    CASE_AS("user: getgroups", getgroups(0, NULL));
    CASE_AS("user: file of a supplementary group", open("ids.group", O_RDONLY) < 0 ? -1 : 0);
    CASE_AS("user: file of another group", open("ids.other", O_RDONLY) < 0 ? -1 : 0);
    CASE_AS("user: chmod of root's file", chmod("ids.secret", 0644));
    if (fork() == 0) {
        CASE_AS("user: file of a supplementary group, in a child",
                open("ids.group", O_RDONLY) < 0 ? -1 : 0);
        _exit(0);
    }
    wait(NULL);
}

static pid_t sleeper(uid_t real, uid_t eff, uid_t saved)
{
    int ready[2];
    pid_t pid;
    char byte;

    if (pipe(ready))
        _exit(9);
    pid = fork();
    if (pid == 0) {
        if (setresuid(real, eff, saved) || write(ready[1], "x", 1) != 1)
            _exit(9);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        _exit(9);
    return pid;
}

static pid_t target_real, target_saved, target_eff, target_other;

static void killing(void)
{
    setresuid(1001, 1001, 1001);
    CASE_AS("kill: the real user is ours", kill(target_real, 0));
    CASE_AS("kill: the saved user is ours", kill(target_saved, 0));
    CASE_AS("kill: only the effective user is ours", kill(target_eff, 0));
    CASE_AS("kill: another user", kill(target_other, 0));
    CASE_AS("kill: root", kill(getppid(), 0));
    CASE_AS("kill: SIGCONT in the same session", kill(target_other, SIGCONT));
    CASE_AS("setpriority of another user's process",
            setpriority(PRIO_PROCESS, (id_t)target_other, 5));
}

static void kill_all(void)
{
    target_real = sleeper(1001, 1002, 1002);
    target_saved = sleeper(1002, 1002, 1001);
    target_eff = sleeper(1002, 1001, 1002);
    target_other = sleeper(1002, 1002, 1002);
    in_child("killing as 1001", killing);
    kill(target_real, SIGKILL);
    kill(target_saved, SIGKILL);
    kill(target_eff, SIGKILL);
    kill(target_other, SIGKILL);
}

static void make(const char *path, mode_t mode, gid_t gid)
{
    int fd = open(path, O_WRONLY | O_CREAT, mode);

    if (fd < 0 || fchown(fd, 0, gid) || fchmod(fd, mode))
        exit(1);
    close(fd);
}

int main(void)
{
    cases_begin();
    umask(022);
    make("ids.secret", 0600, 0);
    make("ids.group", 0040, 200);
    make("ids.other", 0040, 201);
    setgroups(0, NULL);
    show_users("ids at the start");
    CASE_AS("getgroups at the start", getgroups(0, NULL));
    in_child("root_setuid", root_setuid);
    in_child("root_seteuid", root_seteuid);
    in_child("two_users", two_users);
    in_child("saved_user", saved_user);
    in_child("three_users", three_users);
    in_child("fs_user", fs_user);
    in_child("group_ids", group_ids);
    in_child("more_groups", more_groups);
    in_child("kill_all", kill_all);
    unlink("ids.secret");
    unlink("ids.group");
    unlink("ids.other");
    return 0;
}
