/*
 * Item codes of $GETSYI (STARLET; docs/openvms.md). docs/services.md lists those that are
 * implemented; the service returns SS$_BADITMCOD for the others.
 */
#ifndef SYIDEF_H
#define SYIDEF_H

#define SYI$C_LISTEND 0

#define SYI$_GBLSECTIONS         4102
#define SYI$_GBLPAGES            4103
#define SYI$_GBLPAGFIL           4104
#define SYI$_MAXPROCESSCNT       4105
#define SYI$_BALSETCNT           4114
#define SYI$_WSMAX               4117
#define SYI$_NPAGEDYN            4118
#define SYI$_NPAGEVIR            4119
#define SYI$_PAGEDYN             4120
#define SYI$_MPW_WRTCLUSTER      4138
#define SYI$_MPW_HILIMIT         4139
#define SYI$_MPW_LOLIMIT         4140
#define SYI$_MPW_THRESH          4143
#define SYI$_MPW_WAITLIMIT       4144
#define SYI$_FREELIM             4179
#define SYI$_FREEGOAL            4180
#define SYI$_GROWLIM             4181
#define SYI$_BORROWLIM           4182
#define SYI$_LNMSHASHTBL         4209
#define SYI$_LNMPHASHTBL         4210
#define SYI$_MPW_LOWAITLIMIT     4358
#define SYI$_MPW_IOLIMIT         4359
#define SYI$_FREE_GBLPAGES       4367
#define SYI$_CONTIG_GBLPAGES     4368
#define SYI$_FREE_GBLSECTS       4369
#define SYI$_POOLCHECK           4388
#define SYI$_RSRVPAGCNT          4404
#define SYI$_USED_GBLPAGCNT      4412
#define SYI$_USED_GBLPAGMAX      4413
#define SYI$_USED_GBLSECTCNT     4414
#define SYI$_USED_GBLSECTMAX     4415
#define SYI$_MMG_CTLFLAGS        4441
#define SYI$_PAGE_SIZE           4452
#define SYI$_MEMSIZE             4459
#define SYI$_PHYSICAL_MEMORY     4461
#define SYI$_ZERO_LIST_HI        4463
#define SYI$_ITB_ENTRIES         4466
#define SYI$_GH_RSRVPGCNT        4467
#define SYI$_GH_EXEC_CODE        4488
#define SYI$_GH_EXEC_DATA        4489
#define SYI$_GH_RES_CODE         4490
#define SYI$_GH_RES_DATA         4491
#define SYI$_SYSTEM_CHECK        4497
#define SYI$_PFN_COLOR_COUNT     4498
#define SYI$_S2_SIZE             4517
#define SYI$_PROCESS_SPACE_LIMIT 4518
#define SYI$_PT_BASE             4519
#define SYI$_SHARED_VA_PTES      4520
#define SYI$_MAXBOBMEM           4523
#define SYI$_AVAIL_PAGES         4539
#define SYI$_PROC_SLOTS          4540
#define SYI$_BAL_SLOTS           4541
#define SYI$_NPAGED_POOL         4542
#define SYI$_PAGED_POOL          4543
#define SYI$_MAIN_MEMORY         4544
#define SYI$_MAX_PFN             4546
#define SYI$_PFN_MEMORY_MAP      4547
#define SYI$_PMD_COUNT           4548
#define SYI$_NPAG_INTERVAL       4553
#define SYI$_NPAG_GENTLE         4554
#define SYI$_NPAG_AGGRESSIVE     4555
#define SYI$_PTES_PER_PAGE       4561
#define SYI$_RAD_SUPPORT         4616
#define SYI$_NPAGECALC           4617
#define SYI$_RAD_MAX_RADS        4628
#define SYI$_RAD_CPUS            4629
#define SYI$_RAD_MEMSIZE         4630
#define SYI$_NPAGERAD            4633

#endif
