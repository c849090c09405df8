/*
 * The console terminal: COM1 at the other end of a line discipline (tty.c). The interrupt only puts
 * received bytes into a ring (kernel/drivers/serial.c). A kernel thread takes them out and passes
 * them to the line discipline. Output and echo go the way of the kernel's own messages.
 */
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/drivers/serial.h"
#include "kernel/io/io_private.h"
#include "kernel/io/tty_private.h"
#include "kernel/sched/thread.h"

struct tty tty_console = {.size = {.ws_row = 24, .ws_col = 80}};
static struct serial com1;

static void wait_for(struct wait_queue *q, bool (*condition)(void))
{
    struct waiter w;

    for (;;) {
        wait_enqueue(q, &w);
        if (condition())
            break;
        wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
    }
    wait_finish(&w);
}

static bool bytes_came(void) { return serial_ready(&com1); }
static bool room_came(void) { return tty_has_room(&tty_console); }

static void console_thread(void *arg)
{
    (void)arg;
    for (;;) {
        uint8_t c;

        wait_for(&tty_console.room, room_came);
        wait_for(&com1.queue, bytes_came);
        /* Only this thread uses up the room. */
        if (serial_take(&com1, &c, 1))
            tty_input(&tty_console, &c, 1);
    }
}

static void console_echo(struct tty *t, const char *text, size_t n)
{
    (void)t;
    printk_queue(text, n);
}

static void console_echoed(struct tty *t)
{
    (void)t;
    printk_send();
}

/* A thread that is to end does not wait for the line, which the host may not be reading. */
static size_t console_output(struct tty *t, const char *text, size_t n, bool newlines)
{
    char out[2 * TTY_CHUNK];
    ipl_t ipl = spin_lock(&t->lock);
    bool stopped = t->stopped;
    size_t k = 0;

    spin_unlock(&t->lock, ipl);
    if (stopped)
        return 0;
    for (size_t j = 0; j < n; j++) {
        if (text[j] == '\n' && newlines)
            out[k++] = '\r';
        out[k++] = text[j];
    }
    printk_bytes(out, k, thread_killed);
    return n;
}

static const struct tty_line console_line = {
    .echo = console_echo, .echoed = console_echoed, .output = console_output};

void console_terminal(uint16_t rows, uint16_t columns)
{
    tty_console.size = (struct winsize){.ws_row = rows, .ws_col = columns};
}

void tty_boot(void)
{
    struct thread *t;

    tty_init(&tty_console, &console_line, TTY_CONSOLE);
    tty_console.set.c_cflag |= CLOCAL;
    if (!tty_console.size.ws_col)
        tty_console.set.c_lflag &= ~(uint32_t)ECHO;
    serial_boot(&com1, &uart_com1, "com1", NULL);
    t = thread_create("tty", console_thread, NULL, PRIO_NORMAL + 4);
    if (!t)
        panic("no memory for the terminal's thread");
    thread_start(t);
}
