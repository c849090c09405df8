#define _GNU_SOURCE
#include "siege.h"

#include <descrip.h>
#include <fcntl.h>
#include <iledef.h>
#include <lnmdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static char data[16 * SIEGE_PAGE];

/* A file that grows for as long as there is room. */
void attack_grow_file(void)
{
    char path[32];
    int fd;

    snprintf(path, sizeof(path), "/tmp/g%d", getpid());
    while ((fd = open(path, O_CREAT | O_RDWR, 0600)) < 0)
        siege_nap_ms(100);
    for (;;) {
        if (write(fd, data, sizeof(data)) > 0)
            continue;
        siege_nap_ms(100);
        if (siege_draw(20) == 0 && ftruncate(fd, 0))
            return;
    }
}

/* Empty files and folders with long names. */
void attack_many_files(void)
{
    char path[240];

    for (unsigned n = 0;; n++) {
        int fd;

        snprintf(path, sizeof(path), "/tmp/%d_%0*u", getpid(), 200, n);
        fd = n % 2 ? open(path, O_CREAT | O_RDWR, 0600) : mkdir(path, 0700);
        if (fd < 0)
            siege_nap_ms(100);
        if (n % 2 && fd >= 0)
            close(fd);
    }
}

/* Pipes, filled and kept. */
void attack_pipes(void)
{
    for (;;) {
        int ends[2];

        if (pipe2(ends, O_NONBLOCK) < 0) {
            siege_nap_ms(200);
            if (siege_draw(10) == 0)
                for (int fd = 3; fd < 256; fd++)
                    close(fd);
            continue;
        }
        while (write(ends[1], data, sizeof(data)) > 0)
            ;
    }
}

/* The terminal belongs to root: reading from it, writing to it and changing it must fail. */
void attack_terminal(void)
{
    struct termios t;

    for (;;) {
        int fd = open("/dev/tty", O_RDWR | O_NONBLOCK);

        if (fd < 0) {
            siege_nap_ms(100);
            continue;
        }
        if (write(fd, "# siege\n", 8) != 8 || read(fd, data, sizeof(data)) < 0)
            siege_nap_ms(10);
        if (ioctl(fd, TCGETS, &t) == 0)
            ioctl(fd, TCSETS, &t);
        close(fd);
    }
}

/* Logical names in every table that an ordinary user may write. */
void attack_names(void)
{
    static const char *const tables[] = {"LNM$PROCESS", "LNM$JOB", "LNM$GROUP", "LNM$SYSTEM"};
    static char text[200];
    ILE3 items[] = {{sizeof(text), LNM$_STRING, text, NULL}, {0, 0, NULL, NULL}};

    memset(text, 'x', sizeof(text));
    for (unsigned n = 0;; n++) {
        const char *table = tables[siege_draw(4)];
        char name[64];
        struct dsc$descriptor_s t = {(uint16_t)strlen(table), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)table};
        struct dsc$descriptor_s d = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, name};

        d.dsc$w_length = (uint16_t)snprintf(name, sizeof(name), "SIEGE_%d_%u", getpid(), n);
        if (!(sys$crelnm(NULL, &t, &d, NULL, items) & 1))
            siege_nap_ms(50);
    }
}
