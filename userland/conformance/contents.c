/* Contents of files: positions, vectors, appending, holes and space allocated ahead, copies made by
   the kernel, lengths; from the manual pages of section 2. */
#include "conformance.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char *volatile nowhere = (char *)8; /* no memory there */
static volatile int negative = -1, too_many = 1025;
static int file, rdonly, wronly, folder, ends[2];

static void fill(int fd, const char *text)
{
    ftruncate(fd, 0);
    pwrite(fd, text, strlen(text), 0);
    lseek(fd, 0, SEEK_SET);
}

/* What the file has now, up to 60 bytes, zeroes as dots. */
static void shows(const char *name, int fd)
{
    char text[61];
    ssize_t n = pread(fd, text, 60, 0);

    for (ssize_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = '.';
    text[n < 0 ? 0 : n] = 0;
    TEXT(name, "\"%s\", position %ld", text, (long)lseek(fd, 0, SEEK_CUR));
}

static long size_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) ? -1 : (long)st.st_size;
}

static void positions(void)
{
    char c[8];
    int append = open("conformance.file", O_RDWR | O_APPEND);

    fill(file, "abcdef");
    CASE(lseek(file, -1, SEEK_SET));
    CASE(lseek(file, 2, SEEK_END));
    CASE(lseek(file, -9, SEEK_CUR));
    CASE(lseek(file, 0, 9));
    CASE(lseek(file, INT64_MAX, SEEK_CUR));
    CASE(lseek(ends[0], 0, SEEK_CUR));
    CASE(lseek(file, 2, SEEK_DATA));
    CASE(lseek(file, 2, SEEK_HOLE));
    CASE(lseek(file, 6, SEEK_DATA));
    CASE(lseek(file, 7, SEEK_HOLE));
    CASE(lseek(file, -1, SEEK_DATA));
    CASE(pread(file, c, 4, 4));
    CASE(pread(file, c, 4, 6));
    CASE(pread(file, c, 4, -1));
    CASE(pread(wronly, c, 4, 0));
    CASE(pread(ends[0], c, 4, 0));
    CASE(pread(folder, c, 4, 0));
    CASE(pread(file, nowhere, 4, 0));
    CASE(pread(file, nowhere, 0, 0));
    CASE(pwrite(rdonly, c, 4, 0));
    CASE(pwrite(ends[1], c, 4, 0));
    CASE(pwrite(file, c, 4, -1));
    CASE(pwrite(append, "XY", 2, 0));
    shows("pwrite with O_APPEND appends", append);
    CASE(write(append, "Z", 1));
    shows("write with O_APPEND", append);
    CASE(read(folder, c, 4));
    CASE(read(99, c, 4));
    CASE(read(wronly, c, 4));
    CASE(write(rdonly, c, 4));
    CASE(write(file, nowhere, 4));
    CASE(ftruncate(file, -1));
    CASE(ftruncate(rdonly, 1));
    CASE(ftruncate(ends[1], 1));
    CASE(truncate("conformance.file", -1));
    CASE(truncate("none", 1));
    CASE(truncate(".", 1));
    CASE(truncate("conformance.file/x", 1));
    CASE(truncate("conformance.file", 3));
    shows("truncated", append);
    CASE(truncate("conformance.file", 5));
    shows("extended", append);
    close(append);
}

static void vectors(void)
{
    char a[4] = "", b[4] = "";
    struct iovec v[3] = {{a, 2}, {NULL, 0}, {b, 3}}, bad[2] = {{a, 2}, {nowhere, 2}};
    struct iovec huge[2] = {{a, SIZE_MAX / 2}, {b, SIZE_MAX / 2}};

    fill(file, "abcdefgh");
    CASE(readv(file, v, 3));
    TEXT("readv reads", "%.2s %.3s", a, b);
    CASE(preadv(file, v, 3, 4));
    TEXT("preadv reads", "%.2s %.3s", a, b);
    shows("and leaves the position", file);
    CASE(preadv(file, v, 3, -1));
    CASE(preadv(ends[0], v, 3, 0));
    CASE(preadv(wronly, v, 3, 0));
    CASE(preadv(file, v, negative, 0));
    CASE(preadv(file, v, too_many, 0));
    CASE(preadv(file, v, 0, 0));
    CASE(preadv(file, huge, 2, 0));
    CASE(preadv(file, bad, 2, 0));
    CASE(preadv(file, (struct iovec *)nowhere, 1, 0));
    CASE(preadv(99, v, 1, 0));
    CASE(pwritev(file, v, 3, 7));
    shows("pwritev", file);
    CASE(pwritev(rdonly, v, 3, 7));
    CASE(pwritev(ends[1], v, 3, 7));
    CASE(pwritev(file, v, 3, -1));
    CASE(preadv2(file, v, 3, -1, 0));
    shows("preadv2 at the position", file);
    CASE(preadv2(file, v, 1, 0, 0x8000));
    CASE(preadv2(file, v, 1, -2, 0));
    CASE(pwritev2(file, v, 1, 0, RWF_APPEND));
    shows("RWF_APPEND", file);
    CASE(pwritev2(file, v, 1, 0, RWF_DSYNC | RWF_SYNC));
    CASE(writev(ends[1], v, 3));
    CASE(readv(ends[0], v, 1));
    CASE(read(ends[0], a, 4));
}

static void space(void)
{
    struct stat st;

    fill(file, "0123456789");
    CASE(fallocate(file, 0, 0, 5));
    VALUE_AS("size after 0, 5", size_of(file));
    CASE(fallocate(file, 0, 5, 10));
    shows("fallocate past the end", file);
    CASE(fallocate(file, FALLOC_FL_KEEP_SIZE, 10, 100000));
    VALUE_AS("size kept", size_of(file));
    CASE(fallocate(file, 0, -1, 5));
    CASE(fallocate(file, 0, 0, 0));
    CASE(fallocate(file, 0, 0, -1));
    CASE(fallocate(file, 0, INT64_MAX, 1));
    CASE(fallocate(file, FALLOC_FL_PUNCH_HOLE, 0, 5));
    CASE(fallocate(file, 0x4000, 0, 5));
    CASE(fallocate(rdonly, 0, 0, 5));
    CASE(fallocate(ends[1], 0, 0, 5));
    CASE(fallocate(folder, 0, 0, 5));
    CASE(fallocate(99, 0, 0, 5));
    CASE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3));
    shows("punched", file);
    CASE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8, 1000));
    shows("punched to the end", file);
    ftruncate(file, 0);
    fallocate(file, 0, 0, 65536);
    for (int k = 0; k < 8; k++)
        pwrite(file, "x", 1, k * 8192 + 5);
    CASE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 16384 + 100));
    for (int k = 0; k < 8; k++) {
        char c = '?', name[16];

        pread(file, &c, 1, k * 8192 + 5);
        snprintf(name, sizeof(name), "page %d", k);
        VALUE_AS(name, c);
    }
    fstat(file, &st);
    VALUE_AS("size after the hole", st.st_size);
    CASE(posix_fallocate(file, 0, 70000));
    VALUE_AS("size after posix_fallocate", size_of(file));
    CASE(posix_fallocate(rdonly, 0, 5));
    CASE(posix_fallocate(file, -1, 5));
}

static void copies(void)
{
    int to = open("conformance.to", O_RDWR | O_CREAT | O_TRUNC, 0600), tail;
    off_t from_at = 2;
    loff_t in = 1, out = 3, same = 0, other = 2;
    char c[32];

    fill(file, "The quick brown fox");
    CASE(sendfile(to, file, NULL, 9));
    shows("sendfile to", to);
    shows("sendfile from", file);
    CASE(sendfile(to, file, &from_at, 3));
    VALUE(from_at);
    shows("sendfile at an offset", to);
    CASE(sendfile(to, file, NULL, 100));
    CASE_AS("sendfile at the end", sendfile(to, file, NULL, 100));
    from_at = -1;
    CASE_AS("sendfile, negative offset", sendfile(to, file, &from_at, 1));
    CASE(sendfile(to, wronly, NULL, 1));
    CASE(sendfile(rdonly, file, NULL, 1));
    CASE(sendfile(99, file, NULL, 1));
    CASE(sendfile(to, file, (off_t *)nowhere, 1));
    tail = open("conformance.to", O_WRONLY | O_APPEND);
    CASE(sendfile(tail, file, NULL, 1));
    from_at = 4;
    CASE_AS("sendfile to a pipe", sendfile(ends[1], file, &from_at, 5));
    CASE_AS("read what was sent", read(ends[0], c, sizeof(c)));
    TEXT("sent", "%.5s", c);
    CASE(copy_file_range(file, &in, to, &out, 4, 0));
    TEXT("offsets", "%ld %ld", (long)in, (long)out);
    shows("copy_file_range", to);
    lseek(file, 4, SEEK_SET);
    lseek(to, 0, SEEK_END);
    CASE(copy_file_range(file, NULL, to, NULL, 5, 0));
    shows("copy_file_range at positions", to);
    CASE(copy_file_range(file, NULL, to, NULL, 5, 1));
    CASE(copy_file_range(file, &same, file, &other, 5, 0));
    CASE(copy_file_range(file, NULL, tail, NULL, 5, 0));
    CASE(copy_file_range(wronly, NULL, to, NULL, 5, 0));
    CASE(copy_file_range(file, NULL, rdonly, NULL, 5, 0));
    CASE(copy_file_range(folder, NULL, to, NULL, 5, 0));
    CASE(copy_file_range(ends[0], NULL, to, NULL, 5, 0));
    CASE(copy_file_range(99, NULL, to, NULL, 5, 0));
    lseek(file, 0, SEEK_END);
    CASE_AS("copy_file_range at the end", copy_file_range(file, NULL, to, NULL, 5, 0));
    close(tail);
    close(to);
    unlink("conformance.to");
}

int main(void)
{
    cases_begin();
    file = open("conformance.file", O_RDWR | O_CREAT | O_TRUNC, 0644);
    rdonly = open("conformance.file", O_RDONLY);
    wronly = open("conformance.file", O_WRONLY);
    folder = open(".", O_RDONLY | O_DIRECTORY);
    if (file < 0 || rdonly < 0 || wronly < 0 || folder < 0 || pipe(ends))
        return 1;
    positions();
    vectors();
    space();
    copies();
    unlink("conformance.file");
    return 0;
}
