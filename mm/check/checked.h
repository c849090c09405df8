/*
 * The structures that the self-check compares with each other, from inside the layers that own
 * them. For mm/check, which reads them, and kernel/test/plant.c, which damages them for the time of
 * a check; both only while the system stands (kernel/sched/freeze.h).
 */
#ifndef MM_CHECK_CHECKED_H
#define MM_CHECK_CHECKED_H

#include "mm/object/object_pages.h"
#include "mm/phys/page_check.h"
#include "mm/section/section.h"

#endif
