/* Screen management: not implemented. Terminals are controlled by <termios.h>. */
#ifndef SMG$ROUTINES_H
#define SMG$ROUTINES_H

#include <megalith/missing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
MEGA_MISSING(smg$add_key_def) MEGA_MISSING(smg$allow_escape) MEGA_MISSING(smg$begin_display_update)
MEGA_MISSING(smg$begin_pasteboard_update) MEGA_MISSING(smg$cancel_input)
MEGA_MISSING(smg$change_pbd_characteristics) MEGA_MISSING(smg$change_rendition)
MEGA_MISSING(smg$change_viewport) MEGA_MISSING(smg$change_virtual_display)
MEGA_MISSING(smg$check_for_occlusion) MEGA_MISSING(smg$control_mode)
MEGA_MISSING(smg$copy_virtual_display) MEGA_MISSING(smg$create_key_table)
MEGA_MISSING(smg$create_menu) MEGA_MISSING(smg$create_pasteboard)
MEGA_MISSING(smg$create_subprocess) MEGA_MISSING(smg$create_viewport)
MEGA_MISSING(smg$create_virtual_display) MEGA_MISSING(smg$create_virtual_keyboard)
MEGA_MISSING(smg$cursor_column) MEGA_MISSING(smg$cursor_row) MEGA_MISSING(smg$define_key)
MEGA_MISSING(smg$del_term_table) MEGA_MISSING(smg$delete_chars) MEGA_MISSING(smg$delete_key_def)
MEGA_MISSING(smg$delete_line) MEGA_MISSING(smg$delete_menu) MEGA_MISSING(smg$delete_pasteboard)
MEGA_MISSING(smg$delete_subprocess) MEGA_MISSING(smg$delete_viewport)
MEGA_MISSING(smg$delete_virtual_display) MEGA_MISSING(smg$delete_virtual_keyboard)
MEGA_MISSING(smg$disable_broadcast_trapping) MEGA_MISSING(smg$disable_unsolicited_input)
MEGA_MISSING(smg$draw_char) MEGA_MISSING(smg$draw_line) MEGA_MISSING(smg$draw_rectangle)
MEGA_MISSING(smg$enable_unsolicited_input) MEGA_MISSING(smg$end_display_update)
MEGA_MISSING(smg$end_pasteboard_update) MEGA_MISSING(smg$erase_chars) MEGA_MISSING(smg$erase_column)
MEGA_MISSING(smg$erase_display) MEGA_MISSING(smg$erase_line) MEGA_MISSING(smg$erase_pasteboard)
MEGA_MISSING(smg$execute_command) MEGA_MISSING(smg$find_cursor_display)
MEGA_MISSING(smg$flush_buffer) MEGA_MISSING(smg$get_broadcast_message)
MEGA_MISSING(smg$get_char_at_physical_cursor) MEGA_MISSING(smg$get_display_attr)
MEGA_MISSING(smg$get_key_def) MEGA_MISSING(smg$get_keyboard_attributes)
MEGA_MISSING(smg$get_numeric_data) MEGA_MISSING(smg$get_pasteboard_attributes)
MEGA_MISSING(smg$get_pasting_info) MEGA_MISSING(smg$get_term_data)
MEGA_MISSING(smg$get_viewport_char) MEGA_MISSING(smg$home_cursor) MEGA_MISSING(smg$init_term_table)
MEGA_MISSING(smg$init_term_table_by_type) MEGA_MISSING(smg$insert_chars)
MEGA_MISSING(smg$insert_line) MEGA_MISSING(smg$invalidate_display) MEGA_MISSING(smg$keycode_to_name)
MEGA_MISSING(smg$label_border) MEGA_MISSING(smg$list_key_defs)
MEGA_MISSING(smg$list_pasteboard_order) MEGA_MISSING(smg$list_pasting_order)
MEGA_MISSING(smg$load_key_defs) MEGA_MISSING(smg$load_virtual_display) MEGA_MISSING(smg$move_text)
MEGA_MISSING(smg$move_virtual_display) MEGA_MISSING(smg$name_to_keycode)
MEGA_MISSING(smg$paste_virtual_display) MEGA_MISSING(smg$pop_virtual_display)
MEGA_MISSING(smg$print_pasteboard) MEGA_MISSING(smg$put_chars) MEGA_MISSING(smg$put_chars_highwide)
MEGA_MISSING(smg$put_chars_multi) MEGA_MISSING(smg$put_chars_wide) MEGA_MISSING(smg$put_help_text)
MEGA_MISSING(smg$put_line) MEGA_MISSING(smg$put_line_highwide) MEGA_MISSING(smg$put_line_multi)
MEGA_MISSING(smg$put_line_wide) MEGA_MISSING(smg$put_pasteboard) MEGA_MISSING(smg$put_status_line)
MEGA_MISSING(smg$put_virtual_display_encoded) MEGA_MISSING(smg$put_with_scroll)
MEGA_MISSING(smg$read_composed_line) MEGA_MISSING(smg$read_from_display)
MEGA_MISSING(smg$read_keystroke) MEGA_MISSING(smg$read_locator) MEGA_MISSING(smg$read_string)
MEGA_MISSING(smg$read_verify) MEGA_MISSING(smg$remove_line) MEGA_MISSING(smg$repaint_line)
MEGA_MISSING(smg$repaint_screen) MEGA_MISSING(smg$repaste_virtual_display)
MEGA_MISSING(smg$replace_input_line) MEGA_MISSING(smg$restore_physical_screen)
MEGA_MISSING(smg$return_cursor_pos) MEGA_MISSING(smg$return_input_line) MEGA_MISSING(smg$ring_bell)
MEGA_MISSING(smg$save_physical_screen) MEGA_MISSING(smg$save_virtual_display)
MEGA_MISSING(smg$scroll_display_area) MEGA_MISSING(smg$scroll_viewport)
MEGA_MISSING(smg$select_from_menu) MEGA_MISSING(smg$set_broadcast_trapping)
MEGA_MISSING(smg$set_cursor_abs) MEGA_MISSING(smg$set_cursor_mode) MEGA_MISSING(smg$set_cursor_rel)
MEGA_MISSING(smg$set_default_state) MEGA_MISSING(smg$set_display_scroll_region)
MEGA_MISSING(smg$set_keypad_mode) MEGA_MISSING(smg$set_out_of_band_asts)
MEGA_MISSING(smg$set_physical_cursor) MEGA_MISSING(smg$set_term_characteristics)
MEGA_MISSING(smg$snapshot) MEGA_MISSING(smg$snapshot_to_printer)
MEGA_MISSING(smg$unpaste_virtual_display)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
