/*
 * The two checksums of ext4, which libext2fs's own files compute under another licence than the
 * rest of the library: CRC-32C (Castagnoli; RFC 3720, B.4) and CRC-16 (polynomial x^16 + x^15 + x^2
 * + 1), both with the bits of a byte from the lowest on.
 */
#include "kernel/fs/ext4/library/checksums.h"

#include <ext2fs/ext2fs.h>

#define CRC32C 0x82F63B78u
#define CRC16  0xA001u
#define LANES  8u

typedef uint32_t crc_word __attribute__((may_alias));

/* crc[k][b]: what byte b becomes when k more bytes follow; so eight bytes take eight look-ups that
 * do not wait for each other. */
static uint32_t table[LANES][256];

unsigned ext2fs_crc16(unsigned crc, const void *buffer, unsigned len);

static uint32_t shifted(uint32_t crc, uint32_t poly)
{
    for (unsigned k = 0; k < 8; k++)
        crc = crc >> 1 ^ (crc & 1 ? poly : 0);
    return crc;
}

void ext4_checksums_prepare(void)
{
    for (uint32_t b = 0; b < 256; b++)
        table[0][b] = shifted(b, CRC32C);
    for (unsigned k = 1; k < LANES; k++)
        for (unsigned b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xFF];
}

__u32 ext2fs_crc32c_le(__u32 crc, unsigned char const *p, size_t len)
{
    for (; len && (uintptr_t)p % LANES; len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xFF];
    for (; len >= LANES; len -= LANES, p += LANES) {
        uint32_t low = crc ^ ((const crc_word *)p)[0], high = ((const crc_word *)p)[1];

        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^
              table[4][low >> 24] ^ table[3][high & 0xFF] ^ table[2][high >> 8 & 0xFF] ^
              table[1][high >> 16 & 0xFF] ^ table[0][high >> 24];
    }
    for (; len; len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xFF];
    return crc;
}

/* Of descriptors of groups only, 62 bytes each. The value is in the lower half. */
unsigned ext2fs_crc16(unsigned crc, const void *buffer, unsigned len)
{
    const uint8_t *p = buffer;

    crc &= 0xFFFF;
    for (unsigned k = 0; k < len; k++)
        crc = crc >> 8 ^ shifted((crc ^ p[k]) & 0xFF, CRC16);
    return crc;
}
