/*
 * The guest's part of the model tests (tests/test_model.py). Reads commands from standard input,
 * one per line, and answers each with one line. "K COMMAND ..." is executed by process K, a line
 * without a number by this program. The program does not know what results are expected.
 *
 *     reset                         end the processes, delete all sections, start four new
 *                                   processes
 *     sections                      name:group:pages of each section that has a name
 *     K create_region LENGTH PROT FLAGS START      and other services: see commands[]
 *     K fork J                      process K forks; the child becomes process J
 *     K exit                        process K exits
 *
 * Numbers are hexadecimal; - is the empty name. The first number of an answer is the condition
 * value; outputs follow it.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <megalith/creds.h>
#include <secdef.h>
#include <setjmp.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <vadef.h>

#define PROCESSES 4
#define WORDS     12
#define LINE      400
#define ALL                                                                                   \
    (PRV$M_CMKRNL | PRV$M_SYSNAM | PRV$M_GRPNAM | PRV$M_GROUP | PRV$M_PSWAPM | PRV$M_SETPRV | \
     PRV$M_WORLD | PRV$M_PRMGBL | PRV$M_SYSGBL | PRV$M_PFNMAP | PRV$M_SYSPRV | PRV$M_BYPASS)

static const struct mega_creds who[PROCESSES] = {
    {1, 4, ALL, ALL, MEGA_RIGHTS_ALL},
    {0200, 1, PRV$M_PRMGBL | PRV$M_CMKRNL, ALL, MEGA_RIGHTS_ALL},
    {0200, 2, 0, 0, 0},
    {0300, 1, PRV$M_SYSGBL | PRV$M_PRMGBL, PRV$M_SYSGBL | PRV$M_PRMGBL, MEGA_RIGHTS_ALL},
};

/* Pipes to process K, and from it. */
static int to[PROCESSES][2], from[PROCESSES][2];
static pid_t pids[PROCESSES];

static char *word[WORDS];

static uint64_t number(unsigned i) { return word[i] ? strtoul(word[i], NULL, 16) : 0; }

static unsigned split(char *line)
{
    unsigned n = 0;

    for (char *w = strtok(line, " \n"); w && n < WORDS; w = strtok(NULL, " \n"))
        word[n++] = w;
    for (unsigned i = n; i < WORDS; i++)
        word[i] = NULL;
    return n;
}

/* ---- services ---- */

static void *va;
static unsigned __int64 length;
static struct _generic_64 id;
static struct dsc$descriptor_s name;

static void *address(uint64_t a) { return (void *)a; }

static void *section_name(unsigned i)
{
    const char *s = word[i] && strcmp(word[i], "-") != 0 ? word[i] : "";

    name = (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
    return &name;
}

static struct _generic_64 *region(unsigned i)
{
    id = (struct _generic_64){.gen64$q_quadword = (__int64)number(i)};
    return &id;
}

static void range(int status)
{
    printf("%x %lx %lx\n", status, (unsigned long)va, (unsigned long)length);
}

static void create_region(void)
{
    int status = sys$create_region_64(number(0), (unsigned)number(1), (unsigned)number(2), &id, &va,
                                      &length, address(number(3)));

    printf("%x %lx %lx %lx\n", status, (unsigned long)id.gen64$q_quadword, (unsigned long)va,
           (unsigned long)length);
}

static void delete_region(void) { range(sys$delete_region_64(region(0), 3, &va, &length)); }

static void region_info(void)
{
    REGSUM sum = {0};
    int status = sys$get_region_info(VA$_REGSUM_BY_ID, region(0), NULL, NULL, sizeof(sum), &sum,
                                     &length);

    printf("%x %x %lx %lx %lx\n", status, sum.va$l_flags, (unsigned long)sum.va$pq_start_va,
           (unsigned long)sum.va$q_region_size, (unsigned long)sum.va$pq_first_free_va);
}

static struct _secid *ident(unsigned control, unsigned version)
{
    static struct _secid secid;

    secid = (struct _secid){.secid$l_match = (unsigned)number(control),
                            .secid$l_version = (unsigned)number(version)};
    return &secid;
}

static void create_gdzro(void)
{
    unsigned __int64 reserved = 0;
    int status = sys$create_gdzro(section_name(0), ident(4, 5), (unsigned)number(3), number(2), 3,
                                  (unsigned)number(1), &reserved);

    printf("%x %lx\n", status, (unsigned long)reserved);
}

static void crmpsc(void)
{
    range(sys$crmpsc_gdzro_64(section_name(0), ident(8, 9), (unsigned)number(3), number(2),
                              region(4), number(5), 3, (unsigned)number(1), &va, &length,
                              address(number(6)), number(7)));
}

static void mgblsc(void)
{
    range(sys$mgblsc_64(section_name(0), ident(6, 7), region(2), number(3), number(4), 3,
                        (unsigned)number(1), &va, &length, address(number(5))));
}

static void dgblsc(void)
{
    printf("%x\n", sys$dgblsc((unsigned)number(1), section_name(0), ident(2, 3)));
}

static void deltva(void)
{
    range(sys$deltva_64(region(0), address(number(1)), number(2), 3, &va, &length));
}

static void cretva(void)
{
    range(sys$cretva_64(region(0), address(number(1)), number(2), 3, (unsigned)number(3), &va,
                        &length));
}

static void expreg(void)
{
    range(sys$expreg_64(region(0), number(1), 3, (unsigned)number(2), &va, &length));
}

static void setprt(void)
{
    unsigned old = 0;
    int status = sys$setprt_64(address(number(0)), number(1), 3, (unsigned)number(2), &va, &length,
                               &old);

    printf("%x %lx %lx %x\n", status, (unsigned long)va, (unsigned long)length, old);
}

static void free_reserved(void)
{
    uint64_t freed = 0;
    int status = mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)word[0], number(1),
                              (uint64_t)&freed, 0, 0);

    printf("%x %lx\n", status, (unsigned long)freed);
}

/* ---- bytes ---- */

static sigjmp_buf back;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

static void peek(void)
{
    if (sigsetjmp(back, 1))
        printf("fault\n");
    else
        printf("%x\n", *(volatile unsigned char *)number(0));
}

static void poke(void)
{
    if (sigsetjmp(back, 1)) {
        printf("fault\n");
    } else {
        *(volatile unsigned char *)number(0) = (unsigned char)number(1);
        printf("done\n");
    }
}

static const struct {
    const char *name;
    void (*fn)(void);
} commands[] = {
    {"create_region", create_region}, /* length prot flags start: status id va length */
    {"delete_region", delete_region}, /* id: status va length */
    {"region_info", region_info},     /* id: status flags start size first-free */
    {"create_gdzro", create_gdzro},   /* name flags length prot match version: status reserved */
    /* name flags length prot id offset start map-length match version: status va length */
    {"crmpsc", crmpsc},
    {"mgblsc", mgblsc}, /* name flags id offset length start match version: status va length */
    {"dgblsc", dgblsc}, /* name flags match version: status */
    {"deltva", deltva}, /* id start length: status va length */
    {"cretva", cretva}, /* id start length flags: status va length */
    {"expreg", expreg}, /* id length flags: status va length */
    {"setprt", setprt}, /* start length prot: status va length old */
    {"free_reserved", free_reserved}, /* name scope: status pages */
    {"peek", peek},                   /* address: byte or fault */
    {"poke", poke},                   /* address byte: done or fault */
};

/* ---- processes ---- */

static void serve(unsigned k);

static void obey(unsigned k, char *line)
{
    (void)k;
    if (split(line) == 0)
        _exit(1);
    if (!strcmp(word[0], "exit"))
        _exit(0);
    if (!strcmp(word[0], "fork")) {
        unsigned j = (unsigned)number(1) % PROCESSES;
        pid_t pid = fork();

        if (pid == 0)
            serve(j);
        printf("%lx\n", (unsigned long)pid);
        return;
    }
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(word[0], commands[i].name)) {
            memmove(word, word + 1, sizeof(word) - sizeof(word[0]));
            word[WORDS - 1] = NULL;
            va = NULL;
            length = 0;
            commands[i].fn();
            return;
        }
    }
    printf("what is %s?\n", word[0]);
}

static char *line_from(int fd, char *line)
{
    size_t n = 0;

    while (n < LINE - 1 && read(fd, line + n, 1) == 1) {
        if (line[n++] == '\n') {
            line[n] = '\0';
            return line;
        }
    }
    return NULL;
}

/* Process k: executes commands until it is told to exit or gets end of file. */
static void serve(unsigned k)
{
    char line[LINE];

    dup2(from[k][1], 1);
    signal(SIGCHLD, SIG_IGN); /* its children become no zombies */
    while (line_from(to[k][0], line)) {
        obey(k, line);
        fflush(stdout);
    }
    _exit(0);
}

/* Wait until process k is gone, and with it all that it mapped. */
static void end_one(unsigned k, int sig)
{
    if (pids[k] <= 0)
        return;
    if (sig)
        kill(pids[k], sig);
    waitpid(pids[k], NULL, 0);    /* a child of this program; or */
    while (kill(pids[k], 0) == 0) /* a child of another process, which does not wait for it */
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    pids[k] = 0;
}

static void end_all(void)
{
    for (unsigned k = 0; k < PROCESSES; k++)
        end_one(k, SIGKILL);
    for (unsigned k = 0; k < PROCESSES; k++) {
        for (unsigned i = 0; i < 2; i++) {
            if (to[k][i] > 2)
                close(to[k][i]);
            if (from[k][i] > 2)
                close(from[k][i]);
        }
    }
}

static void start_all(void)
{
    char answer[LINE];

    for (unsigned k = 0; k < PROCESSES; k++)
        if (pipe(to[k]) != 0 || pipe(from[k]) != 0)
            exit(1);
    for (unsigned k = 0; k < PROCESSES; k++) {
        pids[k] = fork();
        if (pids[k] == 0) {
            if (mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&who[k], 0, 0, 0, 0) != SS$_NORMAL)
                exit(write(from[k][1], "lost\n", 5) != 5);
            if (write(from[k][1], "here\n", 5) == 5)
                serve(k);
            exit(1);
        }
        if (pids[k] < 0 || !line_from(from[k][0], answer) || strcmp(answer, "here\n") != 0)
            exit(1);
    }
}

static void each_section(void (*fn)(const struct mega_section *))
{
    struct mega_section s;

    for (int64_t i = 0; mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) == SS$_NORMAL; i++)
        fn(&s);
}

static void show_section(const struct mega_section *s)
{
    if (!s->delete_pending)
        printf(" %s:%x:%lx", s->name, s->flags & SEC$M_SYSGBL ? 0xFFFFu : s->group,
               (unsigned long)s->npages);
}

static struct mega_section last;

static void keep_last(const struct mega_section *s)
{
    if (!s->delete_pending)
        last = *s;
}

/* Deletes a section of any group, by a child that becomes a member of the group. */
static void delete_sections(void)
{
    for (;;) {
        last.npages = 0;
        each_section(keep_last);
        if (last.npages == 0)
            return;
        pid_t pid = fork();

        if (pid == 0) {
            const struct mega_creds c = {last.group, 1, ALL, ALL, MEGA_RIGHTS_ALL};

            mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
            word[0] = last.name;
            _exit(sys$dgblsc(last.flags & SEC$M_SYSGBL, section_name(0), NULL) != SS$_NORMAL);
        }
        waitpid(pid, NULL, 0);
    }
}

/* Pass a line on to its process and wait for the answer. If the process forks, the child gets the
 * number that the line contains. */
static void pass_on(unsigned k, const char *line)
{
    unsigned j = (unsigned)strtoul(line + 5, NULL, 16) % PROCESSES;
    int forks = !strncmp(line, "fork ", 5), exits = !strncmp(line, "exit", 4);
    char answer[LINE];

    if (k >= PROCESSES || pids[k] == 0 || (forks && j == k)) {
        printf("gone\n");
        return;
    }
    if (forks)
        end_one(j, SIGKILL);
    if (write(to[k][1], line, strlen(line)) < 0)
        exit(1);
    if (exits) {
        end_one(k, 0);
        printf("gone\n");
        return;
    }
    if (!line_from(from[k][0], answer))
        exit(1);
    if (forks)
        pids[j] = (pid_t)strtoul(answer, NULL, 16);
    fputs(answer, stdout);
}

int main(void)
{
    struct sigaction sa = {.sa_handler = on_fault};
    struct termios t;
    char line[LINE];

    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (tcgetattr(0, &t) == 0) {
        t.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(0, TCSANOW, &t);
    }
    printf("ready\n");
    fflush(stdout);
    while (line_from(0, line)) {
        if (!strncmp(line, "reset", 5)) {
            end_all();
            delete_sections();
            start_all();
            printf("ready\n");
        } else if (!strncmp(line, "sections", 8)) {
            printf("named");
            each_section(show_section);
            printf("\n");
        } else if (!strncmp(line, "quit", 4)) {
            break;
        } else {
            pass_on((unsigned)(line[0] - '0'), line + 2);
        }
        fflush(stdout);
    }
    end_all();
    delete_sections();
    return 0;
}
