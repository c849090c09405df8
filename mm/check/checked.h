/*
 * The structures of other layers that the self-check compares. For mm/check, which reads them, and
 * for kernel/test/plant.c, which damages them for the duration of a check; both only while the
 * system is stopped (kernel/sched/freeze.h).
 */
#ifndef MM_CHECK_CHECKED_H
#define MM_CHECK_CHECKED_H

#include "mm/object/object_pages.h"
#include "mm/phys/page_check.h"
#include "mm/section/section.h"

#endif
