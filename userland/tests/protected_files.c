// TAP
// RUN: --smp 1
/*
 * What one user can do with names and files of another: links to files, symbolic links in a sticky
 * directory, opening with O_CREAT, removing and renaming there, set-id bits, and what MEGA_SYS_INFO
 * tells of others. Each is tried by user 1000 (group 100) in a child, with files that root and user
 * 2000 have made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>

/* Run fn as the user in a child, whose exit status is the result of fn. */
static int as_user(uid_t uid, int (*fn)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (uid && (setgid(100) < 0 || setuid(uid) < 0))
            _exit(255);
        _exit(fn());
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static void make(const char *path, mode_t mode, uid_t uid)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    if (fd < 0 || write(fd, "secret", 6) != 6 || fchown(fd, uid, uid ? 100 : 0) < 0 ||
        fchmod(fd, mode) < 0)
        bail_out("%s: %s", path, strerror(errno));
    close(fd);
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static int try_link(const char *from) { return link(from, "/tmp/linked") < 0 ? errno : 0; }

static int link_private(void) { return try_link("/tmp/private"); }
static int link_readable(void) { return try_link("/tmp/readable"); }
static int link_shared(void) { return try_link("/tmp/shared"); }
static int link_setuid(void) { return try_link("/tmp/setuid"); }
static int link_device(void) { return try_link("/dev/null"); }
static int link_own(void)
{
    int fd = open("/tmp/own", O_CREAT | O_WRONLY, 0600), r;

    close(fd);
    r = try_link("/tmp/own");
    unlink("/tmp/own");
    return r;
}

static int follow(const char *path)
{
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int make_symlink(void)
{
    return symlink("/tmp/shared", "/tmp/of1000") < 0 || symlink("/", "/tmp/dir1000") < 0 ? errno
                                                                                         : 0;
}
static int follow_other(void) { return follow("/tmp/of1000"); }
static int follow_middle(void) { return follow("/tmp/dir1000/bin/true"); }
static int follow_of_root(void) { return follow("/tmp/of0"); }

static int create(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_NONBLOCK, 0666);

    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

static int make_of1000(void)
{
    int r = create("/tmp/of1000");

    if (!r && (chmod("/tmp/of1000", 0666) < 0 || mkfifo("/tmp/fifo1000", 0666) < 0 ||
               chmod("/tmp/fifo1000", 0666) < 0))
        r = errno;
    return r;
}
static int create_other(void) { return create("/tmp/of1000"); }
static int create_of_root(void) { return create("/tmp/shared"); }
static int create_fifo(void) { return create("/tmp/fifo1000"); }
static int open_other(void)
{
    int fd = open("/tmp/of1000", O_WRONLY);

    close(fd);
    return fd < 0 ? errno : 0;
}

static int remove_other(void) { return unlink("/tmp/shared") < 0 ? errno : 0; }
static int rename_other(void) { return rename("/tmp/shared", "/tmp/mine") < 0 ? errno : 0; }
static int replace_other(void)
{
    int r;

    close(open("/tmp/mine", O_CREAT | O_WRONLY, 0600));
    r = rename("/tmp/mine", "/tmp/shared") < 0 ? errno : 0;
    unlink("/tmp/mine");
    return r;
}

static int move_directory(void)
{
    return rename("/tmp/open/theirs", "/tmp/open/2/theirs") < 0 ? errno : 0;
}

static int write_it(void)
{
    int fd = open("/tmp/setuid", O_WRONLY), r = fd < 0 || write(fd, "x", 1) != 1;

    close(fd);
    return r;
}

static int set_group_bit(void)
{
    struct stat st;

    close(open("/tmp/mine", O_CREAT | O_WRONLY, 0600));
    if (chmod("/tmp/mine", 02755) < 0 || stat("/tmp/mine", &st) < 0)
        return errno;
    unlink("/tmp/mine");
    return (st.st_mode & S_ISGID) != 0; /* its group is 100, the caller's own */
}

static int chmod_other_group(void) { return chmod("/tmp/group", 02755) < 0 ? errno : 0; }

static int sees_no_places(void)
{
    struct mega_reserved r;
    struct mega_rad rad;
    struct mega_pci pci;
    int bad = 0;

    for (int i = 0; mega$info(MEGA_INFO_RESERVED, i, &r, sizeof(r)) == SS$_NORMAL; i++)
        bad |= r.first_pfn || r.pt_first_pfn;
    if (mega$info(MEGA_INFO_RAD, 0, &rad, sizeof(rad)) != SS$_NORMAL || !rad.total)
        bad |= 2;
    bad |= rad.first_pfn || rad.end_pfn ? 4 : 0;
    for (int i = 0; mega$info(MEGA_INFO_PCI, i, &pci, sizeof(pci)) == SS$_NORMAL; i++)
        for (int k = 0; k < 6; k++)
            bad |= pci.bar[k] ? 8 : 0;
    return bad;
}

static int sees_little_of_root(void)
{
    struct mega_process m;

    if (mega$info(MEGA_INFO_PROCESS, 0, &m, sizeof(m)) != SS$_NORMAL || m.pid != 1)
        return 1;
    return m.privileges || m.authorised || m.rights || m.vsize || m.pt_pages || !m.name[0] ? 2 : 0;
}

static int sees_itself(void)
{
    struct mega_process m;

    return mega$info(MEGA_INFO_PROCESS, -1, &m, sizeof(m)) == SS$_NORMAL && m.vsize ? 0 : 1;
}

static int root_sees_all(void)
{
    struct mega_process m;
    struct mega_rad rad;

    return mega$info(MEGA_INFO_PROCESS, 0, &m, sizeof(m)) == SS$_NORMAL && m.vsize &&
                   mega$info(MEGA_INFO_RAD, 0, &rad, sizeof(rad)) == SS$_NORMAL && rad.end_pfn
               ? 0
               : 1;
}

static void links(void)
{
    make("/tmp/private", 0600, 0);
    make("/tmp/readable", 0644, 0);
    make("/tmp/shared", 0666, 0);
    make("/tmp/setuid", 04777, 0);
    is(as_user(1000, link_private), EPERM, "no link to root's private file");
    is(as_user(1000, link_readable), EPERM, "nor to one that can only be read");
    is(as_user(1000, link_device), EPERM, "nor to a device");
    is(as_user(1000, link_setuid), EPERM, "nor to a set-uid program");
    is(as_user(1000, link_shared), 0, "a link to one that everybody may write");
    unlink("/tmp/linked"); /* in a sticky directory the user cannot remove it */
    is(as_user(1000, link_own), 0, "and to one's own");
    unlink("/tmp/linked");
    is(as_user(0, link_private), 0, "root links as it likes");
    unlink("/tmp/linked");
}

static void symbolic_links(void)
{
    is(as_user(1000, make_symlink), 0, "user 1000 makes symbolic links in /tmp");
    is(symlink("/tmp/shared", "/tmp/of0"), 0, "so does root");
    is(as_user(1000, follow_other), 0, "their owner follows them");
    is(as_user(2000, follow_other), EACCES, "another user does not");
    is(as_user(0, follow_other), EACCES, "nor does root");
    is(as_user(2000, follow_middle), EACCES, "not in the middle of a path either");
    is(as_user(2000, follow_of_root), 0, "those of the directory's owner are followed by all");
    unlink("/tmp/of1000");
    unlink("/tmp/dir1000");
    unlink("/tmp/of0");
}

static void created_files(void)
{
    is(as_user(1000, make_of1000), 0, "user 1000 creates a file that all may write, and a FIFO");
    is(as_user(1000, create_other), 0, "and opens the file again with O_CREAT");
    is(as_user(1000, create_fifo), ENXIO, "and the FIFO, which nobody reads");
    is(as_user(2000, create_other), EACCES, "in /tmp another user does not with O_CREAT");
    is(as_user(0, create_other), EACCES, "nor does root");
    is(as_user(2000, create_fifo), EACCES, "nor the FIFO");
    is(as_user(2000, open_other), 0, "without O_CREAT it does");
    is(as_user(2000, create_of_root), 0, "with O_CREAT if it is of the directory's owner");
    chmod("/tmp", 0777);
    is(as_user(2000, create_other), 0, "and in a directory that is not sticky");
    chmod("/tmp", 01755);
    is(as_user(2000, create_other), 0, "or in which others create nothing");
    chmod("/tmp", 01777);
    unlink("/tmp/of1000");
    unlink("/tmp/fifo1000");
}

static void names(void)
{
    is(as_user(1000, remove_other), EPERM, "in /tmp nobody removes another user's file");
    is(as_user(1000, rename_other), EPERM, "nor renames it");
    is(as_user(1000, replace_other), EPERM, "nor replaces it");
    mkdir("/tmp/open", 0777);
    chmod("/tmp/open", 0777);
    mkdir("/tmp/open/2", 0777);
    chmod("/tmp/open/2", 0777);
    mkdir("/tmp/open/theirs", 0755);
    is(as_user(1000, move_directory), EACCES, "a directory moves only if its .. may be written");
    rmdir("/tmp/open/theirs");
    rmdir("/tmp/open/2");
    rmdir("/tmp/open");
}

static void set_id_bits(void)
{
    is(as_user(1000, write_it), 0, "user 1000 writes a set-uid program that all may write");
    is(mode_of("/tmp/setuid"), 0777, "which is set-uid no more");
    chmod("/tmp/setuid", 06755);
    is(chown("/tmp/setuid", 2000, 100), 0, "root gives a set-id program away");
    is(mode_of("/tmp/setuid"), 0755, "it is set-id no more");
    chmod("/tmp/setuid", 04755);
    is(truncate("/tmp/setuid", 3), 0, "a set-uid program is truncated");
    is(mode_of("/tmp/setuid"), 0755, "it is set-uid no more");
    is(as_user(1000, set_group_bit), 1, "the owner of a file sets its set-gid bit");
    make("/tmp/group", 0644, 0);
    chown("/tmp/group", 1000, 0);
    is(as_user(1000, chmod_other_group), 0, "but not that of a group");
    is(mode_of("/tmp/group"), 0755, "to which the user does not belong");
    unlink("/tmp/group");
}

/* An end of root's pipe, to be opened for the other direction. */
static int ends[2];
static int open_other_end(void)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[1]);
    return open(path, O_RDONLY | O_NONBLOCK) >= 0 ? 0 : errno;
}

static void pipes(void)
{
    if (pipe(ends) != 0)
        bail_out("no pipe");
    is(as_user(1000, open_other_end), EACCES, "who may write into a pipe of root does not read it");
    is(as_user(0, open_other_end), 0, "but root does");
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    pipes();
    links();
    symbolic_links();
    created_files();
    names();
    set_id_bits();
    is(as_user(1000, sees_no_places), 0, "a user sees no physical places");
    is(as_user(1000, sees_little_of_root), 0, "of root's process only what show system lists");
    is(as_user(1000, sees_itself), 0, "of its own process everything");
    is(as_user(0, root_sees_all), 0, "root sees all");
    unlink("/tmp/private");
    unlink("/tmp/readable");
    unlink("/tmp/shared");
    unlink("/tmp/setuid");
    return tap_done();
}
