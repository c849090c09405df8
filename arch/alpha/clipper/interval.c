/*
 * The interval clock is the periodic interrupt of the MC146818 real-time clock, which the Cchip
 * sends to every CPU. The PALcode of QEMU 7.2 leaves it disabled. PALcode acknowledges the request
 * in the Cchip; the clock's own flag need not be acknowledged, because QEMU raises the line anew at
 * each period.
 */
#include "arch/alpha/clipper/interval.h"

#include "arch/alpha/hw/io.h"

#define RTC_INDEX 0x70
#define RTC_DATA  0x71

#define RTC_A          10
#define RTC_B          11
#define RTC_C          12
#define A_1024_HZ      0x26 /* time base 32,768 Hz, divided by 32 */
#define B_PERIODIC     0x40
#define B_ALARM_UPDATE 0x30

static uint8_t rtc_read(uint8_t reg)
{
    io_out8(RTC_INDEX, reg);
    return io_in8(RTC_DATA);
}

static void rtc_write(uint8_t reg, uint8_t v)
{
    io_out8(RTC_INDEX, reg);
    io_out8(RTC_DATA, v);
}

void interval_boot(void)
{
    rtc_write(RTC_A, A_1024_HZ);
    rtc_write(RTC_B, (uint8_t)((rtc_read(RTC_B) & ~B_ALARM_UPDATE) | B_PERIODIC));
    (void)rtc_read(RTC_C);
}
