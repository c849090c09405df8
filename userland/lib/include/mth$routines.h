/* Mathematics with arguments by reference, in VAX formats: not implemented. <math.h> has the
   functions. */
#ifndef MTH$ROUTINES_H
#define MTH$ROUTINES_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(mth$acos)
MEGA_MISSING(mth$dacos)
MEGA_MISSING(mth$gacos)
MEGA_MISSING(mth$acosd)
MEGA_MISSING(mth$dacosd)
MEGA_MISSING(mth$gacosd)
MEGA_MISSING(mth$asin)
MEGA_MISSING(mth$dasin)
MEGA_MISSING(mth$gasin)
MEGA_MISSING(mth$asind)
MEGA_MISSING(mth$dasind)
MEGA_MISSING(mth$gasind)
MEGA_MISSING(mth$atan)
MEGA_MISSING(mth$datan)
MEGA_MISSING(mth$gatan)
MEGA_MISSING(mth$atand)
MEGA_MISSING(mth$datand)
MEGA_MISSING(mth$gatand)
MEGA_MISSING(mth$atan2)
MEGA_MISSING(mth$datan2)
MEGA_MISSING(mth$gatan2)
MEGA_MISSING(mth$atand2)
MEGA_MISSING(mth$datand2)
MEGA_MISSING(mth$gatand2)
MEGA_MISSING(mth$atanh)
MEGA_MISSING(mth$datanh)
MEGA_MISSING(mth$gatanh)
MEGA_MISSING(mth$cos)
MEGA_MISSING(mth$dcos)
MEGA_MISSING(mth$gcos)
MEGA_MISSING(mth$cosd)
MEGA_MISSING(mth$dcosd)
MEGA_MISSING(mth$gcosd)
MEGA_MISSING(mth$cosh)
MEGA_MISSING(mth$dcosh)
MEGA_MISSING(mth$gcosh)
MEGA_MISSING(mth$exp)
MEGA_MISSING(mth$dexp)
MEGA_MISSING(mth$gexp)
MEGA_MISSING(mth$log)
MEGA_MISSING(mth$dlog)
MEGA_MISSING(mth$glog)
MEGA_MISSING(mth$log2)
MEGA_MISSING(mth$dlog2)
MEGA_MISSING(mth$glog2)
MEGA_MISSING(mth$log10)
MEGA_MISSING(mth$dlog10)
MEGA_MISSING(mth$glog10)
MEGA_MISSING(mth$sin)
MEGA_MISSING(mth$dsin)
MEGA_MISSING(mth$gsin)
MEGA_MISSING(mth$sincos)
MEGA_MISSING(mth$dsincos)
MEGA_MISSING(mth$gsincos)
MEGA_MISSING(mth$sind)
MEGA_MISSING(mth$dsind)
MEGA_MISSING(mth$gsind)
MEGA_MISSING(mth$sinh)
MEGA_MISSING(mth$dsinh)
MEGA_MISSING(mth$gsinh)
MEGA_MISSING(mth$sqrt)
MEGA_MISSING(mth$dsqrt)
MEGA_MISSING(mth$gsqrt)
MEGA_MISSING(mth$tan)
MEGA_MISSING(mth$dtan)
MEGA_MISSING(mth$gtan)
MEGA_MISSING(mth$tand)
MEGA_MISSING(mth$dtand)
MEGA_MISSING(mth$gtand)
MEGA_MISSING(mth$tanh)
MEGA_MISSING(mth$dtanh)
MEGA_MISSING(mth$gtanh)
MEGA_MISSING(mth$random)
MEGA_MISSING(mth$umax)
MEGA_MISSING(mth$umin)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
