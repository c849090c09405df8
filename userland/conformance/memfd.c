/* Files without a name in memory, and their seals; mappings of /dev/zero; from memfd_create(2),
   fcntl(2), zero(4). */
#include "conformance.h"

#include <fcntl.h>
#include <sys/stat.h>

static size_t page;
static const char *volatile nowhere = (char *)8; /* no memory there */

static long add_seals(int fd, int seals) { return fcntl(fd, F_ADD_SEALS, seals); }

static void creating(void)
{
    char name[300];
    struct stat st;
    int fd = memfd_create("one", 0), ordinary = open("memfd.file", O_RDWR | O_CREAT, 0600);

    fstat(fd, &st);
    VALUE_AS("mode", st.st_mode);
    VALUE_AS("links", (long)st.st_nlink);
    VALUE_AS("size", st.st_size);
    VALUE_AS("close on exec", fcntl(fd, F_GETFD));
    CASE_AS("seals without MFD_ALLOW_SEALING", fcntl(fd, F_GET_SEALS));
    CASE_AS("to seal it", add_seals(fd, F_SEAL_GROW));
    CASE_AS("write", write(fd, "abc", 3));
    CASE_AS("truncate", ftruncate(fd, 10000));
    close(fd);
    fd = memfd_create("two", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    VALUE_AS("MFD_CLOEXEC", fcntl(fd, F_GETFD));
    CASE_AS("seals of a new one", fcntl(fd, F_GET_SEALS));
    close(fd);
    CASE_AS("unknown flags", memfd_create("x", 0x4000));
    CASE_AS("no name", memfd_create(nowhere, 0));
    memset(name, 'x', sizeof(name));
    name[250] = 0;
    CASE_AS("a name of 250 bytes", memfd_create(name, 0));
    name[249] = 0;
    CASE_AS("a name of 249 bytes", close(memfd_create(name, 0)));
    CASE_AS("seals of an ordinary file", fcntl(ordinary, F_GET_SEALS));
    CASE_AS("seals of a bad descriptor", fcntl(99, F_GET_SEALS));
    close(ordinary);
    unlink("memfd.file");
}

static void sealing(void)
{
    int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
    char *p, path[40];
    int rdonly;

    write(fd, "0123456789", 10);
    CASE_AS("F_SEAL_GROW", add_seals(fd, F_SEAL_GROW));
    CASE_AS("write within", pwrite(fd, "x", 1, 0));
    CASE_AS("write beyond", pwrite(fd, "x", 1, 10));
    CASE_AS("truncate up", ftruncate(fd, 20));
    CASE_AS("allocate beyond", fallocate(fd, 0, 0, 20));
    CASE_AS("truncate down", ftruncate(fd, 5));
    CASE_AS("F_SEAL_SHRINK", add_seals(fd, F_SEAL_SHRINK));
    CASE_AS("truncate down again", ftruncate(fd, 2));
    CASE_AS("truncate to the same", ftruncate(fd, 5));
    p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    VALUE_AS("mapped", p != MAP_FAILED);
    CASE_AS("F_SEAL_WRITE while mapped", add_seals(fd, F_SEAL_WRITE));
    CASE_AS("F_SEAL_FUTURE_WRITE", add_seals(fd, F_SEAL_FUTURE_WRITE));
    p[0] = 'y';
    CASE_AS("write after F_SEAL_FUTURE_WRITE", pwrite(fd, "x", 1, 0));
    munmap(p, page);
    CASE_AS("F_SEAL_WRITE", add_seals(fd, F_SEAL_WRITE));
    MAPPED(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    MAPPED(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    rdonly = open(path, O_RDONLY);
    VALUE_AS("opened again", rdonly >= 0);
    CASE_AS("to seal it, open for reading", add_seals(rdonly, F_SEAL_SEAL));
    CASE_AS("punch a hole", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
    CASE_AS("unknown seals", add_seals(fd, 0x1000));
    CASE_AS("F_SEAL_SEAL", add_seals(fd, F_SEAL_SEAL));
    CASE_AS("another seal", add_seals(fd, F_SEAL_GROW));
    CASE_AS("all seals", fcntl(fd, F_GET_SEALS));
    close(rdonly);
    close(fd);
}

/* mmap, only whether it succeeds. */
#define PLACED(name, call)                                     \
    do {                                                       \
        void *p_;                                              \
                                                               \
        errno = 0;                                             \
        p_ = (call);                                           \
        report_result(name, p_ == MAP_FAILED ? -1 : 0, errno); \
    } while (0)

/* There are no huge pages in the pool. */
static void huge(void)
{
    size_t unit = 4 << 20; /* of Linux's size, too */
    struct stat st;
    int fd = memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING), plain;

    VALUE_AS("of huge pages", fd >= 0);
    CASE_AS("of huge pages of 16 KiB", memfd_create("huge", MFD_HUGETLB | 14u << 26));
    CASE_AS("a size without huge pages", memfd_create("huge", 22u << 26));
    CASE_AS("of huge pages, unknown flags", memfd_create("huge", MFD_HUGETLB | 0x4000));
    CASE_AS("of huge pages, seals", fcntl(fd, F_GET_SEALS));
    CASE_AS("of huge pages, truncate to 4 MiB", ftruncate(fd, (off_t)unit));
    fstat(fd, &st);
    VALUE_AS("of huge pages, mode", st.st_mode);
    VALUE_AS("of huge pages, size", st.st_size);
    VALUE_AS("of huge pages, blocks", st.st_blocks);
    CASE_AS("of huge pages, truncate to a page more", ftruncate(fd, (off_t)(unit + page)));
    CASE_AS("of huge pages, write", write(fd, "abc", 3));
    CASE_AS("of huge pages, pwrite", pwrite(fd, "abc", 3, 0));
    CASE_AS("of huge pages, pread", pread(fd, &st, 10, 100));
    CASE_AS("of huge pages, pread of the end", pread(fd, &st, 10, (off_t)unit - 5));
    CASE_AS("of huge pages, lseek to its end", lseek(fd, 0, SEEK_END));
    CASE_AS("of huge pages, read there", read(fd, &st, 10));
    PLACED("of huge pages, mapped", mmap(NULL, unit, PROT_READ, MAP_SHARED, fd, 0));
    PLACED("of huge pages, mapped private",
           mmap(NULL, unit, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    PLACED("of huge pages, at an offset", mmap(NULL, unit, PROT_READ, MAP_SHARED, fd, (off_t)page));
    PLACED("private huge pages", mmap(NULL, unit, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0));
    CASE_AS("of huge pages, F_SEAL_GROW", add_seals(fd, F_SEAL_GROW));
    CASE_AS("of huge pages, grow", ftruncate(fd, 2 * (off_t)unit));
    CASE_AS("of huge pages, F_SEAL_WRITE", add_seals(fd, F_SEAL_WRITE));
    CASE_AS("of huge pages, shrink", ftruncate(fd, 0));
    close(fd);
    plain = memfd_create("plain", 0);
    PLACED("MAP_HUGETLB of an ordinary one",
           mmap(NULL, unit, PROT_READ, MAP_SHARED | MAP_HUGETLB, plain, 0));
    close(plain);
}

static void zeroes(void)
{
    int fd = open("/dev/zero", O_RDWR);
    char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int status;

    VALUE_AS("/dev/zero mapped", p != MAP_FAILED && shared != MAP_FAILED);
    p[page] = 1;
    VALUE_AS("private memory", p[0] + p[page]);
    fflush(stdout);
    if (fork() == 0) {
        shared[5] = 77;
        p[0] = 5;
        _exit(0);
    }
    wait(&status);
    VALUE_AS("shared with a child", shared[5]);
    VALUE_AS("private from a child", p[0]);
    close(fd);
}

int main(void)
{
    cases_begin();
    page = (size_t)sysconf(_SC_PAGESIZE);
    creating();
    sealing();
    huge();
    zeroes();
    return 0;
}
