/*
 * Ends by a trap of its own, in the way that its argument names, so that a test can compare what
 * the console says of it with what happened. Functions are not inlined, and calls are not the last
 * thing that they do, so that the callers are known.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 8192

static volatile int sink;

#define WAY static int __attribute__((noipa))

/* A function without a frame; its neighbour leaves early, and so has a `ret` in its middle. */
static void __attribute__((noipa)) store(volatile char *p) { *p = 1; }

static int __attribute__((noipa)) middle(int n, volatile char *p)
{
    char room[200];

    memset(room, n, sizeof(room));
    if (n == 77)
        return 3;
    store(p);
    return room[n & 31] + (int)getpid();
}

static int __attribute__((noipa)) outer(volatile char *p) { return middle(5, p) + 1; }

static int __attribute__((noipa)) deeper(int n)
{
    volatile char room[3 * PAGE];

    if (n < 0)
        return 0;
    room[n & 1023] = (char)n;
    return deeper(n + 1) + room[n & 1023];
}

static int __attribute__((noipa)) divide(int by) { return 5 / by + 1; }

static char *map(size_t n, int prot)
{
    return mmap(NULL, n, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

WAY null(void) { return outer(NULL) + 1; }

WAY read_only(void) { return outer(map(PAGE, PROT_READ) + 9) + 1; }

WAY guard(void)
{
    char *p = map(2 * PAGE, PROT_READ | PROT_WRITE);

    return mprotect(p, PAGE, PROT_NONE) ? 0 : outer(p + 100) + 1;
}

WAY past_mapping(void)
{
    char *p = map(3 * PAGE, PROT_READ | PROT_WRITE);

    return munmap(p + PAGE, 2 * PAGE) ? 0 : outer(p + PAGE + 24) + 1;
}

WAY past_file(void)
{
    int fd = open("/tmp/short", O_RDWR | O_CREAT, 0600);
    char *p = write(fd, "x", 1) == 1
                  ? mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                  : NULL;

    return outer(p + PAGE + 3) + 1;
}

WAY stack(void) { return deeper(0) + 1; }

WAY nowhere(void) { return ((int (*)(void))8)() + 1; }

WAY zero(void) { return divide(sink) + 1; }

WAY illegal(void)
{
    __asm__ volatile(".long 0x04000000");
    return 0;
}

/* What is sent, not caused, is not explained. */
static int sent(void) { return kill(getpid(), SIGSEGV); }

static int handled(void)
{
    signal(SIGSEGV, _exit);
    return outer(NULL);
}

static const struct {
    const char *name;
    int (*run)(void);
} ways[] = {{"null", null},           {"read_only", read_only},
            {"guard", guard},         {"past_mapping", past_mapping},
            {"past_file", past_file}, {"stack", stack},
            {"nowhere", nowhere},     {"zero", zero},
            {"illegal", illegal},     {"sent", sent},
            {"handled", handled}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (!strcmp(ways[i].name, argv[1]))
            return ways[i].run() + 1;
    fprintf(stderr, "usage: crashes WAY\n");
    return 2;
}
