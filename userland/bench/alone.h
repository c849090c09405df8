/*
 * For programs that run on Linux/Alpha too: there as /init, process 1, with nothing else on the
 * machine (scripts/linux-base), here as any program. A program calls alone_begin() first and
 * alone_end() last, which tells the host by a line "end" that everything was written.
 */
#ifndef ALONE_H
#define ALONE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

static bool alone_is_init;

/* Mount what a kernel's first program finds nowhere else. False: a mount failed. */
static inline bool alone_begin(const char *program)
{
    alone_is_init = strcmp(program, "/init") == 0;
    if (!alone_is_init)
        return true;
    mkdir("/tmp", 01777);
    mkdir("/proc", 0755);
    mkdir("/dev", 0755);
    return mount("none", "/tmp", "tmpfs", 0, NULL) == 0 &&
           mount("none", "/proc", "proc", 0, NULL) == 0 &&
           mount("none", "/dev", "devtmpfs", 0, NULL) == 0;
}

/* As /init it does not return: a kernel panics when process 1 ends. */
static inline void alone_end(void)
{
    if (!alone_is_init)
        return;
    printf("end\n");
    fflush(stdout);
    for (;;)
        reboot(RB_POWER_OFF);
}

#endif
