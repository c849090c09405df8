// SOURCES: userland/lib/queue.c
/* The tests of userland/tests/rtl_queues.c, under ThreadSanitizer. */
#include "userland/tests/rtl_queues.c"
