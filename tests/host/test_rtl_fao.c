// SOURCES: userland/lib/fao.c userland/lib/fao_services.c userland/lib/time.c
// SOURCES: userland/lib/lib_time.c userland/lib/descriptor.c userland/lib/clock.c
/* The tests of userland/tests/rtl_fao.c, under sanitizers. */
#include "userland/tests/rtl_fao.c"
