/*
 * Huge pages as a Linux program asks for them: MAP_HUGETLB. Two processes share them; a command
 * runs meanwhile:  /huge show section
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (64UL << 20)

int main(int argc, char **argv)
{
    volatile long *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

    if ((void *)p == MAP_FAILED) {
        perror("MAP_HUGETLB");
        return 1;
    }
    if (fork() == 0) {
        ++*p;
        _exit(0);
    }
    wait(NULL);
    ++*p;
    printf("%lu MB at %p, the first word is %ld\n", SIZE >> 20, (void *)p, *p);
    fflush(stdout);
    return argc > 1 ? system(argv[1]) != 0 : 0;
}
