/* splice, tee and vmsplice, from splice(2), tee(2), vmsplice(2), pipe(7). */
#include "conformance.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int a[2], b[2], file, other;
static char bytes[200000], got[200000];

static void fresh(void)
{
    static int begun;

    if (begun) {
        close(a[0]), close(a[1]), close(b[0]), close(b[1]);
    }
    begun = 1;
    pipe(a);
    pipe(b);
}

static void write_all(int fd, size_t n) { (void)!write(fd, bytes, n); }

/* How many of the bytes in a pipe are those from `at` on; -1: one is another. */
static long holds(int fd, size_t at)
{
    long n;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    n = read(fd, got, sizeof(got));
    fcntl(fd, F_SETFL, 0);
    return n > 0 && memcmp(got, bytes + at, (size_t)n) != 0 ? -2 : n;
}

static long in_file(int fd, off_t from)
{
    long n = pread(fd, got, sizeof(got), from);

    return n > 0 && memcmp(got, bytes, (size_t)n) != 0 ? -2 : n;
}

static void file_to_pipe(void)
{
    off_t off = 50;
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    fresh();
    lseek(file, 0, SEEK_SET);
    CASE_AS("file to pipe", splice(file, NULL, a[1], NULL, 100, 0));
    CASE_AS("its position", lseek(file, 0, SEEK_CUR));
    CASE_AS("the bytes", holds(a[0], 0));
    CASE_AS("at an offset", splice(file, &off, a[1], NULL, 100, 0));
    VALUE_AS("the offset", off);
    CASE_AS("the position stays", lseek(file, 0, SEEK_CUR));
    CASE_AS("the bytes", holds(a[0], 50));
    CASE_AS("no bytes", splice(file, NULL, a[1], NULL, 0, 0));
    CASE_AS("no bytes, bad descriptors", splice(-1, NULL, -1, NULL, 0, 0));
    off = 100000;
    CASE_AS("at the end", splice(file, &off, a[1], NULL, 100, 0));
    off = 99990;
    CASE_AS("near the end", splice(file, &off, a[1], NULL, 100, 0));
    CASE_AS("the bytes", holds(a[0], 99990));
    off = -1;
    CASE_AS("a negative offset", splice(file, &off, a[1], NULL, 100, 0));
    CASE_AS("a bad offset", splice(file, nowhere, a[1], NULL, 100, 0));
    off = 0;
    CASE_AS("offset of a pipe", splice(file, NULL, a[1], &off, 100, 0));
    off = 0;
    CASE_AS("more than it holds", splice(file, &off, a[1], NULL, 100000, 0));
    VALUE_AS("the offset", off);
    CASE_AS("it is full", splice(file, &off, a[1], NULL, 100, SPLICE_F_NONBLOCK));
    VALUE_AS("the offset", off);
    CASE_AS("the bytes", holds(a[0], 0));
    CASE_AS("across two pages", (off = 8000, splice(file, &off, a[1], NULL, 20000, 0)));
    CASE_AS("the bytes", holds(a[0], 8000));
    munmap(nowhere, 65536);
}

static void pipe_to_file(void)
{
    off_t off = 1000;

    fresh();
    write_all(a[1], 30000);
    ftruncate(other, 0);
    lseek(other, 0, SEEK_SET);
    CASE_AS("pipe to file", splice(a[0], NULL, other, NULL, 100, 0));
    CASE_AS("its position", lseek(other, 0, SEEK_CUR));
    CASE_AS("its bytes", in_file(other, 0));
    CASE_AS("all that is there", splice(a[0], NULL, other, NULL, 100000, 0));
    CASE_AS("its bytes", in_file(other, 0));
    CASE_AS("empty", splice(a[0], NULL, other, NULL, 100, SPLICE_F_NONBLOCK));
    write_all(a[1], 10);
    CASE_AS("at an offset", splice(a[0], NULL, other, &off, 100, 0));
    VALUE_AS("the offset", off);
    CASE_AS("the position stays", lseek(other, 0, SEEK_CUR));
    write_all(a[1], 10);
    off = 0;
    CASE_AS("an offset of the pipe", splice(a[0], &off, other, NULL, 100, 0));
    fcntl(other, F_SETFL, O_APPEND);
    CASE_AS("O_APPEND", splice(a[0], NULL, other, NULL, 100, 0));
    fcntl(other, F_SETFL, 0);
    CASE_AS("it is still there", holds(a[0], 0));
    close(a[1]);
    CASE_AS("no writer", splice(a[0], NULL, other, NULL, 100, 0));
    a[1] = dup(b[1]);
    write_all(b[1], 10);
    CASE_AS("to /dev/null", splice(b[0], NULL, open("/dev/null", O_WRONLY), NULL, 100, 0));
}

static void errors(void)
{
    int readable = open("file", O_RDONLY), writable = open("other", O_WRONLY);

    fresh();
    write_all(a[1], 10);
    CASE_AS("bad descriptor", splice(-1, NULL, a[1], NULL, 10, 0));
    CASE_AS("bad second descriptor", splice(a[0], NULL, 99, NULL, 10, 0));
    CASE_AS("two files", splice(file, NULL, other, NULL, 10, 0));
    CASE_AS("from the write end", splice(a[1], NULL, other, NULL, 10, 0));
    CASE_AS("to the read end", splice(file, NULL, a[0], NULL, 10, 0));
    CASE_AS("from a file that is for writing", splice(writable, NULL, a[1], NULL, 10, 0));
    CASE_AS("to a file that is for reading", splice(a[0], NULL, readable, NULL, 10, 0));
    CASE_AS("a pipe with itself", splice(a[0], NULL, a[1], NULL, 10, 0));
    CASE_AS("an unknown flag", splice(a[0], NULL, b[1], NULL, 10, 16));
    CASE_AS("all flags", splice(a[0], NULL, b[1], NULL, 10, 15));
    CASE_AS("O_PATH", splice(open("file", O_PATH), NULL, a[1], NULL, 10, 0));
    CASE_AS("from a directory", splice(open(".", O_RDONLY), NULL, a[1], NULL, 10, 0));
    close(readable), close(writable);
    signal(SIGPIPE, SIG_IGN);
    close(b[0]);
    write_all(a[1], 10);
    CASE_AS("no reader, from a file", splice(file, NULL, b[1], NULL, 10, 0));
    CASE_AS("no reader, from a pipe", splice(a[0], NULL, b[1], NULL, 10, 0));
    CASE_AS("no reader, tee", tee(a[0], b[1], 10, 0));
    CASE_AS("it is still there", holds(a[0], 0));
    signal(SIGPIPE, SIG_DFL);
    b[0] = dup(a[0]);
}

static void broken(void)
{
    close(b[0]);
    splice(file, &(off_t){0}, b[1], NULL, 10, 0);
}

static void between(void)
{
    fresh();
    write_all(a[1], 30000);
    CASE_AS("pipe to pipe", splice(a[0], NULL, b[1], NULL, 10000, 0));
    CASE_AS("what has come", holds(b[0], 0));
    CASE_AS("what has stayed", holds(a[0], 10000));
    CASE_AS("both empty", splice(a[0], NULL, b[1], NULL, 10, SPLICE_F_NONBLOCK));
    fcntl(a[0], F_SETFL, O_NONBLOCK);
    CASE_AS("an end that does not wait", splice(a[0], NULL, b[1], NULL, 10, 0));
    fcntl(a[0], F_SETFL, 0);
    write_all(a[1], 65536);
    write_all(b[1], 65536);
    CASE_AS("both full", splice(a[0], NULL, b[1], NULL, 10, SPLICE_F_NONBLOCK));
    CASE_AS("tee, both full", tee(a[0], b[1], 10, SPLICE_F_NONBLOCK));
    holds(b[0], 0);
    CASE_AS("a whole pipe", splice(a[0], NULL, b[1], NULL, 1000000, 0));
    CASE_AS("what has come", holds(b[0], 0));
    in_child("SIGPIPE", broken);
}

static void tees(void)
{
    fresh();
    write_all(a[1], 30000);
    CASE_AS("tee", tee(a[0], b[1], 10000, 0));
    CASE_AS("its copy", holds(b[0], 0));
    CASE_AS("tee, all", tee(a[0], b[1], 100000, 0));
    CASE_AS("its copy", holds(b[0], 0));
    CASE_AS("the original", holds(a[0], 0));
    CASE_AS("tee, empty", tee(a[0], b[1], 10, SPLICE_F_NONBLOCK));
    CASE_AS("tee, no bytes", tee(a[0], b[1], 0, 0));
    CASE_AS("tee, unknown flag", tee(a[0], b[1], 10, 16));
    CASE_AS("tee, no bytes and an unknown flag", tee(a[0], b[1], 0, 16));
    CASE_AS("tee, a file", tee(file, b[1], 10, 0));
    CASE_AS("tee, to a file", tee(a[0], other, 10, 0));
    CASE_AS("tee, to itself", tee(a[0], a[1], 10, 0));
    CASE_AS("tee, wrong ends", tee(a[1], b[0], 10, 0));
    CASE_AS("tee, bad descriptor", tee(a[0], 99, 10, 0));
    close(a[1]);
    CASE_AS("tee, no writer", tee(a[0], b[1], 10, 0));
    a[1] = dup(b[1]);
}

static void sockets(void)
{
    off_t off = 0;
    int s[2];

    fresh();
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    write_all(s[0], 100);
    CASE_AS("socket to pipe", splice(s[1], NULL, a[1], NULL, 40, 0));
    CASE_AS("the others", splice(s[1], NULL, a[1], NULL, 1000, 0));
    CASE_AS("the bytes of the socket", holds(a[0], 0));
    CASE_AS("an empty socket", splice(s[1], NULL, a[1], NULL, 10, SPLICE_F_NONBLOCK));
    CASE_AS("an offset of a socket", splice(s[1], &off, a[1], NULL, 10, 0));
    write_all(a[1], 100);
    CASE_AS("pipe to socket", splice(a[0], NULL, s[0], NULL, 40, 0));
    CASE_AS("an offset of that", splice(a[0], NULL, s[0], &off, 10, 0));
    CASE_AS("what comes", holds(s[1], 0));
    CASE_AS("two sockets", splice(s[0], NULL, s[1], NULL, 10, 0));
    CASE_AS("tee from a socket", tee(s[0], a[1], 10, 0));
    CASE_AS("tee to a socket", tee(a[0], s[1], 10, 0));
    CASE_AS("sendfile to a socket", sendfile(s[0], file, &(off_t){0}, 100));
    CASE_AS("what comes then", holds(s[1], 0));
    CASE_AS("sendfile from a socket", sendfile(other, s[1], NULL, 10));
    write_all(s[0], 10);
    close(s[0]);
    CASE_AS("its last bytes", splice(s[1], NULL, b[1], NULL, 100, 0));
    CASE_AS("its end", splice(s[1], NULL, b[1], NULL, 100, 0));
    signal(SIGPIPE, SIG_IGN);
    CASE_AS("to one without peer", splice(a[0], NULL, s[1], NULL, 100, 0));
    signal(SIGPIPE, SIG_DFL);
    close(s[1]);
    s[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    CASE_AS("from one that is not connected", splice(s[0], NULL, b[1], NULL, 10, 0));
    CASE_AS("to one that is not connected", splice(a[0], NULL, s[0], NULL, 10, 0));
    close(s[0]);
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s);
    write_all(s[0], 10);
    CASE_AS("a packet", splice(s[1], NULL, b[1], NULL, 100, 0));
    close(s[0]), close(s[1]);
}

static void vectors(void)
{
    struct iovec v[3] = {{bytes, 100}, {bytes + 100, 0}, {bytes + 100, 20000}};
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec large = {bytes, 200000}, bad = {nowhere, 100}, wrong = {bytes, -1};

    fresh();
    CASE_AS("vmsplice", vmsplice(a[1], v, 3, 0));
    CASE_AS("the bytes", holds(a[0], 0));
    CASE_AS("vmsplice, with a gift", vmsplice(a[1], v, 1, SPLICE_F_GIFT));
    memset(got, 0, sizeof(got));
    v[0].iov_base = got, v[2].iov_base = got + 100;
    CASE_AS("vmsplice, out", vmsplice(a[0], v, 3, 0));
    VALUE_AS("the bytes", memcmp(got, bytes, 100));
    CASE_AS("vmsplice, out of an empty one", vmsplice(a[0], v, 3, SPLICE_F_NONBLOCK));
    CASE_AS("vmsplice, no buffers", vmsplice(a[1], v, 0, 0));
    CASE_AS("vmsplice, too many buffers", vmsplice(a[1], v, 1025, 0));
    CASE_AS("vmsplice, unknown flag", vmsplice(a[1], v, 1, 16));
    CASE_AS("vmsplice, a file", vmsplice(file, v, 1, 0));
    CASE_AS("vmsplice, bad descriptor", vmsplice(-1, v, 1, 0));
    CASE_AS("vmsplice, a bad vector", vmsplice(a[1], nowhere, 1, 0));
    CASE_AS("vmsplice, a bad buffer", vmsplice(a[1], &bad, 1, 0));
    CASE_AS("vmsplice, a negative length", vmsplice(a[1], &wrong, 1, 0));
    CASE_AS("nothing has come", holds(a[0], 0));
    CASE_AS("vmsplice, more than it holds", vmsplice(a[1], &large, 1, 0) > 0);
    CASE_AS("vmsplice, full", vmsplice(a[1], &large, 1, SPLICE_F_NONBLOCK));
    CASE_AS("the bytes", holds(a[0], 0) > 0);
    close(a[1]);
    CASE_AS("vmsplice, no writer", vmsplice(a[0], v, 1, 0));
    a[1] = dup(b[1]);
    signal(SIGPIPE, SIG_IGN);
    close(b[0]);
    CASE_AS("vmsplice, no reader", vmsplice(b[1], &large, 1, 0));
    signal(SIGPIPE, SIG_DFL);
    b[0] = dup(a[0]);
    munmap(nowhere, 65536);
}

static void interrupt(int sig) { (void)sig; }

static void waits(void)
{
    struct sigaction act = {.sa_handler = interrupt};
    pid_t pid;

    fresh();
    sigaction(SIGUSR1, &act, NULL);
    if ((pid = fork()) == 0) {
        usleep(100000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    CASE_AS("interrupted", splice(a[0], NULL, b[1], NULL, 10, 0));
    waitpid(pid, NULL, 0);
    if ((pid = fork()) == 0) {
        usleep(100000);
        write_all(a[1], 77);
        _exit(0);
    }
    CASE_AS("waited for bytes", splice(a[0], NULL, b[1], NULL, 1000, 0));
    waitpid(pid, NULL, 0);
    holds(b[0], 0);
    write_all(a[1], 65536);
    if ((pid = fork()) == 0) {
        usleep(100000);
        (void)!read(a[0], got, 65536);
        _exit(0);
    }
    CASE_AS("waited for room", splice(file, &(off_t){0}, a[1], NULL, 1000, 0));
    waitpid(pid, NULL, 0);
}

int main(void)
{
    cases_begin();
    for (size_t k = 0; k < sizeof(bytes); k++)
        bytes[k] = (char)(k * 7 + k / 251);
    file = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600);
    (void)!write(file, bytes, 100000);
    other = open("other", O_CREAT | O_RDWR | O_TRUNC, 0600);
    file_to_pipe();
    pipe_to_file();
    errors();
    between();
    tees();
    sockets();
    vectors();
    waits();
    return 0;
}
