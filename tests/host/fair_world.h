/* What the tests of the fair rule share. */
#ifndef TESTS_HOST_FAIR_WORLD_H
#define TESTS_HOST_FAIR_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "kernel/sched/fair.h"
#include "tests/host/rnd.h"
#include "userland/lib/include/tap.h"

#define TICK 244141u
#define US   250u /* cycles */

#endif
