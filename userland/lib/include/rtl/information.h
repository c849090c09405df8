/*
 * One item of $GETJPI, $GETSYI or $GETDVI. A number goes to *resultant_value, a longword or
 * quadword as the item is; every item, as text, to the string of any class. What is 0 is not
 * wanted. Condition values are those of the services and LIB$_STRTRU (a success),
 * LIB$_INVSTRDES, LIB$_INSVIRMEM.
 */
#ifndef RTL_INFORMATION_H
#define RTL_INFORMATION_H

#include <rtl/optional.h>

#ifdef __cplusplus
extern "C" {
#endif

int lib$getjpi(const int *item_code, unsigned int *process_id, const void *process_name,
               void *resultant_value, void *resultant_string, unsigned short *resultant_length);
int lib$getsyi(const int *item_code, void *resultant_value, void *resultant_string,
               unsigned short *resultant_length, unsigned int *cluster_system_id,
               const void *node_name);
/* Of the device that *channel, or the name leads to. What is true or false has 1 or 0, and TRUE or
 * FALSE as text. */
int lib$getdvi(const int *item_code, const unsigned short *channel, const void *device_name,
               void *resultant_value, void *resultant_string, unsigned short *resultant_length);

#define lib$getdvi(...) MEGA_UP_TO(6, lib$getdvi, (0, 0, 0, 0, 0), __VA_ARGS__)
#define lib$getjpi(...) MEGA_UP_TO(6, lib$getjpi, (0, 0, 0, 0, 0), __VA_ARGS__)
#define lib$getsyi(...) MEGA_UP_TO(6, lib$getsyi, (0, 0, 0, 0, 0), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
