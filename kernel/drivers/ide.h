/* Disks at the CMD646 IDE controller of the machine (ATA-6, by ports). */
#ifndef KERNEL_DRIVERS_IDE_H
#define KERNEL_DRIVERS_IDE_H

/* Find the first disk of each of the controller's channels and add it to kernel/block, with its
 * partitions. What cannot be used is named on the console. IPL 0; waits. Boot. */
void ide_boot(void);

#endif
