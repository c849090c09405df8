// TAP
// RUN: --smp 2
/*
 * Conditions and their handlers: the order in which they are called, resignalling, continuing,
 * unwinding, faults, handlers of other threads, signals inside handlers; the lines that are
 * printed, and exit statuses.
 */
#include <chfdef.h>
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <pthread.h>
#include <setjmp.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>
#include <stsdef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

typedef struct chf$signal_array SIGNAL;
typedef struct chf$mech_array MECHANISM;

static char called[200]; /* what happened, a word each */
static volatile int zero;

static void note(const char *word)
{
    strcat(called, word);
    strcat(called, " ");
}

static int pass_on(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    note(s->chf$l_sig_name == SS$_UNWIND ? "outer-unwound" : "outer");
    return SS$_RESIGNAL;
}

static int go_on(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    note(s->chf$l_sig_name == SS$_UNWIND ? "unwound" : "continue");
    return SS$_CONTINUE;
}

static int unwind_default(SIGNAL *s, MECHANISM *m)
{
    note(s->chf$l_sig_name == SS$_UNWIND ? "unwound" : "unwinding");
    if (s->chf$l_sig_name != SS$_UNWIND) {
        m->chf$q_mch_savr0 = 0x123456789;
        is(sys$unwind(0, 0), SS$_NORMAL, "an unwind is asked for");
        is(sys$unwind(0, 0), SS$_UNWINDING, "but once");
    }
    return SS$_RESIGNAL;
}

static int unwind_here(SIGNAL *s, MECHANISM *m)
{
    note(s->chf$l_sig_name == SS$_UNWIND ? "unwound" : "back");
    if (s->chf$l_sig_name != SS$_UNWIND)
        sys$unwind(&m->chf$l_mch_depth, 0);
    return SS$_RESIGNAL;
}

static __attribute__((noipa)) int signals(int status)
{
    int result = lib$signal(status);

    note("returned");
    return result;
}

static __attribute__((noipa)) int passes(int status)
{
    int result;

    lib$establish(pass_on);
    result = signals(status);
    note("leave");
    return result;
}

static __attribute__((noipa)) long leaves(int status)
{
    lib$establish(unwind_default);
    passes(status);
    note("never");
    return 7;
}

static __attribute__((noipa)) int stays(int status)
{
    lib$establish(unwind_here);
    passes(status);
    note("here");
    return 7;
}

static __attribute__((noipa)) int returns(int status)
{
    lib$establish(lib$sig_to_ret);
    passes(status);
    note("never");
    return SS$_NORMAL;
}

static __attribute__((noipa)) void order(void)
{
    is_str((lib$establish(go_on), "none"), "none", "the first handler");
    ok(lib$establish(go_on) == go_on, "a handler replaces another");
    called[0] = '\0';
    is(passes(SS$_ABORT), SS$_NORMAL, "a signal that is continued");
    is_str(called, "outer continue returned leave ", "inner handler first, then the one outside");
    ok(lib$revert() == go_on, "reverting gives it");
    ok(lib$revert() == 0, "and it is gone");
    is(sys$unwind(0, 0), SS$_NOSIGNAL, "no unwind without a signal");
}

static __attribute__((noipa)) void unwinds(void)
{
    /* Registers that procedures keep for their callers must be those of before. */
    volatile long keep = 5;
    long a = keep, b = a * 3, c = b * 7, d = c + a;
    double e = (double)a / 3, f = e * 7;

    called[0] = '\0';
    is(leaves(SS$_ABORT), 0x123456789, "the procedure's caller gets the value");
    is_str(called, "outer unwinding outer-unwound unwound ", "handlers are told");
    called[0] = '\0';
    is(stays(SS$_ABORT), 7, "back in the procedure of the handler");
    is_str(called, "outer back outer-unwound here ", "its own handler is not told");
    called[0] = '\0';
    is(returns(SS$_INSFMEM), SS$_INSFMEM, "a signal becomes a result");
    is(returns(SS$_NOPRIV), SS$_NOPRIV, "another one");
    ok(a == keep && b == 3 * keep && c == 21 * keep && d == 22 * keep, "registers");
    ok(e == (double)keep / 3 && f == e * 7, "floating-point registers");
    lib$establish(go_on);
    called[0] = '\0';
    signals(SS$_ABORT);
    is_str(called, "continue returned ", "handlers of what was left are gone");
}

static int arguments(SIGNAL *s, MECHANISM *m)
{
    const int *array = (const int *)s;

    is(s->chf$l_sig_args, 7, "value, count, three parameters, PC and PS");
    is(array[1], LIB$_INVARG, "the value");
    is(array[2], 3, "the count");
    ok(array[3] == 10 && array[4] == -20 && array[5] == 30, "the parameters");
    is(array[7], 0x1b, "the processor status");
    is(m->chf$l_mch_depth, 1, "the depth");
    return SS$_CONTINUE;
}

static __attribute__((noipa)) void with_arguments(void)
{
    is(lib$signal(LIB$_INVARG, 3, 10, -20, 30), SS$_NORMAL, "a signal with parameters");
}

static int handler_signals(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    note(s->chf$l_sig_name == SS$_UNWIND ? "unwound" : "first");
    if (s->chf$l_sig_name == SS$_ABORT)
        lib$signal(SS$_BADPARAM);
    return SS$_CONTINUE;
}

static __attribute__((noipa)) void nested(void)
{
    lib$establish(handler_signals);
    signals(SS$_ABORT);
}

static __attribute__((noipa)) void read_at(const char *address)
{
    note(*(const volatile char *)address ? "read" : "read zero");
}

static bool writing;

static int access_violation(SIGNAL *s, MECHANISM *m)
{
    const int *array = (const int *)s;

    if (s->chf$l_sig_name == SS$_UNWIND)
        return SS$_RESIGNAL;
    is(s->chf$l_sig_name, SS$_ACCVIO, "an access violation");
    is(s->chf$l_sig_args, 5, "its arguments");
    is(array[2], writing ? 4 : 0, "bit 2 of the reason mask is set for a store");
    is(array[3], 0x100, "the address");
    return lib$sig_to_ret(s, m);
}

static __attribute__((noipa)) int reads(void)
{
    lib$establish(access_violation);
    read_at((const char *)0x100);
    return SS$_NORMAL;
}

static __attribute__((noipa)) void write_at(char *address) { *(volatile char *)address = 1; }

static __attribute__((noipa)) int writes(void)
{
    lib$establish(access_violation);
    write_at((char *)0x100);
    return SS$_NORMAL;
}

static __attribute__((noipa)) int divides(int by)
{
    lib$establish(lib$sig_to_ret);
    return 100 / by;
}

static __attribute__((noipa)) int repeats(int n)
{
    lib$establish(lib$sig_to_ret);
    return n % 2 ? lib$signal(SS$_ABORT) : SS$_WASSET;
}

static void faults(void)
{
    int wrong = 0;

    called[0] = '\0';
    is(reads(), SS$_ACCVIO, "reading where nothing is");
    is_str(called, "", "nothing was read");
    writing = true;
    is(writes(), SS$_ACCVIO, "writing there");
    is(divides(zero), SS$_INTDIV, "dividing by zero");
    is(divides(5), 20, "dividing by five");
    for (int i = 0; i < 10000; i++)
        wrong += repeats(i) != (i % 2 ? SS$_ABORT : SS$_WASSET);
    is(wrong, 0, "ten thousand times");
}

/* PALcode functions that end in a signal: of the exceptions that code asks for, by numbers of the
 * calling standard; of a breakpoint. An opcode that no Alpha has. */
enum { GEN_INTOVF = -1, GEN_FLTOVF = -3, GEN_FLTDIV = -4, GEN_FLTUND = -5, GEN_ROPRAND = -16 };

static __attribute__((noipa)) int asks_for(long code)
{
    lib$establish(lib$sig_to_ret);
    __asm__ volatile("mov %0,$16\n\tcall_pal 0xAA" : : "r"(code) : "$16", "memory");
    return SS$_WASCLR;
}

static __attribute__((noipa)) int breaks(void)
{
    lib$establish(lib$sig_to_ret);
    __asm__ volatile("call_pal 0x80" : : : "memory");
    return SS$_WASCLR;
}

static __attribute__((noipa)) int reserved_opcode(void)
{
    lib$establish(lib$sig_to_ret);
    __asm__ volatile(".long 0x04000000" : : : "memory");
    return SS$_WASCLR;
}

static __attribute__((noipa)) int overflows(long by)
{
    long sum;

    lib$establish(lib$sig_to_ret);
    __asm__ volatile("addq/v %1,%2,%0\n\ttrapb" : "=r"(sum) : "r"(0x7fffffffffffffff), "r"(by));
    return sum < 0 ? SS$_WASCLR : SS$_WASSET;
}

static void kinds_of_faults(void)
{
    is(asks_for(GEN_INTOVF), SS$_INTOVF, "an integer overflow, as code reports it");
    is(overflows(1), SS$_INTOVF, "and by an instruction");
    is(overflows(0), SS$_WASSET, "which may also not overflow");
    is(asks_for(GEN_FLTDIV), SS$_FLTDIV, "a floating-point division by zero");
    is(asks_for(GEN_FLTOVF), SS$_FLTOVF, "an overflow");
    is(asks_for(GEN_FLTUND), SS$_FLTUND, "an underflow");
    is(asks_for(GEN_ROPRAND), SS$_ROPRAND, "a reserved operand");
    is(reserved_opcode(), SS$_OPCDEC, "a reserved opcode");
    is(breaks(), SS$_BREAK, "a breakpoint");
}

/* A handler makes the page accessible that the fault was on, and continues: the instruction is
 * executed again. */
static char *page;

static int opens(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    note("opened");
    return s->chf$l_sig_name == SS$_ACCVIO && mprotect(page, 8192, PROT_READ | PROT_WRITE) == 0
               ? SS$_CONTINUE
               : SS$_RESIGNAL;
}

static __attribute__((noipa)) void continues(void)
{
    page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    called[0] = '\0';
    lib$establish(opens);
    write_at(page + 5);
    read_at(page + 5);
    is_str(called, "opened read ", "a fault that is continued: the store was done after all");
    munmap(page, 8192);
}

/* An unwind to a place that the handler names, and one to a frame that is not there. */
static void *volatile elsewhere; /* volatile: nobody knows where a jump to it goes */

static int unwind_elsewhere(SIGNAL *s, MECHANISM *m)
{
    const int far_out = 100000;

    if (s->chf$l_sig_name != SS$_UNWIND) {
        is(sys$unwind(&far_out, 0), SS$_INSFRAME, "there are not so many procedures");
        is(sys$unwind(&m->chf$l_mch_depth, elsewhere), SS$_NORMAL, "an unwind to another place");
    }
    return SS$_RESIGNAL;
}

static __attribute__((noipa)) int resumes(void)
{
    volatile int result = 1; /* in memory: no register is as it was there */

    elsewhere = &&place;
    lib$establish(unwind_elsewhere);
    if (zero)
        goto *elsewhere; /* so that the place is kept */
    passes(SS$_ABORT);
    return result;
place:
    result++;
    return result;
}

/* A handler that signals is left by the handler of a procedure further out. */
static __attribute__((noipa)) int leaves_two(void)
{
    lib$establish(unwind_here);
    nested();
    note("here");
    return 7;
}

static jmp_buf out;

static int jump(SIGNAL *s, MECHANISM *m)
{
    (void)s;
    (void)m;
    longjmp(out, 1);
}

static __attribute__((noipa)) void jumps(void)
{
    lib$establish(jump);
    signals(SS$_ABORT);
}

static void *thread(void *argument)
{
    long wrong = 0;

    (void)argument;
    for (int i = 0; i < 2000; i++)
        wrong += repeats(1) != SS$_ABORT || divides(zero) != SS$_INTDIV;
    return (void *)wrong;
}

static void threads(void)
{
    pthread_t t[4];
    void *wrong;

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &wrong);
        ok(!wrong, "handlers of thread %d", i);
    }
}

/* What a child prints on standard error, and its exit status. */
static int printed(void (*act)(void), char *line, size_t size)
{
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;

    line[0] = '\0';
    if (pipe(ends) < 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        act();
        exit(77);
    }
    close(ends[1]);
    while (n < size - 1 && (got = read(ends[0], line + n, size - 1 - n)) > 0)
        n += (size_t)got;
    line[n] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void severe(void) { lib$signal(SS$_INSFLPGS); }
static void error(void) { lib$signal(SS$_NOMEMRESID); }
static void stop_error(void) { lib$stop(SS$_NOMEMRESID); }
static void info(void) { lib$signal(SS$_NOTINSEC); }
static void unknown(void) { lib$signal(0x7ff8011); }
static void chain(void) { lib$signal(LIB$_INVARG, 0, SS$_NOPRIV); }

static void continue_stop(void)
{
    lib$establish(go_on);
    lib$stop(SS$_ABORT);
}

static void fault_unhandled(void)
{
    lib$establish(pass_on);
    read_at((const char *)0x1000);
}

static int prints(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    s->chf$l_sig_args -= 2;
    sys$putmsg(s, 0, 0, 0);
    s->chf$l_sig_args += 2;
    return SS$_CONTINUE;
}

static void print_it(void)
{
    lib$establish(prints);
    lib$signal(SS$_INTDIV);
    exit(0);
}

/* Each handler of a fault causes another one, until there are too many in one another. */
static int faults_again(SIGNAL *s, MECHANISM *m)
{
    (void)s;
    (void)m;
    lib$establish(faults_again);
    read_at((const char *)0x2000);
    return SS$_CONTINUE;
}

static void nested_faults(void)
{
    lib$establish(faults_again);
    read_at((const char *)0x1000);
}

static int not_that(SIGNAL *s, MECHANISM *m)
{
    (void)m;
    return s->chf$l_sig_name == LIB$_INSVIRMEM ? SS$_RESIGNAL : SS$_CONTINUE;
}

/* More handlers than are kept without memory, and no memory. */
static __attribute__((noipa)) int deep(int left)
{
    volatile int result; /* so that each has a frame of its own */

    lib$establish(not_that);
    result = left ? deep(left - 1) : lib$signal(SS$_ABORT);
    return result;
}

static void no_memory(void)
{
    static void *volatile kept; /* so that the compiler does not leave it out */
    struct rlimit little = {16 << 20, 16 << 20};

    setrlimit(RLIMIT_AS, &little);
    for (size_t size = 1 << 20; size >= 16; size /= 2)
        do {
            kept = malloc(size);
        } while (kept);
    deep(64);
}

static void lines(void)
{
    char line[4000];

    is(printed(severe, line, sizeof(line)), 4, "a severe condition ends the program");
    is_str(line, "%SYSTEM-F-INSFLPGS, insufficient fluid pages\n", "with its line");
    is(printed(error, line, sizeof(line)), 77, "an error does not");
    is_str(line, "%SYSTEM-E-NOMEMRESID, operation requires the VMS$MEM_RESIDENT_USER identifier\n",
           "but prints its line");
    is(printed(stop_error, line, sizeof(line)), 4, "LIB$STOP makes it severe");
    ok(strncmp(line, "%SYSTEM-F-NOMEMRESID, ", 22) == 0, "as its line says");
    is(printed(info, line, sizeof(line)), 77, "an informational one");
    is_str(line, "%SYSTEM-I-NOTINSEC, page is not in a section\n", "prints its line");
    printed(unknown, line, sizeof(line));
    is_str(line, "%NONAME-S-NOMSG, Message number 07FF8011\n", "one without a text");
    is(printed(chain, line, sizeof(line)), 4, "two conditions in one signal");
    is_str(line,
           "%LIB-F-INVARG, invalid argument\n-SYSTEM-F-NOPRIV, no privilege for the operation "
           "attempted\n",
           "the second begins with a hyphen");
    is(printed(continue_stop, line, sizeof(line)), 4, "LIB$STOP cannot be continued");
    is_str(line, "%LIB-F-ATTCONSTO, attempt to continue from a stop\n", "which is said");
    is(printed(fault_unhandled, line, sizeof(line)), 4, "a fault that no handler wants");
    ok(strncmp(line,
               "%SYSTEM-F-ACCVIO, access violation, reason mask=00, virtual "
               "address=0000000000001000, PC=",
               89) == 0,
       "prints what and where");
    is(printed(nested_faults, line, sizeof(line)), 4, "faults in handlers of faults");
    ok(strncmp(line,
               "%SYSTEM-F-ACCVIO, access violation, reason mask=00, virtual "
               "address=0000000000002000, PC=",
               89) == 0,
       "end with a line");
    is(printed(no_memory, line, sizeof(line)), 4, "no memory for 65 handlers");
    is_str(line, "%LIB-F-INSVIRMEM, insufficient virtual memory\n", "is signalled");
    is(deep(64), SS$_NORMAL, "else there is");
    is(printed(print_it, line, sizeof(line)), 0, "a handler that prints");
    ok(strncmp(line, "%SYSTEM-F-INTDIV, arithmetic trap, integer divide by zero at PC=0000000",
               71) == 0,
       "shows the PC");
}

/* ---- what STR$ routines signal ---- */

static struct dsc$descriptor_s long_string = {65535, DSC$K_DTYPE_T, DSC$K_CLASS_S, 0};
static struct dsc$descriptor_s odd = {3, DSC$K_DTYPE_T, 77, (char *)"abc"};
static struct dsc$descriptor_d dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};

static int too_long(void)
{
    lib$establish(lib$sig_to_ret);
    return str$concat(&dynamic, &long_string, &long_string);
}

static int no_source(void)
{
    lib$establish(lib$sig_to_ret);
    return str$concat(&dynamic);
}

static int no_substring(void)
{
    int at, which;

    lib$establish(lib$sig_to_ret);
    return str$find_first_substring(&long_string, &at, &which);
}

static int of_no_class(void)
{
    lib$establish(lib$sig_to_ret);
    return str$copy_dx(&dynamic, &odd);
}

static void strings(void)
{
    long_string.dsc$a_pointer = calloc(1, 65535);
    is(too_long(), STR$_STRTOOLON, "more than 65,535 characters are signalled");
    is(no_source(), STR$_WRONUMARG, "no source, too");
    is(no_substring(), STR$_WRONUMARG, "and no substring");
    is(of_no_class(), STR$_ILLSTRCLA, "and a descriptor of no string");
    is(dynamic.dsc$w_length, 0, "nothing is stored");
    free(long_string.dsc$a_pointer);
}

int main(void)
{
    int condition = SS$_NOPRIV, same = SS$_NOPRIV | 1, other = SS$_ABORT;

    order();
    unwinds();
    lib$establish(arguments);
    with_arguments();
    lib$establish(go_on);
    called[0] = '\0';
    nested();
    is_str(called, "first continue returned ", "a handler's signal passes by its own procedure");
    lib$revert();
    for (int i = 0; i < 3; i++) {
        called[0] = '\0';
        is(leaves_two(), 7, "a signal inside a handler leaves both");
        is_str(called, "first back unwound here ", "and is over");
    }
    lib$establish(go_on);
    called[0] = '\0';
    signals(SS$_ABORT);
    is_str(called, "continue returned ", "later signals find their handlers");
    lib$revert();
    faults();
    kinds_of_faults();
    continues();
    is(resumes(), 2, "goes on there");
    if (!setjmp(out))
        jumps();
    lib$establish(go_on);
    called[0] = '\0';
    nested();
    is_str(called, "first continue returned ", "after a handler was left by longjmp");
    lib$revert();
    threads();
    is(lib$match_cond(&condition, &other, &same), 2, "the same condition, of other severity");
    is(lib$match_cond(&condition, &other), 0, "none");
    is(lib$match_cond(&condition, 0, &same), 2, "an address of 0 is no condition");
    strings();
    lines();
    return tap_done();
}
