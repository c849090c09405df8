/*
 * Traces of references, as the plugin writes them and replay.c reads them: TB_TRACE_MAGIC, then
 * records of two little-endian quadwords. A reference to the page of the CPU's last one of the same
 * stream is left out when the CPU did nothing else meanwhile: it hits in every buffer.
 *
 *     word 0   63:43 0   42:13 page of the address   12:8 0   7:4 CPU   3:0 enum tb_event
 *     word 1   for a reference what page tables say: the level-3 PTE in 31:0, the level-2 PTE in
 *              63:32, each as  31:4 PFN   3:2 granularity hint   1 ASM   0 valid
 *              for a switch: the root's PFN in 31:0, the address space number in 63:32
 */
#ifndef MEGALITH_TB_TRACE_H
#define MEGALITH_TB_TRACE_H

#include "model.h"

#define TB_TRACE_MAGIC "MGTBTRC1"

enum tb_event {
    TB_EVENT_FETCH,
    TB_EVENT_DATA,
    TB_EVENT_SWITCH,
    TB_EVENT_PAGE,       /* TBI of one page */
    TB_EVENT_PROCESS,    /* of all without ASM */
    TB_EVENT_EVERYTHING, /* of all */
};

#define TB_TRACE_CPUS 16

struct tb_record {
    uint64_t what, says;
};

static inline uint32_t tb_trace_pack(struct tb_pte p)
{
    return (uint32_t)(p.pfn << 4 | (uint64_t)p.gh << 2 | (uint64_t)p.asm_ << 1 | p.valid);
}

static inline struct tb_pte tb_trace_unpack(uint32_t word)
{
    return (struct tb_pte){
        .valid = word & 1, .asm_ = word >> 1 & 1, .gh = word >> 2 & 3, .pfn = word >> 4};
}

#endif
