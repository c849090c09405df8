/*
 * Some stress programs also run concurrently with others (userland/tests/soak.c, which sets
 * IN_COMPANY). In that case the resource usage of the whole system says nothing about one program,
 * so each program compares only what belongs to it.
 */
#ifndef COMPANY_H
#define COMPANY_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <tap.h>
#include <unistd.h>

static inline bool in_company(void) { return getenv("IN_COMPANY") != 0; }

/* fork() that does not return -1: a caller that later passed -1 as the child's pid to kill() would
 * kill every process. When other programs run at the same time they may use up memory for a while,
 * so the call is tried again for up to a minute. */
static inline pid_t must_fork(void)
{
    for (unsigned tries = 0;; tries++) {
        pid_t pid = fork();

        if (pid >= 0)
            return pid;
        if (!in_company() || tries == 600)
            bail_out("fork: %s", strerror(errno));
        usleep(100000);
    }
}

#endif
