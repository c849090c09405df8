/*
 * The end of a program: $EXIT, and exit handlers. The C library calls the handlers, among those of
 * atexit, by one function that is registered with the first of them.
 */
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stsdef.h>

#include "handlers.h"
#include "hold.h"
#include "message.h"
#include "service.h"

#define ARGUMENTS_MOST 16

struct exit_block {
    struct exit_block *next;
    int (*handler)();
    unsigned int arguments; /* in the low byte; with the address of the condition value */
    int *status;            /* and further arguments follow */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct exit_block *handlers; /* the last one first; with the lock */
static int ended_with = SS$_NORMAL; /* the condition value, if the program has given one */
static int has_ended_with;
static int ending; /* mega$end calls exit() */

/* The condition value for an exit status that was given to exit(). */
static int condition_of(int exit_status)
{
    if (has_ended_with)
        return ended_with;
    return exit_status == 0 ? SS$_NORMAL : SS$_ABORT;
}

static void call_handler(const struct exit_block *b, int value)
{
    long a[ARGUMENTS_MOST] = {0};
    unsigned int n = b->arguments & 0xFF;

    if (b->status)
        *b->status = value;
    for (unsigned int i = 0; i < n && i < ARGUMENTS_MOST; i++)
        a[i] = ((const long *)&b->status)[i];
    b->handler(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
               a[13], a[14], a[15]);
}

/* Each handler is taken off the list before it is called, so one that ends the program again is not
 * called again. Then the C library goes on behind this function, so that it is registered anew for
 * the handlers that are left. */
static void run_handlers(int exit_status, void *unused)
{
    struct exit_block *b;
    int anew = 0;

    (void)unused;
    while (!anew) {
        mega$lock(&lock);
        b = handlers;
        if (b)
            handlers = b->next;
        anew = b && handlers && on_exit(run_handlers, 0) == 0;
        mega$unlock(&lock);
        if (!b)
            return;
        call_handler(b, condition_of(exit_status));
    }
}

/* Takes a block, or with 0 each of them, off the list. Returns whether it was there. */
static int take_off(struct exit_block *b)
{
    struct exit_block **at = &handlers;
    int found;

    while (b && *at && *at != b)
        at = &(*at)->next;
    found = *at != 0;
    if (found)
        *at = b ? b->next : 0;
    return found;
}

/* A block that was declared before is the last one now: OpenVMS makes a circle of it. */
int sys$dclexh(void *desblk)
{
    static int registered;
    struct exit_block *b = desblk;

    if (!b || !b->handler)
        return SS$_ACCVIO;
    if ((b->arguments & 0xFF) > ARGUMENTS_MOST)
        return SS$_BADPARAM;
    mega$lock(&lock);
    if (!registered)
        registered = on_exit(run_handlers, 0) == 0;
    if (registered) {
        take_off(b);
        b->next = handlers;
        handlers = b;
    }
    mega$unlock(&lock);
    return registered ? SS$_NORMAL : SS$_INSFMEM;
}

int sys$canexh(void *desblk)
{
    int found;

    mega$lock(&lock);
    found = take_off(desblk);
    mega$unlock(&lock);
    return found || !desblk ? SS$_NORMAL : SS$_NOHANDLER;
}

/* Registered before everything else, so called last: prints what the command interpreter of OpenVMS
 * prints of a program that ends with a warning or an error. A message that was printed when the
 * condition was signalled has STS$M_INHIB_MSG. */
static void report(int exit_status, void *unused)
{
    static const struct message_writer plain;
    unsigned value = (unsigned)ended_with;

    (void)exit_status;
    (void)unused;
    if (!has_ended_with || (value & (STS$M_SUCCESS | STS$M_INHIB_MSG)))
        return;
    fflush(NULL);
    mega$put_messages((int64_t[]){(int32_t)value}, 1, 1, MESSAGE_ALL, &plain);
}

static void forced(__int64 code) { sys$exit((unsigned)code); }

__attribute__((constructor)) static void prepare(void)
{
    on_exit(report, 0);
    call(MEGA_SYS_EXIT_ROUTINE, ast_routine(forced), 0, 0, 0, 0, 0);
}

int mega$is_ending(void)
{
    int is = ending;

    ending = 0;
    return is;
}

void mega$end(unsigned status)
{
    static const int exit_status[] = {[STS$K_WARNING] = 1, [STS$K_ERROR] = 2, [STS$K_SEVERE] = 4};
    unsigned severity = $VMS_STATUS_SEVERITY(status);

    ended_with = (int)status;
    has_ended_with = ending = 1;
    call(MEGA_SYS_FINAL_STATUS, status, 0, 0, 0, 0, 0);
    exit(severity <= STS$K_SEVERE ? exit_status[severity] : EXIT_FAILURE);
}

/* 0 is a condition value too, a warning without a message of its own. */
int sys$exit(unsigned int code) { mega$end(code); }
