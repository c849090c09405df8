// TAP
// RUN: --smp 1 -m 128M
// RUN: --smp 2 -m 256M
// SECONDS: 120
/*
 * One user takes all that can be had of each kind: memory, files, inodes, processes, pipes,
 * mappings, sections, names. Each call that is refused says why, nobody but the user's own
 * processes is killed, root can look, kill and remove meanwhile, and afterwards the user holds
 * nothing and every page is back. The self-check and the check for leaks at the end of the run
 * (--validate) make that exact. The limits that are small enough are tested at their edge.
 */
#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <secdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define UID       1000
#define PAGE      8192ul
#define WORKERS   6
#define LIMIT     40l /* at which limits that count things are tested */
#define BUS_FRAME ((1ul << 30) + 0x70000000ul / PAGE) /* of PCI memory without a device */

static char block[8 * PAGE];
static char room[64 * PAGE]; /* for another process, when the one that has it has ended */
static int report[2];        /* pipe by which attackers say that they are done, with a result */
static pid_t group;
#define GO (1u << 31)
static uint32_t *line; /* attackers that have what memory they need; GO: they may begin */

static struct mega_account account_of(unsigned uid)
{
    struct mega_account a;

    for (int64_t i = 0; mega$info(MEGA_INFO_ACCOUNT, i, &a, sizeof(a)) == SS$_NORMAL; i++)
        if (a.uid == uid)
            return a;
    return (struct mega_account){.uid = uid};
}

static void set_limit(const char *name, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0) != SS$_NORMAL)
        bail_out("%s cannot be set", name);
}

/* Run a command of root's, its output thrown away. */
static bool command(const char *path, const char *word, const char *another)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open("/dev/null", O_WRONLY);

        dup2(fd, 1);
        execl(path, path, word, another, NULL);
        _exit(126);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void root_works(const char *when)
{
    bool looks = command("/bin/show", "system", NULL) && command("/bin/show", "users", NULL);
    bool makes = mkdir("/tmp/root", 0700) == 0 && rmdir("/tmp/root") == 0;

    ok(looks && makes, "root looks and makes a directory: %s", when);
}

static void say(long result)
{
    if (write(report[1], &result, sizeof(result)) != sizeof(result))
        _exit(98);
}

/* Each attacker gets its memory before any of them begins; else the first to run could leave none
   to another, which would be killed and never report. */
static void line_up(void)
{
    memset(block, 'x', sizeof(block));
    __atomic_fetch_add(line, 1, __ATOMIC_RELEASE);
    while (!(__atomic_load_n(line, __ATOMIC_ACQUIRE) & GO))
        usleep(1000);
}

/* Start n processes of the user, in a group of their own, that run fn. */
static void attack(void (*fn)(void), unsigned n)
{
    group = 0;
    __atomic_store_n(line, 0, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid < 0)
            bail_out("root cannot fork");
        if (pid == 0) {
            setpgid(0, group);
            if (setgid(UID) != 0 || setuid(UID) != 0)
                _exit(97);
            line_up();
            fn();
            for (;;)
                pause();
        }
        setpgid(pid, group);
        if (!group)
            group = pid;
    }
    while (__atomic_load_n(line, __ATOMIC_ACQUIRE) < n)
        usleep(1000);
    __atomic_fetch_or(line, GO, __ATOMIC_RELEASE);
}

/* The next result that an attacker reports. */
static long result(void)
{
    long r = 0;

    return read(report[0], &r, sizeof(r)) == sizeof(r) ? r : -1;
}

/* Kill the attackers. Returns how many were killed before, or ended otherwise. */
static unsigned end_attack(void)
{
    unsigned gone = 0;
    int status;

    while (waitpid(-1, &status, WNOHANG) > 0)
        gone++;
    kill(-group, SIGKILL);
    while (waitpid(-1, &status, 0) > 0)
        ;
    while (kill(-group, SIGKILL) == 0) /* children without a parent, and those just made */
        usleep(1000);
    fcntl(report[0], F_SETFL, O_NONBLOCK);
    while (result() != -1) /* reports that nobody has asked for */
        ;
    fcntl(report[0], F_SETFL, 0);
    return gone;
}

/* Nothing is left of the user's. */
static void nothing_left(const char *after)
{
    struct mega_account a;
    bool left = true;

    for (unsigned look = 0; look < 1000 && left; look++) {
        a = account_of(UID);
        left = false;
        for (unsigned k = 0; k < MEGA_QUOTA_KINDS; k++)
            left |= a.used[k] != 0;
        if (left)
            usleep(1000);
    }
    for (unsigned k = 0; k < MEGA_QUOTA_KINDS && left; k++)
        if (a.used[k])
            diag("kind %u: %lu", k, (unsigned long)a.used[k]);
    ok(!left, "the user holds nothing after %s", after);
}

/* ---- attacks ---- */

static void fill_file(void)
{
    int fd = open("/tmp/hog", O_RDWR | O_CREAT, 0666);

    memset(block, 'x', sizeof(block));
    while (write(fd, block, sizeof(block)) > 0)
        ;
    say(errno);
}

static void fill_mapping(void)
{
    int fd = open("/tmp/hog", O_RDWR | O_CREAT, 0666);
    size_t n = 1ul << 30;
    char *p;

    ftruncate(fd, (off_t)n);
    p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (size_t i = 0; i < n; i += PAGE)
        p[i] = 1;
}

static void hog(void)
{
    size_t n = 1ul << 30;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);

    for (size_t i = 0; i < n; i += PAGE)
        p[i] = 1;
}

static void make_inodes(void)
{
    char name[40];
    long n = 0;

    for (; n < 10000; n++) {
        snprintf(name, sizeof(name), "/tmp/inodes/%ld", n);
        if ((n % 3 == 0   ? mkdir(name, 0700)
             : n % 3 == 1 ? symlink("/nowhere", name)
                          : close(open(name, O_CREAT | O_WRONLY, 0600))) != 0)
            break;
    }
    say(n);
    say(mkdir("/tmp/inodes/more", 0700) == 0 ? 0 : errno);
}

static void make_files(void)
{
    long n = 0;
    int p[2];

    while (n < 200 && pipe(p) == 0)
        n += 2;
    say(n);
    say(errno);
}

/* Every second byte of a file. A waiting process must not keep the superuser from killing it. */
static void make_locks(void)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open("/tmp/locks", O_RDWR | O_CREAT, 0600);

    while (fcntl(fd, F_SETLK, &l) == 0)
        l.l_start += 2;
    say(l.l_start / 2);
    say(errno);
    l.l_type = F_UNLCK;
    l.l_start = l.l_len = 0;
    say(fcntl(fd, F_SETLK, &l) == 0 ? 0 : errno);
    l.l_type = F_WRLCK;
    fcntl(fd, F_SETLK, &l);
    if (fork() == 0)
        fcntl(fd, F_SETLKW, &l);
}

static void make_segments(void)
{
    long n = 0;

    while (shmget(IPC_PRIVATE, 1, 0600) >= 0)
        n++;
    say(n);
    say(errno);
}

/* Sizes count, not pages that are used. */
static void make_large_segment(void)
{
    say(shmget(IPC_PRIVATE, (LIMIT + 1) * PAGE, 0600) < 0 ? errno : 0);
    say(shmget(IPC_PRIVATE, LIMIT * PAGE, 0600) < 0 ? errno : 0);
    say(shmget(IPC_PRIVATE, 1, 0600) < 0 ? errno : 0);
}

static void remove_segments(void)
{
    struct shm_info totals;
    struct shmid_ds ds;
    int highest = shmctl(0, SHM_INFO, (struct shmid_ds *)&totals);

    for (int n = 0; n <= highest; n++)
        shmctl(shmctl(n, SHM_STAT, &ds), IPC_RMID, NULL);
}

static void fill_pipes(void)
{
    int p[2];

    memset(block, 'x', sizeof(block));
    for (;;) {
        if (pipe(p) != 0)
            break;
        fcntl(p[1], F_SETFL, O_NONBLOCK);
        if (write(p[1], block, sizeof(block)) <= 0)
            break;
    }
    say(errno);
}

/* A bomb: each process forks until it cannot, and so do its children. */
static void bomb(void)
{
    for (;;) {
        pid_t pid = fork();

        if (pid < 0)
            break;
    }
    say(errno);
}

static void make_mappings(void)
{
    for (;;) {
        char *p = mmap(NULL, 64 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANON, -1, 0);

        if (p == MAP_FAILED)
            break;
        for (unsigned i = 0; i < 64; i += 2)
            if (mprotect(p + i * PAGE, PAGE, PROT_READ | PROT_WRITE) != 0)
                break;
    }
    say(errno);
}

static void make_sections(void)
{
    GENERIC_64 id = {.gen64$q_quadword = VA$C_P2};
    unsigned __int64 length;
    void *va;
    long n = 0;
    int status;

    do {
        char name[32];
        struct dsc$descriptor_s d = {0};

        snprintf(name, sizeof(name), "HOG_%d_%ld", (int)getpid(), n);
        d.dsc$w_length = (unsigned short)strlen(name);
        d.dsc$a_pointer = name;
        status = sys$crmpsc_gpfile_64(&d, 0, 0, PAGE, &id, 0, 0, SEC$M_EXPREG, &va, &length);
        n += status & 1;
    } while (status & 1);
    say(n);
    say(status);
}

/* Regions, until one is refused; then one less makes room for one more. */
static void make_regions(void)
{
    GENERIC_64 id, last = {{0}};
    unsigned __int64 length;
    void *va;
    long n = 0;
    int status;

    while ((status = sys$create_region_64(PAGE, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length)) &
           1) {
        last = id;
        n++;
    }
    (void)status_is(status, SS$_EXQUOTA);
    say(n);
    say(status);
    sys$delete_region_64(&last, 3, &va, &length);
    say(sys$create_region_64(PAGE, VA$C_REGION_UCREATE_UOWN, 0, &id, &va, &length));
    say(fork() < 0 ? errno : 0); /* it would have as many */
}

/* Mappings of one section, likewise. */
static void make_maps(void)
{
    static char name[] = "HOG_MAPPED";
    struct dsc$descriptor_s d = {sizeof(name) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
    GENERIC_64 id = {.gen64$q_quadword = VA$C_P2};
    unsigned __int64 length;
    void *va, *last = NULL;
    long n = 0;
    int status = sys$crmpsc_gpfile_64(&d, 0, 0, PAGE, &id, 0, 0, SEC$M_EXPREG, &va, &length);

    while (status & 1) {
        last = va;
        n++;
        status = sys$mgblsc_64(&d, 0, &id, 0, 0, 0, SEC$M_EXPREG, &va, &length);
    }
    (void)status_is(status, SS$_EXQUOTA);
    say(n);
    say(status);
    sys$deltva_64(&id, last, PAGE, 3, &va, &length);
    say(sys$mgblsc_64(&d, 0, &id, 0, 0, 0, SEC$M_EXPREG, &va, &length));
    say(fork() < 0 ? errno : 0); /* it would have as many */
}

/* Names of its process, as long as there is room. */
static void make_names(void)
{
    static char text[200];
    ILE3 items[] = {{sizeof(text), LNM$_STRING, text, NULL}, {0, 0, NULL, NULL}};
    long n = 0;
    int status;

    memset(text, 'x', sizeof(text));
    do {
        static char table[] = "LNM$PROCESS";
        struct dsc$descriptor_s t = {0}, d = {0};
        char name[32];

        t.dsc$a_pointer = table;
        t.dsc$w_length = (unsigned short)strlen(table);
        snprintf(name, sizeof(name), "HOG_%ld", n);
        d.dsc$w_length = (unsigned short)strlen(name);
        d.dsc$a_pointer = name;
        status = sys$crelnm(NULL, &t, &d, NULL, items);
        n += status & 1;
    } while (status & 1);
    say(status);
}

/* When the user has no page left, the process's end makes room for the next, which would else be
   killed while it starts. */
static void fill_file_and_more(void)
{
    memset(room, 'x', sizeof(room));
    fill_file();
}

/* ---- what must hold ---- */

static void test_file(void)
{
    attack(fill_file_and_more, 1);
    is(result(), ENOSPC, "a file that grows ends with ENOSPC");
    root_works("while /tmp is full");
    is(end_attack(), 0, "nobody was killed for it");
    attack(fill_file, 1);
    is(result(), ENOSPC, "and stays full");
    ok(command("/bin/rm", "/tmp/hog", NULL), "root removes the file");
    end_attack();
    nothing_left("a full /tmp");
}

static void test_mapping(void)
{
    int status;

    attack(fill_mapping, 1);
    ok(waitpid(group, &status, 0) == group && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS,
       "a file that grows by its mapping ends with SIGBUS (status %x)", status);
    ok(command("/bin/rm", "/tmp/hog", NULL), "root removes it");
    nothing_left("a mapping of a file");
}

static void test_root_file(void)
{
    int fd = open("/tmp/root_hog", O_RDWR | O_CREAT, 0600);

    memset(block, 'x', sizeof(block));
    while (write(fd, block, sizeof(block)) > 0)
        ;
    ok(errno == ENOSPC, "root's own file ends with ENOSPC too (error %d)", errno);
    root_works("after filling /tmp itself");
    close(fd);
    ok(command("/bin/rm", "/tmp/root_hog", NULL), "root removes it");
}

static void test_hogs(void)
{
    int status;

    attack(hog, WORKERS);
    for (unsigned i = 0; i < 2; i++)
        ok(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
           "a hog is killed (status %x)", status);
    root_works("beside hogs of memory");
    end_attack();
    nothing_left("hogs of memory");
}

/* Sections of each kind, by a process that has the rights and privileges for them: it has only the
 * real id of the user, who is charged. */
static void test_section_kinds(void)
{
    static char name[] = "HOG_KIND";
    struct dsc$descriptor_s d = {sizeof(name) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};
    long none[] = {0, 0, 0};
    int status;
    pid_t pid;

    set_limit("USER_SECTIONS", 0);
    pid = fork();
    if (pid == 0) {
        if (setreuid(UID, 0) != 0)
            _exit(97);
        none[0] = sys$create_gdzro(&d, 0, 0, PAGE, 0, 0);
        (void)status_is((int)none[0], SS$_EXQUOTA);
        none[1] = sys$create_gpfile(&d, 0, 0, PAGE, 0, 0);
        (void)status_is((int)none[1], SS$_EXQUOTA);
        none[2] = sys$create_gpfn(&d, 0, 0, BUS_FRAME, 1, 0, 0);
        (void)status_is((int)none[2], SS$_EXQUOTA);
        for (unsigned i = 0; i < 3; i++)
            say(none[i]);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    is(result(), SS$_EXQUOTA, "no memory-resident section");
    is(result(), SS$_EXQUOTA, "no section in the page file");
    is(result(), SS$_EXQUOTA, "no page-frame section");
    set_limit("USER_SECTIONS", -1);
}

/* The edge of what services make for a process, and fork copies. */
static void test_edge_of(const char *limit, const char *what, void (*fn)(void))
{
    set_limit(limit, LIMIT);
    attack(fn, 1);
    is(result(), LIMIT, "as many %s as %s says", what, limit);
    is(result(), SS$_EXQUOTA, "then SS$_EXQUOTA");
    is(result(), SS$_NORMAL, "and one more instead of one that is gone");
    is(result(), ENOMEM, "a fork, which would copy them, fails");
    root_works("beside them");
    end_attack();
    set_limit(limit, -1);
    nothing_left(what);
}

static void test_edges(void)
{
    static char name[] = "LNM$JOB";
    struct dsc$descriptor_s directory = {sizeof(name) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};

    mkdir("/tmp/inodes", 0777);
    chmod("/tmp/inodes", 0777);
    set_limit("USER_INODES", LIMIT);
    attack(make_inodes, 1);
    is(result(), LIMIT, "as many inodes as USER_INODES says");
    is(result(), ENOSPC, "then ENOSPC");
    root_works("while the user has no inodes left");
    end_attack();
    for (long n = 0; n < LIMIT; n++) {
        char name[40];

        snprintf(name, sizeof(name), "/tmp/inodes/%ld", n);
        if (n % 3 == 0 ? rmdir(name) : unlink(name))
            diag("%s is not removed", name);
    }
    rmdir("/tmp/inodes");
    set_limit("USER_INODES", -1);
    nothing_left("inodes");

    set_limit("USER_FILES", LIMIT);
    attack(make_files, 1);
    is(result(), LIMIT, "as many open files as USER_FILES says");
    is(result(), ENFILE, "then ENFILE");
    root_works("while the user can open nothing");
    end_attack();
    set_limit("USER_FILES", -1);

    set_limit("USER_LOCKS", LIMIT);
    attack(make_locks, 1);
    is(result(), LIMIT - 1, "as many locks as USER_LOCKS says, but one, which a change may need");
    is(result(), ENOLCK, "then ENOLCK");
    is(result(), 0, "all of a file can be unlocked at the limit");
    end_attack();
    unlink("/tmp/locks");
    set_limit("USER_LOCKS", -1);
    nothing_left("locks");

    set_limit("USER_IPC", LIMIT);
    attack(make_segments, 1);
    is(result(), LIMIT, "as many segments as USER_IPC says");
    is(result(), ENOSPC, "then ENOSPC");
    end_attack();
    remove_segments();
    set_limit("USER_IPC", -1);
    set_limit("USER_SHARED", LIMIT);
    attack(make_large_segment, 1);
    is(result(), ENOSPC, "a segment of more pages than USER_SHARED says is refused");
    is(result(), 0, "one of as many is not");
    is(result(), ENOSPC, "and one page more is too much");
    end_attack();
    remove_segments();
    set_limit("USER_SHARED", -1);
    nothing_left("segments");

    set_limit("USER_SECTIONS", LIMIT);
    attack(make_sections, 1);
    is(result(), LIMIT, "as many sections as USER_SECTIONS says");
    is(result(), SS$_EXQUOTA, "then SS$_EXQUOTA");
    end_attack();
    set_limit("USER_SECTIONS", -1);
    test_section_kinds();
    nothing_left("files and sections");

    test_edge_of("USER_REGIONS", "regions", make_regions);
    test_edge_of("USER_SECTION_MAPS", "mappings of a section", make_maps);

    sys$trnlnm(NULL, &directory, &directory, NULL, NULL); /* makes the table of the job: root's */
    set_limit("USER_PAGED", 1000 * LIMIT);
    attack(make_names, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        long r = result();

        ok(r == SS$_INSFMEM || r == SS$_EXLNMQUOTA, "names end with condition %ld", r);
    }
    ok(account_of(UID).used[MEGA_QUOTA_PAGED] <= 1000 * LIMIT &&
           account_of(UID).used[MEGA_QUOTA_PAGED] > 900 * LIMIT,
       "names fill what USER_PAGED says: %lu bytes",
       (unsigned long)account_of(UID).used[MEGA_QUOTA_PAGED]);
    root_works("beside names up to the limit");
    end_attack();
    set_limit("USER_PAGED", -1);
    nothing_left("names");

    set_limit("USER_PROCESSES", LIMIT);
    attack(bomb, 1);
    for (long i = 0; i < LIMIT; i++)
        if (result() != EAGAIN)
            diag("fork failed with another error");
    is(account_of(UID).used[MEGA_QUOTA_PROCESSES], LIMIT,
       "as many processes as USER_PROCESSES says");
    root_works("beside a bomb at its limit");
    end_attack();
    set_limit("USER_PROCESSES", -1);
    nothing_left("a bomb");
}

static void test_exhausted(void)
{
    long r;

    attack(bomb, WORKERS);
    r = result();
    ok(r == EAGAIN || r == ENOMEM, "a bomb stops with error %ld", r);
    for (unsigned i = 0; i < 3; i++)
        root_works("beside a bomb");
    end_attack();
    nothing_left("a bomb");

    attack(make_mappings, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++)
        if ((r = result()) != ENOMEM)
            diag("a mapping failed with error %ld", r);
    root_works("beside processes with all mappings");
    is(end_attack(), 0, "nobody was killed for mappings");
    nothing_left("mappings");

    attack(fill_pipes, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        r = result();
        ok(r == ENOMEM || r == EMFILE || r == ENFILE, "pipes end with error %ld", r);
    }
    root_works("beside full pipes");
    end_attack();
    nothing_left("pipes");
}

int main(void)
{
    line = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (line == MAP_FAILED || pipe(report) != 0)
        bail_out("no memory or no pipe");
    fcntl(report[0], F_SETFD, FD_CLOEXEC);
    fcntl(report[1], F_SETFD, FD_CLOEXEC);
    /* Fill the pipe once, so that all pages of its buffer are root's. */
    if (write(report[1], block, sizeof(block)) != sizeof(block) ||
        read(report[0], block, sizeof(block)) != sizeof(block))
        bail_out("a pipe does not take 64 KiB");
    root_works("before all"); /* and has read the programs */
    close(open("/tmp/root_hog", O_CREAT | O_WRONLY, 0600));
    command("/bin/rm", "/tmp/root_hog", NULL);
    test_file();
    test_mapping();
    test_root_file();
    test_hogs();
    test_edges();
    test_exhausted();
    return tap_done();
}
