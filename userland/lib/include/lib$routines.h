/* The routines of the OpenVMS run-time library. */
#ifndef LIB$ROUTINES_H
#define LIB$ROUTINES_H

#include <megalith/missing_library.h>
#include <rtl/bits.h>
#include <rtl/characters.h>
#include <rtl/event.h>
#include <rtl/fao.h>
#include <rtl/handler.h>
#include <rtl/information.h>
#include <rtl/message.h>
#include <rtl/misc.h>
#include <rtl/numbers.h>
#include <rtl/time.h>
#include <rtl/vm.h>

#endif
