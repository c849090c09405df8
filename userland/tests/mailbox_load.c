// TAP
// RUN: -m 256M --smp 1
// RUN: -m 256M --smp 2
// RUN: -m 256M --smp 4
// ARGS: 2
// SECONDS: 60
/*
 * Mailboxes under load: writers and readers of several kinds, each a process, at mailboxes that are
 * too small for them. Each message has a number of its own: none is lost, none is read twice, those
 * of one writer come in order, their bytes are those that were written. Beside them, writers and
 * readers are killed all the time: of a writer at most the message that it was writing is lost, of
 * a reader at most the one that it was reading.
 *
 * Before that, rounds of attention: of two messages that two writers write at the same moment a
 * read that waits gets one, and a request for attention is told of the other.
 *
 * `mailbox_load SECONDS`, also parts of a second. The readers end when no channel writes any more.
 */
#include <agndef.h>
#include <cmbdef.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <iodef.h>
#include <lib$routines.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define BOXES   4 /* the last one is where processes are killed */
#define READERS 2 /* of each mailbox */
#define MOST    (1u << 20)

enum writing { NOW, WAITS, ASKS, PIPELINE, WRITERS }; /* kinds of writers; one of each to a box */

struct message {
    uint32_t writer, number;
    char text[24];
};

static struct box {
    uint32_t unit;
    uint32_t begun[WRITERS];           /* numbers from 0 on; each has one writer at a time */
    uint32_t written[WRITERS];         /* messages, by the one writer */
    uint32_t read[WRITERS];            /* atomic */
    uint32_t twice, wrong, disordered; /* atomic */
    uint32_t kills_of_readers;
    pid_t reading[READERS]; /* atomic: the reader that has seen a writer */
    uint32_t stop;          /* atomic: writers end */
    unsigned char seen[WRITERS][MOST / 8];
} *boxes;

static struct box *mine;
static unsigned short chan;
static struct _iosb iosb;

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void assign(uint32_t unit, unsigned flags)
{
    char name[16];
    struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};

    d.dsc$w_length = (unsigned short)snprintf(name, sizeof(name), "MBA%u:", unit);
    if (sys$assign(&d, &chan, 0, 0, flags) != SS$_NORMAL)
        _exit(10);
}

/* ---- writers ---- */

static unsigned compose(struct message *m, unsigned who, uint32_t number)
{
    unsigned n = number % sizeof(m->text);

    m->writer = who;
    m->number = number;
    memset(m->text, 'a' + (int)(number % 26), n);
    return (unsigned)offsetof(struct message, text) + n;
}

static bool stopped(void) { return __atomic_load_n(&mine->stop, __ATOMIC_RELAXED) != 0; }

/* The modifiers of a writer; 2 of 4 wait until their message is read. */
static const unsigned modifiers[WRITERS] = {[NOW] = IO$M_NOW, [ASKS] = IO$M_READERCHECK};

static int put(unsigned who, const struct message *m, unsigned length)
{
    return sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | modifiers[who], &iosb, 0, 0, (void *)m,
                    length);
}

/* Two writes outstanding at a time, by the flags 1 and 2. */
static void pipeline(void)
{
    static struct _iosb blocks[2];
    static struct message m[2];
    uint32_t n = 0;

    for (; n < MOST && !stopped(); n++) {
        unsigned i = n % 2, length;

        if (n >= 2)
            sys$synch(1 + i, &blocks[i]);
        length = compose(&m[i], PIPELINE, n);
        mine->begun[PIPELINE] = n + 1;
        if (sys$qio(1 + i, chan, IO$_WRITEVBLK, &blocks[i], 0, 0, &m[i], length) != SS$_NORMAL)
            _exit(11);
        mine->written[PIPELINE]++;
    }
    for (unsigned i = 0; i < 2 && i < n; i++)
        sys$synch(1 + i, &blocks[i]);
}

static void writer(unsigned who)
{
    struct message m;

    assign(mine->unit, AGN$M_WRITEONLY);
    if (who == PIPELINE) {
        pipeline();
        _exit(0);
    }
    for (uint32_t n = mine->begun[who]; n < MOST && !stopped(); n++) {
        unsigned length = compose(&m, who, n);

        mine->begun[who] = n + 1;
        if (put(who, &m, length) != SS$_NORMAL || iosb.iosb$w_status != SS$_NORMAL ||
            iosb.iosb$w_bcnt != length)
            _exit(12);
        mine->written[who]++;
    }
    _exit(0);
}

/* ---- readers ---- */

static void add(uint32_t *count) { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }

static void take(const struct message *m, unsigned length)
{
    static uint32_t next[WRITERS];
    struct message expected;

    if (length < offsetof(struct message, text) || m->writer >= WRITERS || m->number >= MOST ||
        compose(&expected, m->writer, m->number) != length || memcmp(m, &expected, length) != 0) {
        add(&mine->wrong);
        return;
    }
    if (__atomic_fetch_or(&mine->seen[m->writer][m->number / 8], 1u << m->number % 8,
                          __ATOMIC_RELAXED) >>
            m->number % 8 &
        1)
        add(&mine->twice);
    if (m->number < next[m->writer])
        add(&mine->disordered);
    next[m->writer] = m->number + 1;
    add(&mine->read[m->writer]);
}

static struct message arrived;
static volatile int over;

/* Ask for the next message, which `came` takes. */
static void ask(void);

static void came(void)
{
    if (iosb.iosb$w_status == SS$_NORMAL) {
        take(&arrived, iosb.iosb$w_bcnt);
        ask();
    } else {
        over = iosb.iosb$w_status;
        sys$wake(0, 0);
    }
}

static void ask(void)
{
    if (sys$qio(EFN$C_ENF, chan, IO$_READVBLK | IO$M_WRITERCHECK, &iosb, came, 0, &arrived,
                sizeof(arrived)) != SS$_NORMAL)
        _exit(13);
}

/* Odd readers read in AST routines. */
static void reader(unsigned who)
{
    assign(mine->unit, AGN$M_READONLY);
    if (sys$qiow(EFN$C_ENF, chan, IO$_SETMODE | IO$M_WRITERWAIT, &iosb) != SS$_NORMAL)
        _exit(14);
    __atomic_store_n(&mine->reading[who], getpid(), __ATOMIC_RELAXED);
    if (who % 2) {
        ask();
        while (!over)
            sys$hiber();
        _exit(over == SS$_NOWRITER ? 0 : 15);
    }
    while (sys$qiow(EFN$C_ENF, chan, IO$_READVBLK | IO$M_WRITERCHECK, &iosb, 0, 0, &arrived,
                    sizeof(arrived)) == SS$_NORMAL &&
           iosb.iosb$w_status == SS$_NORMAL)
        take(&arrived, iosb.iosb$w_bcnt);
    _exit(iosb.iosb$w_status == SS$_NOWRITER ? 0 : 16);
}

/* ---- attention ---- */

static volatile unsigned told;

static void note(void) { told++; }

/* Write one message in each round. */
static void volley(const uint32_t *round)
{
    struct message m;

    assign(mine->unit, AGN$M_WRITEONLY);
    for (uint32_t n = 1, now = 0; now != UINT32_MAX;) {
        /* Where there are CPUs enough it leaves this loop at the same moment as the other one. */
        for (unsigned i = 0; i < 500 && __atomic_load_n(round, __ATOMIC_RELAXED) < n; i++)
            ;
        now = __atomic_load_n(round, __ATOMIC_SEQ_CST);
        if (now < n)
            sched_yield();
        else if (now != UINT32_MAX && put(NOW, &m, compose(&m, NOW, n++)) != SS$_NORMAL)
            _exit(17);
    }
    _exit(0);
}

/* One round at a mailbox without messages. Returns whether both were told of. */
static bool attended(unsigned short parent, uint32_t *round)
{
    struct timespec t = {0, 1000000};

    told = 0;
    if (sys$qiow(EFN$C_ENF, parent, IO$_SETMODE | IO$M_WRTATTN, 0, 0, 0, note, 0) != SS$_NORMAL ||
        sys$qio(EFN$C_ENF, parent, IO$_READVBLK, &iosb, 0, 0, &arrived, sizeof(arrived)) !=
            SS$_NORMAL)
        return false;
    __atomic_fetch_add(round, 1, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < 5000 && !(told && iosb.iosb$w_status); i++)
        nanosleep(&t, NULL); /* the AST ends it */
    return told == 1 && iosb.iosb$w_status == SS$_NORMAL &&
           sys$qiow(EFN$C_ENF, parent, IO$_READVBLK | IO$M_NOW, &iosb, 0, 0, &arrived,
                    sizeof(arrived)) == SS$_NORMAL &&
           iosb.iosb$w_status == SS$_NORMAL;
}

static void rounds_of_attention(struct box *b, unsigned short parent, uint32_t *round, long ms)
{
    long until = now_ms() + ms;
    unsigned n = 0;
    bool fine = true;

    mine = b;
    for (unsigned i = 0; i < 2; i++)
        if (fork() == 0)
            volley(round);
    for (; fine && (n < 60 || now_ms() < until); n++)
        fine = attended(parent, round);
    ok(fine, "attention is told of what no read gets: round %u, told %u times, read %u", n, told,
       iosb.iosb$w_status);
    __atomic_store_n(round, UINT32_MAX, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < 2; i++)
        wait(NULL);
}

/* ---- all of them ---- */

static pid_t start_writer(unsigned who)
{
    pid_t child = fork();

    if (child == 0)
        writer(who);
    return child;
}

static pid_t start_reader(unsigned who)
{
    pid_t child = fork();

    if (child == 0)
        reader(who);
    return child;
}

static void make(struct box *b, unsigned short *parent)
{
    int item = DVI$_UNIT;

    mine = b;
    if (sys$crembx(0, parent, sizeof(struct message), 150, 0, 0, 0, CMB$M_READONLY, 0) !=
        SS$_NORMAL)
        bail_out("no mailbox");
    lib$getdvi(&item, parent, 0, &b->unit);
}

/* Kill one process and return its successor. */
static pid_t replace(pid_t victim, unsigned who, bool reads)
{
    int status;

    kill(victim, SIGKILL);
    waitpid(victim, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        is(WEXITSTATUS(status), 0, "a victim's status");
    if (reads)
        mine->kills_of_readers++;
    return reads ? start_reader(who) : start_writer(who);
}

/* Wait until each reader of b has seen a writer: one that came after the last writer would wait for
 * ever. */
static void wait_for_readers(const struct box *b)
{
    for (unsigned i = 0; i < READERS; i++)
        while (!__atomic_load_n(&b->reading[i], __ATOMIC_RELAXED))
            usleep(1000);
}

/* At one mailbox, kill writers of two kinds and readers in turn, until so long, and a few at least.
 * The channel of this process writes, so that no reader ends meanwhile. */
static unsigned kill_many(long until)
{
    pid_t w[2], r[READERS];
    unsigned kills = 0;
    struct timespec t = {0, 0};

    assign(mine->unit, AGN$M_WRITEONLY);
    for (unsigned i = 0; i < 2; i++)
        w[i] = start_writer(i);
    for (unsigned i = 0; i < READERS; i++)
        r[i] = start_reader(i);
    srand(1);
    while (now_ms() < until || kills < 8) {
        unsigned i = (unsigned)rand() % 2;

        t.tv_nsec = rand() % 8000000;
        nanosleep(&t, NULL);
        if (rand() % 2)
            r[i] = replace(r[i], i, true);
        else
            w[i] = replace(w[i], i, false);
        kills++;
    }
    for (unsigned i = 0; i < READERS; i++)
        while (__atomic_load_n(&mine->reading[i], __ATOMIC_RELAXED) != r[i])
            usleep(1000);
    for (unsigned k = 0; k < BOXES; k++) {
        wait_for_readers(&boxes[k]);
        __atomic_store_n(&boxes[k].stop, 1, __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < 2; i++)
        waitpid(w[i], NULL, 0);
    sys$dassgn(chan);
    for (unsigned i = 0; i < READERS; i++)
        waitpid(r[i], NULL, 0);
    return kills;
}

static void check_box(const struct box *b, unsigned number)
{
    uint32_t written = 0, read = 0;

    for (unsigned k = 0; k < WRITERS; k++) {
        written += b->written[k];
        read += b->read[k];
        ok(b->written[k] > 0, "mailbox %u: writer %u has written %u messages", number, k,
           b->written[k]);
    }
    is(read, written, "mailbox %u: all are read", number);
    is(b->twice, 0, "none twice");
    is(b->wrong, 0, "none with other bytes");
    is(b->disordered, 0, "each reader gets those of a writer in order");
}

static void check_killed(const struct box *b, unsigned kills)
{
    uint32_t begun = b->begun[0] + b->begun[1], written = b->written[0] + b->written[1];
    uint32_t read = b->read[0] + b->read[1];

    diag("%u killed, %u of them readers; %u messages begun, %u written, %u read", kills,
         b->kills_of_readers, begun, written, read);
    ok(kills >= 8 && written > 0 && read > 0, "processes are killed, and messages pass");
    ok(read <= begun, "no message is read that was not written");
    ok(read + b->kills_of_readers >= written, "each reader that is killed takes one along at most");
    is(b->twice, 0, "none is read twice");
    is(b->wrong, 0, "none has other bytes");
    is(b->disordered, 0, "they come in order");
}

int main(int argc, char **argv)
{
    long ms = argc > 1 ? (long)(atof(argv[1]) * 1000) : 2000, until;
    unsigned short parent[BOXES];
    uint32_t *round;
    unsigned kills;
    int status, bad = 0;

    boxes = mmap(NULL, sizeof(*boxes) * BOXES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                 -1, 0);
    round = mmap(NULL, sizeof(*round), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    for (unsigned k = 0; k < BOXES; k++)
        make(&boxes[k], &parent[k]);
    rounds_of_attention(&boxes[0], parent[0], round, ms / 4);
    fflush(stdout);
    until = now_ms() + ms;
    for (unsigned k = 0; k < BOXES - 1; k++) {
        mine = &boxes[k];
        for (unsigned i = 0; i < WRITERS; i++)
            start_writer(i);
        for (unsigned i = 0; i < READERS; i++)
            start_reader(i);
    }
    mine = &boxes[BOXES - 1];
    kills = kill_many(until);
    while (wait(&status) > 0)
        bad += status != 0;
    is(bad, 0, "all processes end as they should");
    for (unsigned k = 0; k < BOXES - 1; k++)
        check_box(&boxes[k], k);
    check_killed(&boxes[BOXES - 1], kills);
    for (unsigned k = 0; k < BOXES; k++)
        is_status(sys$dassgn(parent[k]), SS$_NORMAL, "mailbox %u is deleted", k);
    return tap_done();
}
