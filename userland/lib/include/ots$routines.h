/* Conversions and operations that compilers call: not implemented, but for those that str$ and lib$
   routines do. */
#ifndef OTS$ROUTINES_H
#define OTS$ROUTINES_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(ots$cnvout) MEGA_MISSING(ots$cnvout_g) MEGA_MISSING(ots$cnvout_h)
MEGA_MISSING(ots$cvt_d_t_8) MEGA_MISSING(ots$cvt_l_tb) MEGA_MISSING(ots$cvt_l_ti)
MEGA_MISSING(ots$cvt_l_tl) MEGA_MISSING(ots$cvt_l_to) MEGA_MISSING(ots$cvt_l_tu)
MEGA_MISSING(ots$cvt_l_tz) MEGA_MISSING(ots$cvt_t_d) MEGA_MISSING(ots$cvt_t_f)
MEGA_MISSING(ots$cvt_t_g) MEGA_MISSING(ots$cvt_t_h) MEGA_MISSING(ots$cvt_tb_l)
MEGA_MISSING(ots$cvt_ti_l) MEGA_MISSING(ots$cvt_tl_l) MEGA_MISSING(ots$cvt_to_l)
MEGA_MISSING(ots$cvt_tu_l) MEGA_MISSING(ots$cvt_tz_l) MEGA_MISSING(ots$div_pk_long)
MEGA_MISSING(ots$div_pk_short) MEGA_MISSING(ots$move3) MEGA_MISSING(ots$move5)
MEGA_MISSING(ots$powdd) MEGA_MISSING(ots$powdj) MEGA_MISSING(ots$powdlu) MEGA_MISSING(ots$powdr)
MEGA_MISSING(ots$powgg) MEGA_MISSING(ots$powgj) MEGA_MISSING(ots$powglu) MEGA_MISSING(ots$powii)
MEGA_MISSING(ots$powjj) MEGA_MISSING(ots$powlulu) MEGA_MISSING(ots$powrd) MEGA_MISSING(ots$powrj)
MEGA_MISSING(ots$powrlu) MEGA_MISSING(ots$powrr) MEGA_MISSING(ots$scopy_dxdx)
MEGA_MISSING(ots$scopy_r_dx) MEGA_MISSING(ots$sfree1_dd) MEGA_MISSING(ots$sfreen_dd)
MEGA_MISSING(ots$sget1_dd)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
