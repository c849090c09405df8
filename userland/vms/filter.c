/* Reads lines, numbers them and writes them in capital letters, with dynamic strings. */
#include <descrip.h>
#include <lib$routines.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <str$routines.h>
#include <stsdef.h>

int main(void)
{
    struct dsc$descriptor_s line = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, out = line, longest = line;
    $DESCRIPTOR(prompt, "Next line: ");
    $DESCRIPTOR(control, "!3UL !AS");
    $DESCRIPTOR(bracket, "[");
    $DESCRIPTOR(other, "]");
    $DESCRIPTOR(total, "!UL line!%S, the longest of !UL character!%S: !AS");
    unsigned short length;
    int status, count = 0;

    while ((status = lib$get_input(&line, &prompt, &length)) != RMS$_EOF) {
        if (!$VMS_STATUS_SUCCESS(status))
            lib$stop(status);
        str$trim(&line, &line, &length);
        if (length > longest.dsc$w_length)
            str$copy_dx(&longest, &line);
        str$upcase(&line, &line);
        lib$sys_fao(&control, 0, &out, ++count, &line);
        lib$put_output(&out);
    }
    str$concat(&longest, &bracket, &longest, &other);
    lib$sys_fao(&total, 0, &out, count, longest.dsc$w_length - 2, &longest);
    lib$put_output(&out);
    str$free1_dx(&line);
    str$free1_dx(&out);
    str$free1_dx(&longest);
    return SS$_NORMAL;
}
