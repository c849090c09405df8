/*
 * monitor at a terminal: bars of the CPUs, memory and paged pool, and the processes, sorted as keys
 * say; or the figures of another class. Lists are cut at the terminal's width and height, which are
 * asked for each time; what is above them goes on in another line where it is too wide.
 * Without a terminal a class is printed as often, whole.
 */
#include "classes.h"

#include <condition.h>
#include <errno.h>
#include <filled.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <starlet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct {
    unsigned rows, columns, line;
    enum subject subject;
    enum order order;
    bool reversed, help;
    bool plain; /* no terminal: nothing but text */
} view;

static const struct {
    char key;
    enum order order;
    const char *what;
} orders[] = {{'c', BY_CPU, "CPU"}, {'m', BY_MEMORY, "memory"}, {'f', BY_FAULTS, "faults"},
              {'i', BY_IO, "I/O"},  {'n', BY_NAME, "name"},     {'p', BY_PID, "pid"}};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

/* The last column is left empty: a character there makes some terminals begin a line. */
static void put_line(unsigned indent, const char *text, size_t length)
{
    if (view.plain)
        printf("%*s%.*s\n", (int)indent, "", (int)length, text);
    else if (view.line < view.rows)
        printf("%s%*s%.*s\033[K", view.line++ ? "\n" : "", (int)indent, "", (int)length, text);
}

/* Print one line of the screen, as much of it as fits. */
static void __attribute__((format(printf, 1, 2))) put(const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    put_line(0, text, view.columns - 1);
}

#define INDENT 4 /* of the further lines of a text */

/* Print a text in as many lines as it needs, broken at blanks. */
static void __attribute__((format(printf, 1, 2))) put_all(const char *format, ...)
{
    char text[512], *p = text;
    unsigned indent = 0;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    for (;;) {
        size_t room = view.columns - 1 > indent ? view.columns - 1 - indent : 1, n = room;

        if (strlen(p) > room)
            while (n && p[n] != ' ')
                n--;
        if (!n) /* a word that is longer than the line */
            n = room;
        put_line(indent, p, n);
        if (strlen(p) <= n)
            break;
        p += n;
        p += strspn(p, " ");
        indent = view.columns > 2 * INDENT ? INDENT : 0;
    }
}

static void measure(void)
{
    struct winsize w;
    bool known = ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row;

    view.columns = known ? w.ws_col : view.plain ? mega$columns() : 80;
    view.rows = view.plain ? UINT_MAX : known ? w.ws_row : 24;
}

/* A bar of `width` characters for a part of a whole. */
static const char *bar(char *text, size_t width, double part, char mark)
{
    size_t n = part <= 0 ? 0 : part >= 1 ? width : (size_t)(part * (double)width + 0.5);

    memset(text, mark, n);
    memset(text + n, ' ', width - n);
    text[width] = 0;
    return text;
}

#define BAR 20 /* at most */

/* Columns for a bar, so that the rest of the line of a CPU has room in 80 columns. */
static unsigned bar_width(void)
{
    return view.columns >= 72 + BAR ? BAR : view.columns <= 80 ? 8 : view.columns - 72;
}

static void put_cpus(const struct reading *a, const struct reading *b)
{
    double interval = gained(b->ns, a->ns);
    char text[BAR + 1];

    for (unsigned i = 0; i < b->cpus; i++) {
        double percent[KINDS], busy;

        for (unsigned k = 0; k < KINDS; k++)
            percent[k] = interval > 0 ? 100 * gained(b->cpu[i].ns[k], a->cpu[i].ns[k]) / interval
                                      : 0;
        busy = interval > 0 ? 100 - percent[IDLE] : 0;
        put_all("CPU %u [%s]%6.1f%% kernel %.1f user %.1f interrupt %.1f spin %.1f ready %lu", i,
                bar(text, bar_width(), busy / 100, '|'), busy > 0 ? busy : 0, percent[KERNEL],
                percent[USER], percent[INTERRUPT], percent[SPIN], (unsigned long)b->ready[i]);
    }
}

static void put_memory(void)
{
    struct mega_memory m;
    struct mega_pool p;
    char text[BAR + 1];

    if (mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) & 1) {
        double mb = (double)m.page_size / 1048576.0, used = (double)(m.total - m.free);

        put_all("Memory[%s]%6.1f%% %.0f of %.0f MB: reserved %.0f, tables %.1f; fluid %.0f",
                bar(text, bar_width(), used / (double)m.total, '#'), 100 * used / (double)m.total,
                used * mb, (double)m.total * mb, (double)m.reserved * mb, (double)m.pt_pages * mb,
                (double)m.fluid * mb);
    }
    if (mega$info(MEGA_INFO_POOL, 1, &p, sizeof(p)) & 1)
        put_all("Pool  [%s]%6.1f%% %.2f of %.0f MB paged, %lu free blocks",
                bar(text, bar_width(), (double)p.in_use / (double)p.size, '#'),
                100 * (double)p.in_use / (double)p.size, (double)p.in_use / 1048576.0,
                (double)p.size / 1048576.0, (unsigned long)p.free_blocks);
}

static void put_states(const struct reading *now, size_t count)
{
    char text[256];
    int n = snprintf(text, sizeof(text), "%lu processes:", (unsigned long)count);

    for (int i = 0; i < MEGA_STATES; i++)
        if (now->states.count[i])
            n += snprintf(text + n, sizeof(text) - (size_t)n, " %lu %s",
                          (unsigned long)now->states.count[i], state_names[i]);
    put_all("%s", text);
}

static void put_head(const char *text)
{
    printf("%s", view.plain ? "" : "\033[7m");
    put("%s", text);
    printf("%s", view.plain ? "" : "\033[0m");
}

static void put_figures(const struct figures *f)
{
    put_head("                                    Current     Average     Minimum     Maximum");
    for (size_t i = 0; i < f->count && view.line + 1 < view.rows; i++) {
        const struct figure *one = &f->list[i];

        if (one->readings && one->seconds > 0)
            put("%-31.31s%12.*f%12.1f%12.*f%12.*f", one->name, one->rate, one->current,
                one->sum / one->seconds, one->rate, one->least, one->rate, one->most);
    }
    if (!f->count)
        put_all("%s", f->subject == DISK ? "There is no disk."
                                         : "Locks are not measured: show spinlock /start begins.");
}

static void put_processes(const struct processes *all, double interval)
{
    put_head("  Pid Name            State Nice   CPU%   CPU time    Pages  Faults/s     I/O/s");
    for (size_t i = 0; i < all->count && view.line + 1 < view.rows; i++) {
        const struct process *one = &all->list[i];
        const struct mega_process *p = &one->now;
        double per = interval > 0 ? interval : 1;

        put("%5u %-15.15s %-5s %4ld %6.1f %10.2f %8lu %9.1f %9.1f", p->pid, p->name,
            p->waits < MEGA_STATES ? state_names[p->waits] : "?", (long)p->nice,
            100 * one->used / per, (double)p->cpu_ns / 1e9, (unsigned long)p->rss,
            one->faults / per, one->io / per);
    }
}

static void put_help(void)
{
    put("q  quit (^C and ^D, too); ^Z stops, fg goes on");
    for (size_t i = 0; i < ORDERS; i++)
        put("%c  sort by %s", orders[i].key, orders[i].what);
    put("r  the other way round");
    put("h  this help, and back");
    put_all("1 to 7  classes: system, processes, page, io, disk, pool, lock");
    put_all("Rates are those of a second. Average, minimum and maximum are those since the class "
            "was chosen.");
    put_all(
        "States: CUR runs, COM is ready, MUTEX waits for a lock, LEF for an event, HIB for a time");
    put_all(
        "monitor /RECORD=FILE writes readings to a file; /INTERVAL=SECONDS for others than one");
}

static void put_sorted(const struct processes *all, double interval)
{
    struct processes sorted = {.count = all->count};

    sorted.list = malloc((all->count + 1) * sizeof(*sorted.list));
    if (sorted.list) {
        memcpy(sorted.list, all->list, all->count * sizeof(*sorted.list));
        sort_processes(&sorted, view.order, view.reversed);
        put_processes(&sorted, interval);
    }
    free(sorted.list);
}

static void draw(const struct reading *a, const struct reading *b, const struct processes *all,
                 const struct figures *figures)
{
    measure();
    view.line = 0;
    if (!view.plain)
        printf("\033[H");
    if (view.subject == SYSTEM) {
        put_cpus(a, b);
        put_memory();
        put_states(b, all->count);
        put("%s", "");
    }
    if (view.help)
        put_help();
    else if (view.subject <= PROCESSES)
        put_sorted(all, gained(b->ns, a->ns));
    else
        put_figures(figures);
    if (view.plain) {
        put("%s", "");
    } else {
        put("q quit, h help, 1-%u class: %s; sorted by %s%s", SUBJECTS, subject_names[view.subject],
            orders[view.order].what, view.reversed ? ", the other way round" : "");
        printf("\033[J");
    }
    fflush(stdout);
}

static struct termios usual; /* the terminal as it was found */

/* Take the terminal: keys one by one and unseen, a screen of its own. False, with errno: no. */
static bool enter(void)
{
    struct termios raw;

    if (tcgetattr(0, &usual) < 0)
        return false;
    raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(0, TCSADRAIN, &raw);
    printf("\033[?1049h\033[?25l");
    return true;
}

static void leave(void)
{
    printf("\033[?25h\033[?1049l");
    fflush(stdout);
    tcsetattr(0, TCSADRAIN, &usual);
}

/* Stop this job, as ^Z does elsewhere, and take the terminal again when it goes on. */
static void suspend(void)
{
    leave();
    kill(0, SIGTSTP);
    enter();
}

/* Handle a key. False: the user wants to leave. */
static bool key(char c)
{
    if (c == 'q' || c == 'Q' || c == 3 || c == 4)
        return false;
    if (c == 26)
        suspend();
    if (c == 'h' || c == '?')
        view.help = !view.help;
    if (c == 'r')
        view.reversed = !view.reversed;
    if (c >= '1' && c < '1' + (int)SUBJECTS)
        view.subject = (enum subject)(c - '1');
    for (size_t i = 0; i < ORDERS; i++)
        if (c == orders[i].key)
            view.order = orders[i].order;
    return true;
}

/* Wait for a key until `due`. 1: there was one; 0: the time has come; -1: leave. */
static int wait_key(uint64_t due)
{
    struct pollfd in = {.fd = view.plain ? -1 : 0, .events = POLLIN};
    uint64_t now = monotonic();
    uint64_t left = now < due ? (due - now + 999999) / 1000000 : 0;
    char c;

    if (interrupted)
        return -1;
    if (poll(&in, 1, left > 1000 ? 1000 : (int)left) <= 0)
        return interrupted ? -1 : 0;
    if (read(0, &c, 1) != 1)
        return -1;
    return key(c) ? 1 : -1;
}

static int show_all(uint64_t interval, uint64_t ending, uint64_t count)
{
    static struct processes processes[2];
    static struct reading r[3]; /* now, before, and that of a key */
    static struct figures figures;
    uint64_t start = monotonic();

    if (!take(&r[0]) || !take_processes(&processes[0], &processes[1]) ||
        !take_figures(&figures, view.subject, &r[0].states, &processes[0], &processes[0]))
        return 1;
    if (!view.plain)
        draw(&r[0], &r[0], &processes[0], &figures);
    for (uint64_t n = 1, late = 0;; n++) {
        unsigned now = n % 2, before = !now;
        uint64_t due = start + n * interval + late, end = start + ending;

        if (monotonic() > due + interval) /* it was stopped: what was missed is not made up for */
            late += (monotonic() - due) / interval * interval;
        due = start + n * interval + late;
        due = due < end ? due : end;
        for (int got = 1; got == 1 || monotonic() < due;) {
            got = wait_key(due);
            if (got < 0 && view.plain)
                break;
            if (got < 0)
                return 0;
            if (got > 0 && view.subject != figures.subject &&
                (!take(&r[2]) || !take_figures(&figures, view.subject, &r[2].states,
                                               &processes[before], &processes[before])))
                return 1;
            if (got > 0) /* the same again */
                draw(n > 1 ? &r[now] : &r[0], &r[before], &processes[before], &figures);
        }
        if (!take(&r[now]) || !take_processes(&processes[now], &processes[before]) ||
            !take_figures(&figures, view.subject, &r[now].states, &processes[now],
                          &processes[before]))
            return 1;
        keep_rising(&r[now], &r[before]);
        draw(&r[before], &r[now], &processes[now], &figures);
        if (due == end || n == count || interrupted)
            return 0;
    }
}

int screen(enum subject subject, bool terminal, uint64_t interval, uint64_t ending, uint64_t count)
{
    int status;

    view.subject = subject;
    view.plain = !terminal;
    if (!terminal)
        return show_all(interval, ending, count);
    if (!enter())
        return fail("NOTERM", "the terminal", strerror(errno));
    status = show_all(interval, ending, count);
    leave();
    return status;
}
