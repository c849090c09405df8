/* Routines LIB$ and STR$ of the run-time library that are not implemented. One that gets a
 * prototype leaves this list. */
#ifndef MEGALITH_MISSING_LIBRARY_H
#define MEGALITH_MISSING_LIBRARY_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(lib$analyze_sdesc_64) MEGA_MISSING(lib$ascii_to_uid) MEGA_MISSING(lib$asn_wth_mbx)
MEGA_MISSING(lib$ast_in_prog) MEGA_MISSING(lib$attach) MEGA_MISSING(lib$build_nodespec)
MEGA_MISSING(lib$callg) MEGA_MISSING(lib$callg_64) MEGA_MISSING(lib$compare_netname)
MEGA_MISSING(lib$compare_nodename) MEGA_MISSING(lib$compare_uid) MEGA_MISSING(lib$compress_netname)
MEGA_MISSING(lib$compress_nodename) MEGA_MISSING(lib$convert_date_string) MEGA_MISSING(lib$crc)
MEGA_MISSING(lib$crc_table) MEGA_MISSING(lib$create_dir) MEGA_MISSING(lib$create_uid)
MEGA_MISSING(lib$create_user_vm_zone) MEGA_MISSING(lib$create_user_vm_zone_64)
MEGA_MISSING(lib$crf_ins_key) MEGA_MISSING(lib$crf_ins_ref) MEGA_MISSING(lib$crf_output)
MEGA_MISSING(lib$currency) MEGA_MISSING(lib$cvt_dx_dx) MEGA_MISSING(lib$dec_over)
MEGA_MISSING(lib$decode_fault) MEGA_MISSING(lib$delete_file) MEGA_MISSING(lib$delete_logical)
MEGA_MISSING(lib$delete_symbol) MEGA_MISSING(lib$digit_sep) MEGA_MISSING(lib$disable_ctrl)
MEGA_MISSING(lib$do_command) MEGA_MISSING(lib$emodd) MEGA_MISSING(lib$emodf) MEGA_MISSING(lib$emodg)
MEGA_MISSING(lib$emodh) MEGA_MISSING(lib$enable_ctrl) MEGA_MISSING(lib$expand_netname)
MEGA_MISSING(lib$expand_nodename) MEGA_MISSING(lib$fid_to_name) MEGA_MISSING(lib$file_scan)
MEGA_MISSING(lib$file_scan_end) MEGA_MISSING(lib$find_file) MEGA_MISSING(lib$find_file_end)
MEGA_MISSING(lib$find_image_symbol) MEGA_MISSING(lib$find_vm_zone) MEGA_MISSING(lib$find_vm_zone_64)
MEGA_MISSING(lib$fit_netname) MEGA_MISSING(lib$fit_nodename) MEGA_MISSING(lib$fixup_flt)
MEGA_MISSING(lib$flt_under) MEGA_MISSING(lib$format_date_time) MEGA_MISSING(lib$format_sogw_prot)
MEGA_MISSING(lib$free_date_time_context) MEGA_MISSING(lib$free_lun) MEGA_MISSING(lib$free_vm_page)
MEGA_MISSING(lib$free_vm_page_64) MEGA_MISSING(lib$get_accnam)
MEGA_MISSING(lib$get_accnam_by_context) MEGA_MISSING(lib$get_command) MEGA_MISSING(lib$get_common)
MEGA_MISSING(lib$get_curr_invo_context) MEGA_MISSING(lib$get_date_format)
MEGA_MISSING(lib$get_foreign) MEGA_MISSING(lib$get_fullname_offset) MEGA_MISSING(lib$get_hostname)
MEGA_MISSING(lib$get_invo_context) MEGA_MISSING(lib$get_invo_handle) MEGA_MISSING(lib$get_logical)
MEGA_MISSING(lib$get_lun) MEGA_MISSING(lib$get_maximum_date_length)
MEGA_MISSING(lib$get_prev_invo_context) MEGA_MISSING(lib$get_prev_invo_handle)
MEGA_MISSING(lib$get_process_by_name) MEGA_MISSING(lib$get_symbol)
MEGA_MISSING(lib$get_users_language) MEGA_MISSING(lib$get_vm_page) MEGA_MISSING(lib$get_vm_page_64)
MEGA_MISSING(lib$getqui) MEGA_MISSING(lib$init_date_time_context) MEGA_MISSING(lib$insert_tree)
MEGA_MISSING(lib$insert_tree_64) MEGA_MISSING(lib$int_over) MEGA_MISSING(lib$interlock)
MEGA_MISSING(lib$lookup_key) MEGA_MISSING(lib$lookup_tree) MEGA_MISSING(lib$lookup_tree_64)
MEGA_MISSING(lib$lp_lines) MEGA_MISSING(lib$movtc) MEGA_MISSING(lib$movtuc)
MEGA_MISSING(lib$parse_access_code) MEGA_MISSING(lib$parse_sogw_prot) MEGA_MISSING(lib$pause)
MEGA_MISSING(lib$polyd) MEGA_MISSING(lib$polyf) MEGA_MISSING(lib$polyg) MEGA_MISSING(lib$polyh)
MEGA_MISSING(lib$put_common) MEGA_MISSING(lib$put_invo_registers) MEGA_MISSING(lib$radix_point)
MEGA_MISSING(lib$rename_file) MEGA_MISSING(lib$run_program)
MEGA_MISSING(lib$scopy_r_dx_64) MEGA_MISSING(lib$set_file_prot) MEGA_MISSING(lib$set_logical)
MEGA_MISSING(lib$set_symbol) MEGA_MISSING(lib$sfreen_dd) MEGA_MISSING(lib$sget1_dd_64)
MEGA_MISSING(lib$show_vm) MEGA_MISSING(lib$show_vm_64) MEGA_MISSING(lib$show_vm_zone)
MEGA_MISSING(lib$show_vm_zone_64) MEGA_MISSING(lib$sig_to_stop) MEGA_MISSING(lib$sim_trap)
MEGA_MISSING(lib$stat_vm) MEGA_MISSING(lib$stat_vm_64) MEGA_MISSING(lib$stat_vm_zone)
MEGA_MISSING(lib$sys_trnlog) MEGA_MISSING(lib$table_parse) MEGA_MISSING(lib$tparse)
MEGA_MISSING(lib$tra_asc_ebc) MEGA_MISSING(lib$tra_ebc_asc) MEGA_MISSING(lib$traverse_tree)
MEGA_MISSING(lib$traverse_tree_64) MEGA_MISSING(lib$trim_filespec) MEGA_MISSING(lib$trim_fullname)
MEGA_MISSING(lib$uid_to_ascii) MEGA_MISSING(lib$verify_vm_zone) MEGA_MISSING(lib$verify_vm_zone_64)

MEGA_MISSING(str$add) MEGA_MISSING(str$analyze_sdesc_64) MEGA_MISSING(str$divide)
MEGA_MISSING(str$compare_multi) MEGA_MISSING(str$mul) MEGA_MISSING(str$recip)
MEGA_MISSING(str$round)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
