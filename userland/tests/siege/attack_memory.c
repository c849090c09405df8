#define _GNU_SOURCE
#include "siege.h"

#include <descrip.h>
#include <fcntl.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vadef.h>

#define RW (PROT_READ | PROT_WRITE)

/* Touch memory until there is no more. */
void attack_touch(void)
{
    uint64_t bytes = (1 + siege_draw(64)) << 20;

    for (;;) {
        char *p = mmap(NULL, bytes, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED) {
            siege_nap_ms(50);
            continue;
        }
        for (uint64_t at = 0; at < bytes; at += SIEGE_PAGE)
            p[at] = 1;
        if (siege_draw(4) == 0)
            munmap(p, bytes);
    }
}

/* Many mappings, one page each, with different protections so that none can be merged. */
void attack_map(void)
{
    for (unsigned n = 0;; n++) {
        void *p = mmap(NULL, SIEGE_PAGE, n % 2 ? RW : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);

        if (p == MAP_FAILED)
            siege_nap_ms(100);
        else if (n % 64 == 0)
            *(volatile char *)p;
    }
}

/* A file mapped many times, then truncated. */
void attack_truncate(void)
{
    char path[32];
    int fd;

    snprintf(path, sizeof(path), "/tmp/t%d", getpid());
    fd = open(path, O_CREAT | O_RDWR, 0600);
    for (;;) {
        volatile char *p = MAP_FAILED;

        if (ftruncate(fd, 400 * SIEGE_PAGE) == 0)
            for (unsigned i = 0; i < 20; i++) {
                p = mmap(NULL, 400 * SIEGE_PAGE, RW, MAP_SHARED, fd, 0);
                if (p == MAP_FAILED)
                    break;
                *p = 1;
            }
        if (fork() == 0) {
            if (p != MAP_FAILED)
                for (uint64_t at = 0; at < 400 * SIEGE_PAGE; at += SIEGE_PAGE)
                    p[at] = 1; /* races with the truncation, and may end by SIGBUS */
            _exit(0);
        }
        if (ftruncate(fd, 0))
            siege_nap_ms(20);
        siege_nap_ms(10);
    }
}

/* Global sections of all kinds that an ordinary user may create, mapped and left mapped. */
void attack_sections(void)
{
    for (unsigned n = 0;; n++) {
        char name[32];
        struct dsc64$descriptor d = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1, 0, name};
        struct _generic_64 p2 = {.gen64$q_quadword = VA$C_P2};
        uint64_t length;
        void *va;

        d.dsc64$q_length = (uint64_t)snprintf(name, sizeof(name), "SIEGE_%d_%u", getpid(), n);
        if (!(sys$crmpsc_gpfile_64(&d, NULL, 0, (1 + siege_draw(500)) * SIEGE_PAGE, &p2, 0, 3,
                                   SEC$M_EXPREG | SEC$M_WRT, &va, &length) &
              1)) {
            siege_nap_ms(100);
            continue;
        }
        memset(va, 1, SIEGE_PAGE);
        if (siege_draw(3) == 0)
            sys$deltva_64(&p2, va, length, 3, &va, &length);
    }
}

/* Regions, as many as there are. */
void attack_regions(void)
{
    for (;;) {
        struct _generic_64 region;
        uint64_t length;
        void *va;

        if (!(sys$create_region_64(SIEGE_PAGE << siege_draw(12), VA$C_REGION_UCREATE_UOWN, 0,
                                   &region, &va, &length) &
              1))
            siege_nap_ms(100);
        else if (siege_draw(3) == 0)
            sys$delete_region_64(&region, 3, &va, &length);
    }
}
