/* The names of condition values. Where a value has two names (SS$_WASCLR is SS$_NORMAL), the table
 * has the first of them. */
#include <condition.h>
#include <ssdef.h>
#include <stddef.h>
#include <stdio.h>

#define NAME(word) {SS$_##word, "SS$_" #word}

static const struct {
    int status;
    const char *name;
} names[] = {
    NAME(NORMAL),         NAME(WASSET),          NAME(ACCVIO),         NAME(BADPARAM),
    NAME(EXQUOTA),        NAME(NOPRIV),          NAME(ABORT),          NAME(DUPLNAM),
    NAME(GPTFULL),        NAME(GSDFULL),         NAME(LCKPAGFUL),      NAME(ILLPAGCNT),
    NAME(INSFARG),        NAME(INSFWSL),         NAME(INSFMEM),        NAME(INSFRAME),
    NAME(IVADDR),         NAME(IVGSDNAM),        NAME(IVLOGNAM),       NAME(IVLOGTAB),
    NAME(IVQUOTAL),       NAME(IVSECFLG),        NAME(IVSSRQ),         NAME(IVSTSFLG),
    NAME(LENVIO),         NAME(LKWSETFUL),       NAME(NOLOGNAM),       NAME(NOTFILEDEV),
    NAME(PAGOWNVIO),      NAME(PSTFULL),         NAME(RESULTOVF),      NAME(SECTBLFUL),
    NAME(TIMEOUT),        NAME(UNASEFC),         NAME(VASFULL),        NAME(VECINUSE),
    NAME(IVCHNLSEC),      NAME(NOSUCHNODE),      NAME(IVSECIDCTL),     NAME(TOOMANYLNAM),
    NAME(NOTCREATOR),     NAME(NOSLOT),          NAME(SUSPENDED),      NAME(NOSHMBLOCK),
    NAME(NOWRT),          NAME(BUFFEROVF),       NAME(CREATED),        NAME(NOTRAN),
    NAME(SUPERSEDE),      NAME(REMOTE),          NAME(NOTMODIFIED),    NAME(SYNCH),
    NAME(LNMCREATED),     NAME(CREATED_SHPT),    NAME(CANCEL),         NAME(ENDOFFILE),
    NAME(NONEXPR),        NAME(NOSUCHSEC),       NAME(NOMOREPROC),     NAME(NOTQUEUED),
    NAME(VALNOTVALID),    NAME(NOMOREREG),       NAME(PAGNOTINREG),    NAME(REGISFULL),
    NAME(PAGTYPVIO),      NAME(NOSUCHPAG),       NAME(PAGNOTWRITE),    NAME(NOTINSEC),
    NAME(DEADLOCK),       NAME(NOLOCKID),        NAME(EXDEPTH),        NAME(PARTMAPPED),
    NAME(CANCELGRANT),    NAME(INSFSPTS),        NAME(UNREACHABLE),    NAME(IVLOCKID),
    NAME(SUBLOCKS),       NAME(PARNOTGRANT),     NAME(CVTUNGRANT),     NAME(ILLCDTST),
    NAME(EXGBLPAGFIL),    NAME(IVIDENT),         NAME(DUPIDENT),       NAME(EXLNMQUOTA),
    NAME(PARENT_DEL),     NAME(PARNOTSYS),       NAME(NOLOGTAB),       NAME(VA_IN_USE),
    NAME(NODELETE),       NAME(CPUCAP),          NAME(INSFLPGS),       NAME(INSFRPGS),
    NAME(BADBUFLEN),      NAME(BADITMCOD),       NAME(BADOWNER),       NAME(ARG_GTR_32_BITS),
    NAME(CHANVIO),        NAME(GBLSEC_MISMATCH), NAME(ILLRELPAG),      NAME(IVACMODE),
    NAME(IVREGFLG),       NAME(IVREGID),         NAME(IVREGPROT),      NAME(IVVAFLG),
    NAME(LEN_NOTBLKMULT), NAME(LEN_NOTPAGMULT),  NAME(NOT_PROCESS_VA), NAME(OFF_NOTBLKALGN),
    NAME(OFF_NOTPAGALGN), NAME(OFFSET_TOO_BIG),  NAME(REGOWNVIO),      NAME(PROTVIO),
    NAME(TOO_MANY_ARGS),  NAME(VA_NOTPAGALGN),   NAME(NOCMKRNL),       NAME(NOSYSNAM),
    NAME(NOGRPNAM),       NAME(NODETACH),        NAME(NOGROUP),        NAME(NOPSWAPM),
    NAME(NOWORLD),        NAME(NOPRMGBL),        NAME(NOSYSGBL),       NAME(NOPFNMAP),
    NAME(NOSHMEM),        NAME(NOSYSPRV),        NAME(NOSYSLCK),       NAME(EXASTLM),
    NAME(EXBYTLM),        NAME(EXPGFLQUOTA),     NAME(EXPRCLM),        NAME(EXTQELM),
    NAME(EXENQLM),        NAME(EXBUFOBJLM),      NAME(PTE_NOT_EMPTY),  NAME(NOBUFOBJID),
    NAME(NODELPERMANENT), NAME(NOMEMRESID),      NAME(MRES_PFNSMALL),  NAME(MRES_INCON),
    NAME(NORESERVEDMEM),  NAME(RESERVEDMEMUSED), NAME(RES_MEM_INCON),  NAME(NOSHPTS),
    NAME(FLUSHFAIL),      NAME(INVPFN),          NAME(INV_SHMEM),      NAME(INV_SHM_CPP),
    NAME(INV_SHM_REG),    NAME(ONEMAPPER),       NAME(BADRAD),         NAME(IVPROTECT),
    NAME(DEVNOTMBX),      NAME(DEVOFFLINE),      NAME(ILLEFC),         NAME(ILLIOFUNC),
    NAME(IVCHAN),         NAME(IVDEVNAM),        NAME(MBTOOSML),       NAME(NODATA),
    NAME(NOIOCHAN),       NAME(NOMBX),           NAME(HANGUP),         NAME(IVBUFLEN),
    NAME(IVMODE),         NAME(PAGRDERR),        NAME(CONTROLO),       NAME(CONTROLY),
    NAME(CONTROLC),       NAME(NOTALLPRIV),      NAME(DATAOVERUN),     NAME(DEVALLOC),
    NAME(DEVASSIGN),      NAME(MBFULL),          NAME(NOSUCHDEV),      NAME(NOSUCHFILE),
    NAME(NOMOREFILES),    NAME(UNSUPPORTED),     NAME(NOSUCHUSER),     NAME(FORCEDEXIT),
    NAME(NOSUCHID),       NAME(BADCONTEXT),      NAME(NOSUSPEND),      NAME(WRONGACMODE),
    NAME(NOREADER),       NAME(NOWRITER),        NAME(NOCMEXEC),       NAME(NOALLSPOOL),
    NAME(NODIAGNOSE),     NAME(NOLOG_IO),        NAME(NOACNT),         NAME(NOPRMCEB),
    NAME(NOPRMMBX),       NAME(NOALTPRI),        NAME(NOSETPRV),       NAME(NOTMPMBX),
    NAME(NOMOUNT),        NAME(NOOPER),          NAME(NOEXQUOTA),      NAME(NONETMBX),
    NAME(NOVOLPRO),       NAME(NOPHY_IO),        NAME(NOBUGCHK),       NAME(NOBYPASS),
    NAME(NODOWNGRADE),    NAME(NOUPGRADE),       NAME(NOGRPPRV),       NAME(NOREADALL),
    NAME(NOSHARE),        NAME(NOSECURITY),      NAME(EXBIOLM),        NAME(EXDIOLM),
    NAME(EXFILLM),
};

const char *mega$condition_name(int status)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].name;
    return NULL;
}

const char *mega$condition_text(int status)
{
    static _Thread_local char text[80];
    const char *name = mega$condition_name(status);

    snprintf(text, sizeof(text), "%s%scondition value %d (0x%X)", name ? name : "",
             name ? ", " : "", status, (unsigned)status);
    return text;
}
