/*
 * Some stress programs are also run beside each other (userland/tests/soak.c). Then what the whole
 * system has in use is not one program's doing: it compares only what is its own.
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

/* As fork, but for the error: who then killed "the child" would kill everybody. In company memory
 * may be with others for a while. */
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
