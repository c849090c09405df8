/* Processes: fork, exec, exit, kill; pipes and files; queries about processes and the system. */
#include "walk.h"

#include <fcntl.h>
#include <iledef.h>
#include <jpidef.h>
#include <lnmdef.h>
#include <sched.h>
#include <signal.h>
#include <syidef.h>
#include <sys/wait.h>

static void step_of_child(void)
{
    static void (*const ops[])(void) = {op_touch,       op_touch,  op_touch,     op_mmap,
                                        op_map_section, op_munmap, op_delete_va, op_create_va,
                                        op_protect,     op_lock,   op_mprotect,  op_delete_region};

    ops[draw(sizeof(ops) / sizeof(ops[0]))]();
}

/* A child inherits all mappings, uses them, and ends in one of several ways. */
static __attribute__((noreturn)) void child_life(void)
{
    self.child = true;
    self.state ^= 0xC0FFEEul << 20;
    self.next_tag += 0x8000;
    for (uint64_t n = draw(24); n > 0; n--)
        step_of_child();
    switch (draw(4)) {
    case 0:
        kill(getpid(), SIGKILL);
        break;
    case 1:
        execl(self_path, self_path, "--after-exec", (char *)NULL);
        wrong("execl: %s", strerror(errno));
    case 2:
        if (all->turns) /* the kernel would print a line, which takes host time */
            break;
        *(volatile int *)0 = 0;
    }
    _exit(0);
}

/* Check that the child ended in one of the expected ways. */
static void look_at(int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if ((WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
        (sig && sig != SIGKILL && sig != SIGSEGV && sig != SIGBUS))
        wrong("a child ended with status %#x", (unsigned)status);
}

void op_fork(void)
{
    uint64_t wait_us = draw(3) ? 0 : draw(4000);
    pid_t pid = fork();
    int status;

    if (pid == 0)
        child_life();
    /* With turns the child's operations come first: it ends before anything else is recorded. */
    if (pid < 0 || !all->turns)
        note(20, pid < 0 ? (uint64_t)errno : 0);
    if (pid < 0) {
        if (errno != EAGAIN && errno != ENOMEM)
            wrong("fork: %s", strerror(errno));
        return;
    }
    __atomic_fetch_add(&all->children, 1, __ATOMIC_RELAXED);
    if (all->turns) {
        /* The child's operations are finished before anything else is done. */
    } else if (wait_us) { /* the child is killed while it does something */
        nap_us((long)wait_us);
        kill(pid, SIGKILL);
    } else if (draw(2)) {
        op_touch(); /* concurrently with the child: copies on write */
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            wrong("waitpid: %s", strerror(errno));
    look_at(status);
    if (all->turns)
        note(20, 0);
}

/* Replaces the walker's image. The program that is executed ends, and the master then starts a new
   walker in the slot. */
void op_exec(void)
{
    if (self.child || draw(8))
        return;
    note(21, 0);
    execl(self_path, self_path, "--after-exec", (char *)NULL);
    wrong("execl: %s", strerror(errno));
}

int after_exec(void)
{
    char *p = malloc(50 * PAGE);

    if (!p)
        return 0;
    memset(p, 1, 50 * PAGE);
    return p[17 * PAGE] == 1 ? 0 : FAILED;
}

void op_kill(void)
{
    unsigned slot = (unsigned)draw(WALKERS_MAX);
    pid_t pid = draw(6) ? 0 : __atomic_load_n(&all->pids[slot], __ATOMIC_RELAXED);

    note(22, 0);
    if (pid > 0 && pid != getpid() && kill(pid, SIGKILL) == 0) {
        __atomic_fetch_or(&all->dying, 1u << slot, __ATOMIC_RELAXED);
        __atomic_fetch_add(&all->killed, 1, __ATOMIC_RELAXED);
    }
}

void op_end(void)
{
    if (draw(12))
        return;
    note(23, 0);
    if (draw(2))
        _exit(0);
    kill(getpid(), SIGKILL);
}

void op_pipe(void)
{
    char out[PAGE], in[PAGE];
    size_t n = 1 + draw(sizeof(out));
    int fd[2];

    note(24, 0);
    if (pipe(fd) != 0)
        return;
    memset(out, (int)self.slot + 1, n);
    for (unsigned i = 0; i < 6; i++) {
        ssize_t written = write(fd[1], out, n), got = -1;

        if (written < 0 && errno == ENOMEM)
            break; /* all memory that is left is promised */
        if (i == 5 && written == (ssize_t)n)
            break; /* its contents are freed with it */
        if (written == (ssize_t)n)
            got = read(fd[0], in, n);
        if (got != (ssize_t)n || memcmp(in, out, n) != 0)
            wrong("a pipe takes %zd of %zu bytes and gives %zd: %m", written, n, got);
    }
    close(fd[0]);
    if (draw(2))
        close(fd[1]); /* otherwise the end of the process closes it */
}

void op_file(void)
{
    uint64_t pages = 1 + draw(12), page;
    char name[40], *p;
    int fd;

    snprintf(name, sizeof(name), "/tmp/walk.%d", getpid());
    fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    note(25, fd < 0 ? (uint64_t)errno : 0);
    if (fd < 0)
        return;
    unlink(name); /* the descriptor and the mapping keep the file */
    for (uint64_t i = 0; i < pages; i++) {
        page = i ^ (uint64_t)fd << 32;
        if (pwrite(fd, &page, sizeof(page), (off_t)(i * PAGE)) != sizeof(page))
            goto out; /* there is not enough memory */
    }
    p = mmap(NULL, pages * PAGE, RW, draw(2) ? MAP_SHARED : MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        goto out;
    for (uint64_t i = 0; i < pages - 1; i++) {
        if (*(uint64_t *)(p + i * PAGE) != (i ^ (uint64_t)fd << 32))
            wrong("page %lu of a file is not its own", (unsigned long)i);
        *(uint64_t *)(p + i * PAGE + 8) = 1;
    }
    if (draw(2) && ftruncate(fd, (off_t)(PAGE * draw(pages))) != 0)
        wrong("ftruncate: %s", strerror(errno));
    if (draw(2))
        munmap(p, pages * PAGE);
out:
    close(fd);
}

void op_information(void)
{
    uint32_t pid = 0, gblpages = 0;
    ILE3 of_job[] = {{sizeof(pid), JPI$_PID, &pid, NULL}, {0, 0, NULL, NULL}};
    ILE3 of_system[] = {{sizeof(gblpages), SYI$_GBLPAGES, &gblpages, NULL}, {0, 0, NULL, NULL}};
    struct mega_process p;
    struct mega_memory m;
    struct mega_section s;

    note(26, 0);
    if (sys$getjpiw(0, NULL, NULL, of_job, NULL, NULL, 0) != SS$_NORMAL ||
        pid != (uint32_t)getpid())
        wrong("$getjpi says %u", pid);
    if (sys$getsyiw(0, NULL, NULL, of_system, NULL, NULL, 0) != SS$_NORMAL || gblpages == 0)
        wrong("$getsyi says %u", gblpages);
    if (mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) != SS$_NORMAL ||
        p.pid != (uint32_t)getpid())
        wrong("the system does not know who we are");
    if (mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) != SS$_NORMAL || m.free > m.total)
        wrong("%lu free pages of %lu", (unsigned long)m.free, (unsigned long)m.total);
    for (int64_t i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        if (s.gh_errors)
            wrong("section %s has %lu wrong hints", s.name, (unsigned long)s.gh_errors);
}

/* ---- logical names ---- */

static const char *const tables[] = {"LNM$PROCESS", "LNM$GROUP", "LNM$SYSTEM"};
static const char *const logical[] = {"WALK_L0", "WALK_L1", "WALK_L2"};

static struct dsc$descriptor_s text(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

/* Every process that defines a name gives it the name of its table as the value. */
void op_logical(void)
{
    static const int errors[] = {SS$_NOLOGNAM, SS$_EXLNMQUOTA, SS$_INSFMEM, 0};
    const char *in = tables[draw(3)];
    struct dsc$descriptor_s table = text(in), name = text(logical[draw(3)]);
    unsigned short got = 0;
    char found[32] = "";
    ILE3 define[] = {{(unsigned short)strlen(in), LNM$_STRING, (void *)in, NULL},
                     {0, 0, NULL, NULL}};
    ILE3 ask[] = {{sizeof(found), LNM$_STRING, found, &got}, {0, 0, NULL, NULL}};
    unsigned operation = (unsigned)draw(3);
    int status = operation == 0   ? sys$crelnm(NULL, &table, &name, NULL, define)
                 : operation == 1 ? sys$dellnm(&table, &name, NULL)
                                  : sys$trnlnm(NULL, &table, &name, NULL, ask);

    note(33, (uint64_t)status);
    if (expected("$crelnm, $dellnm or $trnlnm", status, errors) && operation == 2 &&
        (got != strlen(in) || memcmp(found, in, got) != 0))
        wrong("a logical name of %s stands for '%.*s'", in, got, found);
}

void logical_delete(void)
{
    for (unsigned t = 0; t < 3; t++)
        for (unsigned n = 0; n < 3; n++) {
            struct dsc$descriptor_s table = text(tables[t]), name = text(logical[n]);

            sys$dellnm(&table, &name, NULL);
        }
}

/* Runs the self-check during the walk. */
void op_check(void)
{
    struct mega_validate v;
    int status;

    if (draw(6))
        return;
    status = mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v));
    note(27, (uint64_t)status);
    if (status == SS$_INSFMEM)
        return;
    if (status != SS$_NORMAL || v.timed_out || v.errors)
        wrong("status %d, %lu errors: %.120s", status, (unsigned long)v.errors, v.text);
    __atomic_fetch_add(&all->checks, 1, __ATOMIC_RELAXED);
}
