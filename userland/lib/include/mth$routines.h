/* Mathematics with arguments by reference, in VAX formats: not implemented. <math.h> has the
   functions. */
#ifndef MTH$ROUTINES_H
#define MTH$ROUTINES_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(mth$acos) MEGA_MISSING(mth$dacos) MEGA_MISSING(mth$gacos) MEGA_MISSING(mth$hacos)
MEGA_MISSING(mth$acosd) MEGA_MISSING(mth$dacosd) MEGA_MISSING(mth$gacosd) MEGA_MISSING(mth$hacosd)
MEGA_MISSING(mth$asin) MEGA_MISSING(mth$dasin) MEGA_MISSING(mth$gasin) MEGA_MISSING(mth$hasin)
MEGA_MISSING(mth$asind) MEGA_MISSING(mth$dasind) MEGA_MISSING(mth$gasind) MEGA_MISSING(mth$hasind)
MEGA_MISSING(mth$atan) MEGA_MISSING(mth$datan) MEGA_MISSING(mth$gatan) MEGA_MISSING(mth$hatan)
MEGA_MISSING(mth$atan2) MEGA_MISSING(mth$datan2) MEGA_MISSING(mth$gatan2) MEGA_MISSING(mth$hatan2)
MEGA_MISSING(mth$atand) MEGA_MISSING(mth$datand) MEGA_MISSING(mth$gatand) MEGA_MISSING(mth$hatand)
MEGA_MISSING(mth$atand2) MEGA_MISSING(mth$datand2) MEGA_MISSING(mth$gatand2)
MEGA_MISSING(mth$hatand2) MEGA_MISSING(mth$atanh) MEGA_MISSING(mth$datanh) MEGA_MISSING(mth$gatanh)
MEGA_MISSING(mth$hatanh) MEGA_MISSING(mth$cos) MEGA_MISSING(mth$dcos) MEGA_MISSING(mth$gcos)
MEGA_MISSING(mth$hcos) MEGA_MISSING(mth$cosd) MEGA_MISSING(mth$dcosd) MEGA_MISSING(mth$gcosd)
MEGA_MISSING(mth$hcosd) MEGA_MISSING(mth$cosh) MEGA_MISSING(mth$dcosh) MEGA_MISSING(mth$gcosh)
MEGA_MISSING(mth$hcosh) MEGA_MISSING(mth$exp) MEGA_MISSING(mth$dexp) MEGA_MISSING(mth$gexp)
MEGA_MISSING(mth$hexp) MEGA_MISSING(mth$sin) MEGA_MISSING(mth$dsin) MEGA_MISSING(mth$gsin)
MEGA_MISSING(mth$hsin) MEGA_MISSING(mth$sincos) MEGA_MISSING(mth$dsincos) MEGA_MISSING(mth$gsincos)
MEGA_MISSING(mth$hsincos) MEGA_MISSING(mth$sincosd) MEGA_MISSING(mth$dsincosd)
MEGA_MISSING(mth$gsincosd) MEGA_MISSING(mth$hsincosd) MEGA_MISSING(mth$sind) MEGA_MISSING(mth$dsind)
MEGA_MISSING(mth$gsind) MEGA_MISSING(mth$hsind) MEGA_MISSING(mth$sinh) MEGA_MISSING(mth$dsinh)
MEGA_MISSING(mth$gsinh) MEGA_MISSING(mth$hsinh) MEGA_MISSING(mth$sqrt) MEGA_MISSING(mth$dsqrt)
MEGA_MISSING(mth$gsqrt) MEGA_MISSING(mth$hsqrt) MEGA_MISSING(mth$tan) MEGA_MISSING(mth$dtan)
MEGA_MISSING(mth$gtan) MEGA_MISSING(mth$htan) MEGA_MISSING(mth$tand) MEGA_MISSING(mth$dtand)
MEGA_MISSING(mth$gtand) MEGA_MISSING(mth$htand) MEGA_MISSING(mth$tanh) MEGA_MISSING(mth$dtanh)
MEGA_MISSING(mth$gtanh) MEGA_MISSING(mth$htanh) MEGA_MISSING(mth$alog) MEGA_MISSING(mth$dlog)
MEGA_MISSING(mth$glog) MEGA_MISSING(mth$hlog) MEGA_MISSING(mth$alog2) MEGA_MISSING(mth$dlog2)
MEGA_MISSING(mth$glog2) MEGA_MISSING(mth$hlog2) MEGA_MISSING(mth$alog10) MEGA_MISSING(mth$dlog10)
MEGA_MISSING(mth$glog10) MEGA_MISSING(mth$hlog10) MEGA_MISSING(mth$random) MEGA_MISSING(mth$umax)
MEGA_MISSING(mth$umin) MEGA_MISSING(mth$cabs) MEGA_MISSING(mth$cdabs) MEGA_MISSING(mth$cgabs)
MEGA_MISSING(mth$cvt_d_g) MEGA_MISSING(mth$cvt_g_d) MEGA_MISSING(mth$cvt_da_ga)
MEGA_MISSING(mth$cvt_ga_da) MEGA_MISSING(mth$aimag) MEGA_MISSING(mth$dimag) MEGA_MISSING(mth$gimag)
MEGA_MISSING(mth$real) MEGA_MISSING(mth$dreal) MEGA_MISSING(mth$greal) MEGA_MISSING(mth$abs)
MEGA_MISSING(mth$dabs) MEGA_MISSING(mth$gabs) MEGA_MISSING(mth$habs) MEGA_MISSING(mth$iiabs)
MEGA_MISSING(mth$jiabs) MEGA_MISSING(mth$iiand) MEGA_MISSING(mth$jiand) MEGA_MISSING(mth$dble)
MEGA_MISSING(mth$gdble) MEGA_MISSING(mth$dim) MEGA_MISSING(mth$ddim) MEGA_MISSING(mth$gdim)
MEGA_MISSING(mth$hdim) MEGA_MISSING(mth$iidim) MEGA_MISSING(mth$jidim) MEGA_MISSING(mth$iieor)
MEGA_MISSING(mth$jieor) MEGA_MISSING(mth$iifix) MEGA_MISSING(mth$jifix) MEGA_MISSING(mth$floati)
MEGA_MISSING(mth$dfloti) MEGA_MISSING(mth$gfloti) MEGA_MISSING(mth$floatj) MEGA_MISSING(mth$dflotj)
MEGA_MISSING(mth$gflotj) MEGA_MISSING(mth$floor) MEGA_MISSING(mth$dfloor) MEGA_MISSING(mth$gfloor)
MEGA_MISSING(mth$hfloor) MEGA_MISSING(mth$aint) MEGA_MISSING(mth$dint) MEGA_MISSING(mth$iidint)
MEGA_MISSING(mth$jidint) MEGA_MISSING(mth$gint) MEGA_MISSING(mth$iigint) MEGA_MISSING(mth$jigint)
MEGA_MISSING(mth$hint) MEGA_MISSING(mth$iihint) MEGA_MISSING(mth$jihint) MEGA_MISSING(mth$iint)
MEGA_MISSING(mth$jint) MEGA_MISSING(mth$iior) MEGA_MISSING(mth$jior) MEGA_MISSING(mth$aimax0)
MEGA_MISSING(mth$ajmax0) MEGA_MISSING(mth$imax0) MEGA_MISSING(mth$jmax0) MEGA_MISSING(mth$amax1)
MEGA_MISSING(mth$dmax1) MEGA_MISSING(mth$gmax1) MEGA_MISSING(mth$hmax1) MEGA_MISSING(mth$imax1)
MEGA_MISSING(mth$jmax1) MEGA_MISSING(mth$aimin0) MEGA_MISSING(mth$ajmin0) MEGA_MISSING(mth$imin0)
MEGA_MISSING(mth$jmin0) MEGA_MISSING(mth$amin1) MEGA_MISSING(mth$dmin1) MEGA_MISSING(mth$gmin1)
MEGA_MISSING(mth$hmin1) MEGA_MISSING(mth$imin1) MEGA_MISSING(mth$jmin1) MEGA_MISSING(mth$amod)
MEGA_MISSING(mth$dmod) MEGA_MISSING(mth$gmod) MEGA_MISSING(mth$hmod) MEGA_MISSING(mth$imod)
MEGA_MISSING(mth$jmod) MEGA_MISSING(mth$anint) MEGA_MISSING(mth$dnint) MEGA_MISSING(mth$gnint)
MEGA_MISSING(mth$hnint) MEGA_MISSING(mth$inint) MEGA_MISSING(mth$jnint) MEGA_MISSING(mth$iidnnt)
MEGA_MISSING(mth$jidnnt) MEGA_MISSING(mth$iignnt) MEGA_MISSING(mth$jignnt) MEGA_MISSING(mth$iihnnt)
MEGA_MISSING(mth$jihnnt) MEGA_MISSING(mth$inot) MEGA_MISSING(mth$jnot) MEGA_MISSING(mth$dprod)
MEGA_MISSING(mth$gprod) MEGA_MISSING(mth$sgn) MEGA_MISSING(mth$iishft) MEGA_MISSING(mth$jishft)
MEGA_MISSING(mth$sign) MEGA_MISSING(mth$dsign) MEGA_MISSING(mth$gsign) MEGA_MISSING(mth$hsign)
MEGA_MISSING(mth$iisign) MEGA_MISSING(mth$jisign) MEGA_MISSING(mth$sngl) MEGA_MISSING(mth$snglg)
MEGA_MISSING(mth$vjfolrlp_ma_v5) MEGA_MISSING(mth$vffolrlp_ma_v5) MEGA_MISSING(mth$vdfolrlp_ma_v5)
MEGA_MISSING(mth$vgfolrlp_ma_v5) MEGA_MISSING(mth$vjfolrlp_m_v2) MEGA_MISSING(mth$vffolrlp_m_v2)
MEGA_MISSING(mth$vdfolrlp_m_v2) MEGA_MISSING(mth$vgfolrlp_m_v2) MEGA_MISSING(mth$vjfolrlp_a_v2)
MEGA_MISSING(mth$vffolrlp_a_v2) MEGA_MISSING(mth$vdfolrlp_a_v2) MEGA_MISSING(mth$vgfolrlp_a_v2)
MEGA_MISSING(mth$vjfolrp_ma_v15) MEGA_MISSING(mth$vffolrp_ma_v15) MEGA_MISSING(mth$vdfolrp_ma_v15)
MEGA_MISSING(mth$vgfolrp_ma_v15) MEGA_MISSING(mth$vjfolrp_m_v8) MEGA_MISSING(mth$vffolrp_m_v8)
MEGA_MISSING(mth$vdfolrp_m_v8) MEGA_MISSING(mth$vgfolrp_m_v8) MEGA_MISSING(mth$vjfolrp_a_v8)
MEGA_MISSING(mth$vffolrp_a_v8) MEGA_MISSING(mth$vdfolrp_a_v8) MEGA_MISSING(mth$vgfolrp_a_v8)
MEGA_MISSING(mth$vjfolrln_ma_v5) MEGA_MISSING(mth$vffolrln_ma_v5) MEGA_MISSING(mth$vdfolrln_ma_v5)
MEGA_MISSING(mth$vgfolrln_ma_v5) MEGA_MISSING(mth$vjfolrln_m_v2) MEGA_MISSING(mth$vffolrln_m_v2)
MEGA_MISSING(mth$vdfolrln_m_v2) MEGA_MISSING(mth$vgfolrln_m_v2) MEGA_MISSING(mth$vjfolrln_a_v2)
MEGA_MISSING(mth$vffolrln_a_v2) MEGA_MISSING(mth$vdfolrln_a_v2) MEGA_MISSING(mth$vgfolrln_a_v2)
MEGA_MISSING(mth$vjfolrn_ma_v15) MEGA_MISSING(mth$vffolrn_ma_v15) MEGA_MISSING(mth$vdfolrn_ma_v15)
MEGA_MISSING(mth$vgfolrn_ma_v15) MEGA_MISSING(mth$vjfolrn_m_v8) MEGA_MISSING(mth$vffolrn_m_v8)
MEGA_MISSING(mth$vdfolrn_m_v8) MEGA_MISSING(mth$vgfolrn_m_v8) MEGA_MISSING(mth$vjfolrn_a_v8)
MEGA_MISSING(mth$vffolrn_a_v8) MEGA_MISSING(mth$vdfolrn_a_v8) MEGA_MISSING(mth$vgfolrn_a_v8)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
