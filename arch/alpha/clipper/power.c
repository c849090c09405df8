/* CALL_PAL halt powers QEMU's machine off at once; bytes still in a UART would be lost. */
#include "arch/alpha/clipper/power.h"

#include "arch/alpha/clipper/uart.h"
#include "arch/alpha/hw/pal.h"

void power_off(void)
{
    uart_drain(&uart_com1);
    uart_drain(&uart_com2);
    for (;;)
        pal_halt();
}
