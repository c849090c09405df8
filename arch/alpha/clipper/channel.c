/* Framing on COM2; the frame format is in the header. */
#include "arch/alpha/clipper/channel.h"

#include "arch/alpha/clipper/uart.h"

#define HEADER 4

/* The frame being sent: its header, and how much of header and payload is still to be sent.
   Serialised by the caller. */
static uint8_t header[HEADER];
static uint32_t header_sent = HEADER, payload_left;

void channel_begin(enum channel_type type, size_t n)
{
    header[0] = CHANNEL_MAGIC;
    header[1] = (uint8_t)type;
    header[2] = (uint8_t)n;
    header[3] = (uint8_t)(n >> 8);
    header_sent = 0;
    payload_left = (uint32_t)n;
}

size_t channel_try_write(const void *p, size_t n)
{
    const uint8_t *payload = p;
    size_t sent = 0, now;

    while (header_sent < HEADER) {
        now = uart_try_write(&uart_com2, header + header_sent, HEADER - header_sent);
        if (!now)
            return 0;
        header_sent += (uint32_t)now;
    }
    n = MIN(n, payload_left);
    while ((now = uart_try_write(&uart_com2, payload + sent, n - sent)) != 0) {
        sent += now;
        payload_left -= (uint32_t)now;
    }
    return sent;
}

void channel_write_polled(enum channel_type type, const void *p, size_t n)
{
    channel_begin(type, n);
    header_sent += (uint32_t)uart_write_polled(&uart_com2, header, HEADER);
    payload_left -= (uint32_t)uart_write_polled(&uart_com2, p, n);
}

void channel_write_panic(enum channel_type type, const void *p, size_t n)
{
    static const uint8_t zeros[64];

    if (header_sent < HEADER)
        uart_write_polled(&uart_com2, header + header_sent, HEADER - header_sent);
    while (payload_left) {
        size_t now = MIN(payload_left, sizeof(zeros));

        if (uart_write_polled(&uart_com2, zeros, now) != now)
            break;
        payload_left -= (uint32_t)now;
    }
    channel_write_polled(type, p, n);
}
