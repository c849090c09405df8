/* Random bytes: getrandom and the devices; from getrandom(2), random(4), random(7). */
#include "conformance.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>

#ifndef GRND_INSECURE
#define GRND_INSECURE 4
#endif

static char bytes[4096];

/* How many of n bytes are not zero, in eighths of n: 7 or 8 of random ones. */
static int eighths(size_t n)
{
    size_t set = 0;

    for (size_t k = 0; k < n; k++)
        set += bytes[k] != 0;
    return (int)((set * 8 + n / 2) / n);
}

static void calls(void)
{
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CASE_AS("getrandom", getrandom(bytes, sizeof(bytes), 0));
    VALUE_AS("its bytes", eighths(sizeof(bytes)));
    CASE_AS("getrandom, no bytes", getrandom(bytes, 0, 0));
    CASE_AS("getrandom, no bytes at a bad address", getrandom(nowhere, 0, 0));
    CASE_AS("getrandom, a bad address", getrandom(nowhere, 8, 0));
    CASE_AS("getrandom, one byte", getrandom(bytes, 1, 0));
    CASE_AS("GRND_NONBLOCK", getrandom(bytes, 32, GRND_NONBLOCK));
    CASE_AS("GRND_RANDOM", getrandom(bytes, 32, GRND_RANDOM));
    CASE_AS("GRND_RANDOM | GRND_NONBLOCK", getrandom(bytes, 32, GRND_RANDOM | GRND_NONBLOCK));
    CASE_AS("GRND_INSECURE", getrandom(bytes, 32, GRND_INSECURE));
    CASE_AS("GRND_INSECURE | GRND_NONBLOCK", getrandom(bytes, 32, GRND_INSECURE | GRND_NONBLOCK));
    CASE_AS("GRND_INSECURE | GRND_RANDOM", getrandom(bytes, 32, GRND_INSECURE | GRND_RANDOM));
    CASE_AS("an unknown flag", getrandom(bytes, 32, 8));
    CASE_AS("an unknown flag of the sign", getrandom(bytes, 32, 0x80000000u));
    CASE_AS("an unknown flag and a bad address", getrandom(nowhere, 32, 8));
    CASE_AS("getentropy", getentropy(bytes, 256));
    CASE_AS("getentropy, too much", getentropy(bytes, 257));
    munmap(nowhere, 65536);
}

static void device(const char *name)
{
    char text[64];
    void *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = open(name, O_RDWR | O_NONBLOCK);
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
    struct stat st;

#define NAMED(what) (snprintf(text, sizeof(text), "%s, %s", name, what), text)
    memset(bytes, 0, sizeof(bytes));
    CASE_AS(NAMED("read"), read(fd, bytes, 512));
    VALUE_AS(NAMED("its bytes"), eighths(512));
    CASE_AS(NAMED("read of nothing"), read(fd, bytes, 0));
    CASE_AS(NAMED("read to a bad address"), read(fd, nowhere, 8));
    CASE_AS(NAMED("write"), write(fd, bytes, 100));
    CASE_AS(NAMED("write of nothing"), write(fd, bytes, 0));
    CASE_AS(NAMED("write from a bad address"), write(fd, nowhere, 8));
    CASE_AS(NAMED("lseek"), lseek(fd, 100, SEEK_SET));
    CASE_AS(NAMED("poll"), poll(&p, 1, 0));
    VALUE_AS(NAMED("its events"), p.revents & (POLLIN | POLLOUT));
    CASE_AS(NAMED("ftruncate"), ftruncate(fd, 0));
    CASE_AS(NAMED("fstat"), fstat(fd, &st));
    VALUE_AS(NAMED("its type"), (st.st_mode & S_IFMT) == S_IFCHR);
    close(fd);
    munmap(nowhere, 65536);
}

static void number(const char *name)
{
    char path[64], text[16] = "";
    int fd;

    snprintf(path, sizeof(path), "/proc/sys/kernel/random/%s", name);
    fd = open(path, O_RDONLY);
    VALUE_AS(name, read(fd, text, sizeof(text) - 1) > 0 ? atol(text) : -1);
    close(fd);
}

/* RFC 4122: version 4, variant 1. */
static void uuid(void)
{
    char a[64] = "", b[64] = "";
    int fd = open("/proc/sys/kernel/random/uuid", O_RDONLY);

    CASE_AS("uuid", read(fd, a, sizeof(a)));
    VALUE_AS("its version", a[14] == '4');
    VALUE_AS("its variant", a[19] == '8' || a[19] == '9' || a[19] == 'a' || a[19] == 'b');
    CASE_AS("from the start again", pread(fd, b, sizeof(b), 0));
    VALUE_AS("it is another one", strcmp(a, b) != 0);
    lseek(fd, 0, SEEK_SET);
    CASE_AS("from the start by lseek", read(fd, a, 1) == 1 ? read(fd, a + 1, sizeof(a) - 1) : -1);
    VALUE_AS("it is a third one", strcmp(a, b) != 0);
    close(fd);
}

int main(void)
{
    cases_begin();
    calls();
    device("/dev/random");
    device("/dev/urandom");
    number("poolsize");
    number("entropy_avail");
    uuid();
    return 0;
}
