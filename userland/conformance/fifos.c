/* Named pipes and devices: who waits for whom at open, ends, poll; pipe sizes; from fifo(7),
   pipe(7), poll(2), fcntl(2), null(4), full(4), random(4). */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static int polled(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

static void on_signal(int sig) { (void)sig; }

static void without_waiting(void)
{
    char c[8];
    int rd, wr, both;

    CASE(mkfifo("fifo", 0600));
    CASE_AS("open to write, no reader", open("fifo", O_WRONLY | O_NONBLOCK));
    rd = open("fifo", O_RDONLY | O_NONBLOCK);
    VALUE_AS("open to read, no writer", rd >= 0);
    VALUE_AS("poll before a writer comes", polled(rd, POLLIN));
    CASE_AS("read before a writer comes", read(rd, c, 1));
    wr = open("fifo", O_WRONLY | O_NONBLOCK);
    VALUE_AS("open to write, a reader", wr >= 0);
    CASE_AS("read of nothing", read(rd, c, 1));
    VALUE_AS("poll to write", polled(wr, POLLOUT));
    CASE_AS("write", write(wr, "abc", 3));
    VALUE_AS("poll to read", polled(rd, POLLIN));
    CASE_AS("read", read(rd, c, 8));
    write(wr, "de", 2);
    close(wr);
    VALUE_AS("poll after the writer left, with data", polled(rd, POLLIN));
    CASE_AS("read what is left", read(rd, c, 8));
    VALUE_AS("poll after the writer left", polled(rd, POLLIN));
    CASE_AS("read at the end", read(rd, c, 8));
    wr = open("fifo", O_WRONLY);
    VALUE_AS("poll with a new writer", polled(rd, POLLIN));
    close(rd);
    VALUE_AS("poll without a reader", polled(wr, POLLOUT));
    signal(SIGPIPE, SIG_IGN);
    CASE_AS("write without a reader", write(wr, "x", 1));
    close(wr);
    both = open("fifo", O_RDWR);
    VALUE_AS("open to read and write", both >= 0);
    CASE_AS("write to itself", write(both, "xyz", 3));
    VALUE_AS("poll of both", polled(both, POLLIN | POLLOUT));
    CASE_AS("read from itself", read(both, c, 8));
    CASE_AS("lseek", lseek(both, 0, SEEK_SET));
    CASE_AS("pread", pread(both, c, 1, 0));
    CASE_AS("fsync", fsync(both));
    CASE_AS("ftruncate", ftruncate(both, 0));
    CASE_AS("fallocate", fallocate(both, 0, 0, 1));
    write(both, "lost", 4);
    close(both);
    rd = open("fifo", O_RDONLY | O_NONBLOCK);
    CASE_AS("bytes are lost with the last end", read(rd, c, 8));
    close(rd);
    CASE_AS("O_TRUNC", close(open("fifo", O_RDWR | O_TRUNC)));
    CASE_AS("O_DIRECTORY", open("fifo", O_RDONLY | O_DIRECTORY));
}

static void write_one(void)
{
    int fd = open("fifo", O_WRONLY);

    if (write(fd, "1", 1) != 1)
        _exit(1);
}

static void leave_at_once(void) { close(open("fifo", O_WRONLY)); }

static void read_one(void)
{
    char c;
    int fd = open("fifo", O_RDONLY);

    if (read(fd, &c, 1) != 1)
        _exit(1);
}

static pid_t child(void (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0) {
        usleep(50000);
        fn();
        _exit(0);
    }
    return pid;
}

static void waiting(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    char c = 0;
    int fd, status;

    fflush(stdout);
    child(write_one);
    fd = open("fifo", O_RDONLY);
    CASE_AS("waited for a writer", read(fd, &c, 1));
    VALUE_AS("and got its byte", c);
    wait(&status);
    VALUE_AS("writer's end", status);
    close(fd);
    child(read_one);
    fd = open("fifo", O_WRONLY);
    CASE_AS("waited for a reader", write(fd, "2", 1));
    wait(&status);
    VALUE_AS("reader's end", status);
    close(fd);
    child(leave_at_once);
    fd = open("fifo", O_RDONLY);
    VALUE_AS("a writer that has left ends the wait too", fd >= 0);
    wait(&status);
    CASE_AS("there is nothing to read", read(fd, &c, 1));
    close(fd);
    sigaction(SIGALRM, &act, NULL);
    ualarm(50000, 0);
    CASE_AS("a signal ends the wait for a writer", open("fifo", O_RDONLY));
    ualarm(50000, 0);
    CASE_AS("a signal ends the wait for a reader", open("fifo", O_WRONLY));
    alarm(CASES_SECONDS);
    CASE_AS("and nothing of it is left", open("fifo", O_WRONLY | O_NONBLOCK));
}

static void sizes(void)
{
    int ends[2], file = open("/dev/null", O_RDONLY);

    pipe(ends);
    CASE_AS("F_GETPIPE_SZ", fcntl(ends[0], F_GETPIPE_SZ));
    CASE_AS("F_GETPIPE_SZ, no pipe", fcntl(file, F_GETPIPE_SZ));
    CASE_AS("F_SETPIPE_SZ, the same", fcntl(ends[1], F_SETPIPE_SZ, 65536));
    CASE_AS("F_SETPIPE_SZ, no pipe", fcntl(file, F_SETPIPE_SZ, 4096));
    CASE_AS("F_SETPIPE_SZ, negative", fcntl(ends[1], F_SETPIPE_SZ, -1));
}

/* A pipe without a name is opened again by the name that /proc gives its ends. */
static void opened_again(void)
{
    int ends[2], in, out;
    char path[32], c[4];
    struct stat st;

    pipe(ends);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    CASE_AS("stat of a pipe's end", stat(path, &st));
    TEXT("its mode", "%o", st.st_mode);
    in = open(path, O_RDONLY);
    out = open(path, O_WRONLY);
    TEXT("opened again, for both sides", "%d %d", in >= 0, out >= 0);
    CASE_AS("write at the new end", write(out, "abc", 3));
    CASE_AS("read at the old end", read(ends[0], c, 1));
    CASE_AS("read at the new end", read(in, c, 4));
    close(ends[1]);
    fcntl(in, F_SETFL, O_NONBLOCK);
    CASE_AS("a writer is left", read(in, c, 4));
    write(out, "d", 1);
    close(out);
    close(ends[0]);
    CASE_AS("what was written before the last writer went", read(in, c, 4));
    CASE_AS("no writer is left", read(in, c, 4));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
    out = open(path, O_RDWR);
    CASE_AS("for both", write(out, "ef", 2));
    close(in);
    CASE_AS("the last end reads", read(out, c, 4));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
    in = open(path, O_PATH);
    close(out);
    CASE_AS("an inode without a pipe", fstat(in, &st));
    close(in);
    pipe(ends);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
    close(ends[1]);
    in = open(path, O_RDONLY);
    CASE_AS("for reading there is no wait", read(in, c, 4));
    close(in);
    close(ends[0]);
}

static void devices(void)
{
    static const char *const links[] = {"/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"};
    unsigned char c[64] = {1}, d[64];
    int fd = open("/dev/full", O_RDWR), same;
    struct stat st;

    CASE_AS("read /dev/full", read(fd, c, 8));
    VALUE_AS("gives zeroes", c[0] | c[7]);
    CASE_AS("write /dev/full", write(fd, c, 8));
    CASE_AS("write nothing to /dev/full", write(fd, c, 0));
    close(fd);
    fd = open("/dev/urandom", O_RDWR);
    CASE_AS("read /dev/urandom", read(fd, c, 64));
    read(fd, d, 64);
    same = memcmp(c, d, 64) == 0;
    VALUE_AS("the same twice", same);
    CASE_AS("write /dev/urandom", write(fd, c, 8));
    CASE_AS("read to an address without memory", read(fd, (void *)8, 8));
    close(fd);
    fd = open("/dev/random", O_RDONLY);
    CASE_AS("read /dev/random", read(fd, c, 16));
    close(fd);
    CASE_AS("stat /dev/shm", stat("/dev/shm", &st));
    TEXT("/dev/shm", "%o", st.st_mode);
    for (int k = 0; k < 4; k++) {
        char text[64] = "";
        ssize_t n = readlink(links[k], text, sizeof(text) - 1);

        TEXT(links[k], "%s", n < 0 ? "none" : text);
    }
    fd = open("/dev/null", O_RDONLY);
    CASE_AS("fsync of a device", fsync(fd));
    CASE_AS("read /dev/null", read(fd, c, 8));
    close(fd);
}

int main(void)
{
    cases_begin();
    without_waiting();
    waiting();
    sizes();
    devices();
    opened_again();
    unlink("fifo");
    return 0;
}
