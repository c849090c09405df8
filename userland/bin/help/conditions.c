/* What the condition values of the services say, each with what to do about it. */
#include "help.h"

#include <ssdef.h>
#include <stddef.h>

static const struct {
    int status;
    const char *text;
} texts[] = {
    {SS$_NORMAL, "The service did what was asked."},
    {SS$_ABORT, "The service was ended before it was done, because the process is to end."},
    {SS$_ACCVIO, "An argument lies, or points, where the caller has no access."},
    {SS$_ARG_GTR_32_BITS, "An argument that must fit into 32 bits does not."},
    {SS$_BADITMCOD, "An item list has a code that the service does not know."},
    {SS$_BADBUFLEN, "A buffer of an item list has a length that its item cannot have."},
    {SS$_BADPARAM, "An argument has a value that it cannot have."},
    {SS$_BADRAD, "There is no memory domain of this number: show memory /physical lists them."},
    {SS$_BUFFEROVF, "Success, but the buffer was too short for all of the result."},
    {SS$_CREATED, "Success: a global section, or a table of names, was created."},
    {SS$_CREATED_SHPT, "Success: a section was created, and shared page tables for it."},
    {SS$_DUPLNAM, "There is an object of this name already."},
    {SS$_EXASTLM, "The process has as many ASTs outstanding as its quota allows."},
    {SS$_EXGBLPAGFIL, "No room is left for page-file sections: see parameter GBLPAGFIL."},
    {SS$_EXLNMQUOTA, "The logical name table has used up its quota."},
    {SS$_EXQUOTA, "A quota of the user is used up: show users says which."},
    {SS$_GBLSEC_MISMATCH, "A section of this name exists, with other properties than asked for."},
    {SS$_GPTFULL, "No global page table entries are left: see parameter GBLPAGES."},
    {SS$_GSDFULL, "No descriptor for another global section is left: see parameter GBLSECTIONS."},
    {SS$_ILLPAGCNT, "The number of pages is zero, negative or too large."},
    {SS$_ILLRELPAG, "The page is not within the section."},
    {SS$_INSFARG, "The service needs more arguments than it got."},
    {SS$_INSFLPGS,
     "Too few fluid pages are left to promise this many to a memory-resident section. "
     "show memory shows the fluid count. A smaller section, fewer reservations, or a "
     "machine with more memory (scripts/run -m) helps."},
    {SS$_INSFMEM, "There is no memory left for what the system needs, or for this user."},
    {SS$_INSFSPTS, "No address space of the system is left for it."},
    {SS$_INVPFN, "A page frame number is not one that can be mapped."},
    {SS$_IVACMODE, "The access mode is none that the caller may name."},
    {SS$_IVADDR, "The address is none at which this can be done."},
    {SS$_IVGSDNAM, "The name of a section is empty, too long, or has characters it may not have."},
    {SS$_IVLOGNAM, "A name is empty, too long, or has characters that it may not have."},
    {SS$_IVLOGTAB, "The name of a logical name table is none."},
    {SS$_IVPROTECT, "The protection is none that the page can have."},
    {SS$_IVREGFLG, "The flags of the region contradict each other, or are unknown."},
    {SS$_IVREGID, "There is no region of this number in the process: show region lists them."},
    {SS$_IVREGPROT, "The protection of the region is none that it can have."},
    {SS$_IVSECFLG, "The flags of the section contradict each other, or are unknown."},
    {SS$_IVSECIDCTL, "The rule for matching versions of the section is unknown."},
    {SS$_IVVAFLG, "The flags for the addresses contradict each other, or are unknown."},
    {SS$_LCKPAGFUL, "The process may not lock more pages in memory."},
    {SS$_LEN_NOTPAGMULT, "The length is not a multiple of the page size, 8,192 bytes; for shared "
                         "page tables, of 8 MiB."},
    {SS$_LENVIO, "The addresses are not within user space, or not within the region."},
    {SS$_LNMCREATED, "Success: the table of logical names was created."},
    {SS$_MRES_INCON, "The reservation does not say the same as the section: compare show memory "
                     "/reserved with the size and flags of the section."},
    {SS$_MRES_PFNSMALL, "The reservation is smaller than the section."},
    {SS$_NOCMKRNL, "The service needs the privilege CMKRNL."},
    {SS$_NODELPERMANENT, "Reserved memory that was given to permanent use cannot be freed."},
    {SS$_NOLOGNAM,
     "There is no logical name of this name in these tables: show logical lists them."},
    {SS$_NOLOGTAB, "There is no logical name table of this name."},
    {SS$_NOMEMRESID,
     "A memory-resident section needs the rights identifier VMS$MEM_RESIDENT_USER."},
    {SS$_NOMOREPROC, "There are no more processes."},
    {SS$_NOMOREREG, "The process can have no more regions."},
    {SS$_NONEXPR, "There is no process of this number or name: show process /all lists them."},
    {SS$_NOPFNMAP, "The service needs the privilege PFNMAP."},
    {SS$_NOPRIV, "The caller may not do this: it needs a privilege, or access to the object."},
    {SS$_NOPRMGBL, "A permanent global section needs the privilege PRMGBL."},
    {SS$_NORESERVEDMEM, "There is no reservation of this name: show memory /reserved lists them."},
    {SS$_NOSHPTS, "The section has no shared page tables, or the region cannot have them."},
    {SS$_NOSUCHSEC, "There is no global section of this name: show section lists them."},
    {SS$_NOSUCHNODE, "There is no node of this number."},
    {SS$_NOSYSGBL, "A section of the whole system needs the privilege SYSGBL."},
    {SS$_NOTCREATOR, "The section was created by another node."},
    {SS$_NOTMODIFIED, "Success: no page of the section was modified."},
    {SS$_NOT_PROCESS_VA, "The addresses are not those of a process."},
    {SS$_NOWRT, "The section may not be written, or its protection does not let this user."},
    {SS$_OFF_NOTPAGALGN, "The offset is not a multiple of the page size, 8,192 bytes."},
    {SS$_OFFSET_TOO_BIG, "The offset is behind the end of the section."},
    {SS$_PAGNOTINREG, "A page is not within the region."},
    {SS$_PAGTYPVIO, "A page is of a kind with which this cannot be done."},
    {SS$_PARENT_DEL, "The table of the parent is being deleted."},
    {SS$_REGISFULL, "The region is full."},
    {SS$_RES_MEM_INCON, "The entry for the page tables of the reservation contradicts the one for "
                        "its pages."},
    {SS$_RESERVEDMEMUSED, "The reserved memory is in use."},
    {SS$_RESULTOVF, "The buffer is too short for the result."},
    {SS$_SUPERSEDE, "Success: a logical name of this name was replaced."},
    {SS$_TIMEOUT, "The time was over before it happened."},
    {SS$_TOO_MANY_ARGS, "The service got more arguments than it has."},
    {SS$_TOOMANYLNAM, "Logical names stand for each other more than ten levels deep."},
    {SS$_UNASEFC, "The event flag is in a cluster that the process has not associated."},
    {SS$_VA_IN_USE, "Something else is mapped at these addresses."},
    {SS$_VA_NOTPAGALGN, "The address is not a multiple of the page size, 8,192 bytes."},
    {SS$_VASFULL, "The address space, or the region, has no room of this size."},
    {SS$_WASSET, "Success: it was set already."},
};

const char *condition_help(int status)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return NULL;
}
