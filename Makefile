# Megalith: build, run, test. `make help` lists the targets.
#
# Sources are found by wildcards, so a new file needs no entry here. All output goes to build/. The
# Python environment that the build needs is installed in .venv/.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
# A job for each processor; the caller's -j has precedence, and a recursive make shares these jobs.
JOBS := $(if $(filter 0,$(MAKELEVEL)),-j$(shell nproc))
MAKEFLAGS += $(JOBS)

B := build
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s %s\n' '$(1)' '$(2)')

CROSS := alpha-linux-gnu-
CC := $(CROSS)gcc
HOSTCC := gcc
PYTHON := .venv/bin/python

WARNINGS := -Wall -Wextra -Werror

.PHONY: oracle programs schedules models all kernel user initrd run test test-boots soak mutation planted debug bench format help clean setup host-tests
all: kernel user initrd ## build the kernel, the user programs and the initrd

# ---- set-up ---------------------------------------------------------------------------------
# The stamp is in the environment that it stands for, so that it is removed together with it.
# scripts/setup installs what is missing.

SETUP := .venv/.stamp
$(SETUP): scripts/setup requirements.txt
	$(Q)scripts/setup
# What only tests need is installed when they are asked for.
SETUP_TESTS := .venv/.stamp-tests
$(SETUP_TESTS): scripts/setup requirements.txt requirements-tests.txt | $(SETUP)
	$(Q)scripts/setup --tests
setup: $(SETUP) ## install what is missing (other targets do it when needed)

# ---- kernels for verification ---------------------------------------------------------------
# `make TEST=1 kernel`, UBSAN=1, RACES=1 and COVERAGE=1 build further kernels, each in a folder of
# its own (tests/README.md describes their uses). Only these kernels contain kernel/test, functions
# that only tests use. Otherwise the TEST=1 kernel is the same as the ordinary one.
#
# UBSAN=1 enables all checks of -fsanitize=undefined. A failed check executes a trap instruction, so
# no runtime is needed. Equal blocks of code are not merged, so that each check has a trap of its
# own, which identifies its source line. Checks and counters enlarge stack frames: the limit for
# these kernels is 1.5 times the ordinary one.

comma := ,
VARIANT := $(if $(UBSAN),ubsan,$(if $(RACES),races,$(if $(COVERAGE),coverage,$(if $(TEST),test))))
K := $(B)$(addprefix /,$(VARIANT))

INSTRUMENTED := $(filter-out test,$(VARIANT))
VFLAGS_ubsan := -fsanitize=undefined -fsanitize-undefined-trap-on-error \
	-fno-crossjumping -fno-tree-tail-merge
# Coverage counts arcs of the flow graph. The increments are atomic, because lost updates would make
# counts that are computed from others negative. The host finds the counters by the section
# .gcov_info (scripts/megalith/verify/counters.py), so there is no runtime, and the function with
# which a runtime would merge counters is defined as 0.
VFLAGS_coverage := -fprofile-arcs -ftest-coverage -fprofile-update=atomic \
	-fprofile-info-section=.gcov_info
VLDFLAGS_coverage := -Wl,--defsym=__gcov_merge_add=0
# The race detector implements the functions that the compiler calls for ThreadSanitizer. Its own
# files are compiled without these calls (below).
VFLAGS_races := -fsanitize=thread -Wno-tsan --param tsan-distinguish-volatile=1 \
	--param tsan-instrument-func-entry-exit=0
VLDFLAGS_races := $(addprefix -Wl$(comma)--wrap=,memcpy memmove memset memcmp mem_zero_page mem_copy_page)
VFLAGS := $(VFLAGS_$(VARIANT))

# ---- flags ----------------------------------------------------------------------------------

KCFLAGS = -std=gnu11 -O2 -g -mcpu=ev67 -ffreestanding -fno-pic -mno-fp-regs -msmall-data \
	-ffixed-8 -fno-common -fno-strict-aliasing -fasynchronous-unwind-tables -msmall-text -fstack-check \
	$(WARNINGS) -Wframe-larger-than=$(if $(INSTRUMENTED),1536,1024) $(VFLAGS)
KCPPFLAGS = -I. -I$(K)/gen -include arch/alpha/hw/one_module.h -D__MEGALITH_KERNEL__ $(if $(VARIANT),-DMEGALITH_TEST)
KLDFLAGS := -nostdlib -static -Wl,--no-relax -Wl,--build-id=none -Wl,-z,max-page-size=8192 \
	-Wl,--eh-frame-hdr -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments $(VLDFLAGS_$(VARIANT))

UCFLAGS := -std=gnu11 -O2 -g -mcpu=ev67 $(WARNINGS)
UCPPFLAGS := -Iuserland/lib/include -Ikernel/base/abi
ULDFLAGS := -static -Wl,--no-relax
# Memory of the C library that AST routines may have, too (userland/lib/malloc_hold.c).
UHOLD := -Wl,-u,__wrap_malloc \
	$(addprefix -Wl$(comma)--wrap=,malloc calloc realloc free memalign aligned_alloc posix_memalign fork)

HSANITIZE := $(if $(COVERAGE),--coverage -fprofile-update=atomic,\
	-fsanitize=address$(comma)undefined -fno-sanitize-recover=all)
HCFLAGS := -std=gnu11 $(if $(COVERAGE),-O0,-O1) -g $(HSANITIZE) -fno-omit-frame-pointer $(WARNINGS) -Wno-unknown-pragmas
# The headers of -idirafter count as the system's, so that they are dependencies with -MD only.
HCPPFLAGS := -Itests/host/include -I. -idirafter userland/lib/include \
	-idirafter kernel/base/abi -D__MEGALITH_HOST__

# flags_file writes a text (compiler flags, a list of files) to a file, unless the file contains it
# already; targets built with these flags depend on the file. It is written while make reads this
# file, so that a second `make` has nothing to do. It is read by cat: $(file <) of make 4.3 adds a
# byte now and then, by where its buffer ends.
flags_differ = $(subst x$(1),,x$(2))$(subst x$(2),,x$(1))
flags_file = $(if $(call flags_differ,with $(strip $(2)),$(strip $(shell cat $(1) 2>/dev/null))),$(shell mkdir -p $(dir $(1)))$(file > $(1),with $(strip $(2))))

# ---- libext2fs --------------------------------------------------------------------------------
# Some files of libext2fs, which kernel/fs/ext4 uses (its library/recipe.toml names them). They are
# linked to one object, without what nothing calls. Where the archive cannot be had, EXT2FS_SRC is
# empty, and the kernel has kernel/fs/ext4/absent.c instead of ext4.

EXT2FS := $(B)/ext2fs
EXT2FS_CALLED := open2 free inode_csum_set flush_icache descriptor_block_loc2 bg_has_super read_inode_full extent_open2 extent_goto2 extent_get extent_free \
	read_dir_block4 dirhash group_desc_csum_verify
ifneq ($(filter-out help clean setup format,$(or $(MAKECMDGOALS),all)),)
$(EXT2FS)/library.mk: kernel/fs/ext4/library/recipe.toml scripts/ext2fs scripts/megalith/run/ext2fs.py \
		scripts/megalith/run/packages.py | $(SETUP)
	$(call say,EXT2FS,$(EXT2FS))
	$(Q)scripts/ext2fs $(EXT2FS)
endif
-include $(EXT2FS)/library.mk

.PHONY: ext2fs
ext2fs: | $(SETUP) ## try again to get what ext4 needs
	$(Q)scripts/ext2fs $(EXT2FS)
	$(Q)$(MAKE) -s --no-print-directory kernel

# ---- kernel ---------------------------------------------------------------------------------

OFFSETS_C := arch/alpha/hw/asm_offsets.c
OFFSETS_H := $(K)/gen/arch/alpha/hw/asm_offsets.h

KSRC := $(sort $(shell find arch kernel mm sysman -name '*.[cS]'))
KSRC := $(filter-out $(OFFSETS_C) $(if $(RACES),,kernel/races/%) $(if $(VARIANT),,kernel/test/%) \
	$(if $(EXT2FS_SRC),kernel/fs/ext4/absent.c,$(filter-out kernel/fs/ext4/absent.c,$(filter kernel/fs/ext4/%,$(KSRC)))),$(KSRC))
KOBJ := $(addprefix $(K)/kernel/,$(addsuffix .o,$(KSRC)))
ELF := $(K)/megalith.elf
PASS1 := $(K)/kernel/pass1.elf

$(call flags_file,$(K)/flags/kernel,$(CC) $(KCFLAGS) $(KCPPFLAGS))
KLIB := $(if $(EXT2FS_SRC),$(K)/ext2fs/library.o)
$(call flags_file,$(K)/flags/kernel-link,$(KLDFLAGS) $(KOBJ) $(KLIB))

kernel: $(ELF)

$(KOBJ) $(OFFSETS_H): | $(SETUP)

$(K)/kernel/%.c.o: %.c $(K)/flags/kernel
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KCFLAGS) $(KCPPFLAGS) -MMD -MP -c $< -o $@

$(K)/kernel/%.S.o: %.S $(K)/flags/kernel
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KCFLAGS) $(KCPPFLAGS) -D__ASSEMBLER__ -MMD -MP -c $< -o $@

# The library has the kernel's flags, but for warnings and instrumentation, and headers of the cross
# compiler's C library, of which it calls nothing (names.h). So do the files that call it.
EXT2FS_CPPFLAGS := -isystem kernel/fs/ext4/library -isystem $(EXT2FS)/lib
EXT2FS_OBJ := $(patsubst %,$(K)/ext2fs/%.o,$(EXT2FS_SRC))
$(K)/kernel/kernel/fs/ext4/%.o: KCPPFLAGS += $(EXT2FS_CPPFLAGS)
$(filter $(K)/kernel/kernel/fs/ext4/%,$(KOBJ)): $(EXT2FS)/library.mk

EXT2FS_CFLAGS = $(EXT2FS_CPPFLAGS) -w -ffunction-sections -fstack-usage -include kernel/fs/ext4/library/names.h
$(call flags_file,$(K)/flags/ext2fs,$(EXT2FS_CFLAGS) $(EXT2FS_CALLED))

$(EXT2FS_OBJ): VFLAGS :=
$(EXT2FS_OBJ): $(K)/ext2fs/%.o: $(EXT2FS)/library.mk kernel/fs/ext4/library/names.h kernel/fs/ext4/library/config.h \
		$(K)/flags/kernel $(K)/flags/ext2fs
	$(call say,CC,libext2fs/$*.c)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out $(WARNINGS) -Wframe%,$(KCFLAGS)) $(KCPPFLAGS) $(EXT2FS_CFLAGS) \
	    -c $(EXT2FS)/lib/ext2fs/$*.c -o $@

$(K)/ext2fs/library.o: $(EXT2FS_OBJ)
	$(Q)$(CROSS)ld -r --gc-sections -e ext2fs_open2 $(EXT2FS_CALLED:%=-u ext2fs_%) $^ -o $@

# Compiled without calls of the race detector: the detector itself, and functions whose accesses it
# attributes to their callers (kernel/races/hooks.c).
$(K)/kernel/kernel/races/%.o: VFLAGS :=
ifdef RACES
$(K)/kernel/kernel/base/string.c.o $(K)/kernel/kernel/base/string_extra.c.o: VFLAGS :=
endif

# A call that is a function's last action becomes a branch, and a message then names the function's
# caller. Deliberate errors are to be reported where they are.
$(K)/kernel/kernel/test/%.o: KCFLAGS += -fno-optimize-sibling-calls

ifneq ($(wildcard $(OFFSETS_C)),)
$(KOBJ): | $(OFFSETS_H)
endif

# asm_offsets.c emits lines "->NAME VALUE" into its assembly output; they are converted to macros.
$(OFFSETS_H): $(OFFSETS_C) $(K)/flags/kernel
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KCFLAGS) $(KCPPFLAGS) -MMD -MP -MT $@ -MF $(@:.h=.d) -S $< -o $(@:.h=.s)
	$(Q){ echo '/* Generated from $(OFFSETS_C). */'; \
	    sed -nE 's/^[[:space:]"]*->[[:space:]]*([A-Za-z_0-9]+)[[:space:]]+[$$#]?(-?[0-9]+).*/#define \1 \2/p' \
	    $(@:.h=.s); } > $@

# The symbol table: link with an empty table, generate the table from the result, link again with
# it, and check that no function has moved.
KLINK = $(CC) $(KLDFLAGS) -T linker.ld $(KOBJ) $(KLIB) $(1) -lgcc -o $(2)
KSYMS_NM = $(CROSS)nm -n $(1) | grep -E ' [tT] '

$(PASS1): $(KOBJ) $(KLIB) linker.ld $(K)/flags/kernel-link scripts/ksyms
	$(Q)scripts/ksyms < /dev/null > $(K)/kernel/ksyms0.S
	$(Q)$(CC) -c $(K)/kernel/ksyms0.S -o $(K)/kernel/ksyms0.o
	$(Q)$(call KLINK,-Xlinker -Map=$(K)/kernel/pass1.map $(K)/kernel/ksyms0.o,$@)

$(ELF): $(PASS1)
	$(call say,LD,$@)
	$(Q)$(call KSYMS_NM,$<) > $(K)/kernel/symbols
	$(Q)cat $(K)/kernel/symbols $(K)/kernel/pass1.map | scripts/ksyms > $(K)/kernel/ksyms.S
	$(Q)$(CC) -c $(K)/kernel/ksyms.S -o $(K)/kernel/ksyms.o
	$(Q)$(call KLINK,$(K)/kernel/ksyms.o,$@)
	$(Q)$(call KSYMS_NM,$@) | cmp -s - $(K)/kernel/symbols || \
	    { echo 'the second link moved functions' >&2; rm -f $@; exit 1; }

# ---- user programs --------------------------------------------------------------------------
# Each userland/{bin,tests,bench}/NAME.c, and each folder NAME/ of several files there, is one
# program.

LIB_SRC := $(sort $(wildcard userland/lib/*.c userland/lib/*.S))
LIB_OBJ := $(addprefix $(B)/user/,$(addsuffix .o,$(LIB_SRC)))
LIB := $(B)/user/libmegalith.a

USER_FOLDERS := bin tests bench
USER_NAMES := $(sort $(foreach f,$(USER_FOLDERS),\
	$(patsubst userland/%.c,%,$(wildcard userland/$(f)/*.c)) \
	$(patsubst userland/%/,%,$(sort $(dir $(wildcard userland/$(f)/*/*.c))))))
USER_PROGRAMS := $(addprefix $(B)/user/,$(USER_NAMES))
USER_SRC := $(sort $(foreach f,$(USER_FOLDERS),$(wildcard userland/$(f)/*.c userland/$(f)/*/*.c)))
USER_OBJ := $(addprefix $(B)/user/,$(addsuffix .o,$(USER_SRC)))

$(call flags_file,$(B)/flags/user,$(CC) $(UCFLAGS) $(UCPPFLAGS) $(ULDFLAGS) $(UHOLD))
$(call flags_file,$(B)/flags/user-lib,$(LIB_OBJ))

user: $(USER_PROGRAMS) $(LIB)

$(USER_OBJ) $(LIB_OBJ): | $(SETUP)

$(B)/user/userland/%.c.o: userland/%.c $(B)/flags/user
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(UCPPFLAGS) -MMD -MP -c $< -o $@

$(B)/user/userland/%.S.o: userland/%.S $(B)/flags/user
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(UCPPFLAGS) -MMD -MP -c $< -o $@

# What scripts/cc needs beside the headers.
DIALECT := $(B)/user/dialect/megalith/upper_case.h
DIALECT_FOLDERS := userland/lib/include kernel/base/abi
DIALECT_HEADERS := $(sort $(shell find $(DIALECT_FOLDERS) -name '*.h'))
$(call flags_file,$(B)/flags/dialect,$(DIALECT_HEADERS))

$(DIALECT): scripts/mkdialect $(DIALECT_HEADERS) $(B)/flags/dialect | $(SETUP)
	$(Q)rm -rf $(B)/user/dialect
	$(Q)$(PYTHON) scripts/mkdialect $(B)/user/dialect $(DIALECT_FOLDERS)

$(LIB): $(LIB_OBJ) $(B)/flags/user-lib | $(DIALECT)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@
	$(Q)$(CROSS)ar rcs $@ $(LIB_OBJ)

define user_program
$(B)/user/$(1): $(patsubst %,$(B)/user/%.o,$(wildcard userland/$(1).c userland/$(1)/*.c)) $(LIB) \
		$(B)/flags/user
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(ULDFLAGS) $$(UHOLD) $$(filter %.o,$$^) $(LIB) -lpthread -lm -o $$@
endef
$(foreach p,$(USER_NAMES),$(eval $(call user_program,$(p))))

# sysman reads and writes the configuration with the kernel's own parser.
SYSMAN_OBJ := $(addprefix $(B)/user/sysman/,config.c.o copies.c.o)
$(B)/user/bin/sysman: $(SYSMAN_OBJ)
$(SYSMAN_OBJ) $(B)/user/userland/bin/sysman/%.o: UCPPFLAGS += -I.
$(SYSMAN_OBJ): $(B)/user/sysman/%.c.o: sysman/%.c $(B)/flags/user | $(SETUP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) $(UCPPFLAGS) -MMD -MP -c $< -o $@

# Conformance programs know nothing of Megalith, and are in no initrd: tests add them. They make
# calls with bad arguments on purpose.
CONFORMANCE := $(patsubst userland/%.c,$(B)/user/%,$(sort $(wildcard userland/conformance/*.c)))

user: $(CONFORMANCE)

$(CONFORMANCE): $(B)/user/%: userland/%.c $(B)/flags/user | $(SETUP)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(UCFLAGS) -Wno-stringop-overflow -Wno-nonnull $(ULDFLAGS) -MMD -MP -MF $@.d $< -lpthread -o $@

# ---- initrd ---------------------------------------------------------------------------------
# The programs, without their debugging information. scripts/run adds the folder boot/ to a copy.
# Of the programs that test, the images have those that the documents show at work.

INITRD := $(B)/initrd.cpio
STRIPPED := $(addprefix $(B)/initrd/,$(USER_NAMES))
ETC_NAMES := $(patsubst userland/%,%,$(sort $(wildcard userland/etc/*)))
DEMOS := $(addprefix tests/,share_section crash_kernel tracing)
BOOT_NAMES := $(filter bin/%,$(USER_NAMES)) $(DEMOS) $(ETC_NAMES)
$(call flags_file,$(B)/flags/initrd,$(BOOT_NAMES))

SMALL_INITRD := $(B)/initrd-small.cpio

initrd: $(INITRD) $(SMALL_INITRD) ## the images

# The shell and the utilities of the default image. Where they cannot be had, the list of links is
# empty, and the image has those of userland/bin.
BUSYBOX := $(B)/busybox
$(BUSYBOX)/links: userland/busybox/recipe.toml userland/busybox/options userland/lib/complete.h \
		scripts/megalith/run/busybox.py scripts/megalith/run/packages.py | $(SETUP)
	$(call say,BUSYBOX,$(BUSYBOX))
	$(Q)scripts/busybox $(BUSYBOX)

.PHONY: busybox
busybox: | $(SETUP) ## try again to get the shell of the default image
	$(Q)rm -f $(BUSYBOX)/links
	$(Q)$(MAKE) -s --no-print-directory initrd

$(STRIPPED): $(B)/initrd/%: $(B)/user/%
	@mkdir -p $(@D)
	$(Q)$(CROSS)strip -s $< -o $@

$(B)/initrd/etc/%: userland/etc/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

MKINITRD = $(PYTHON) scripts/mkinitrd -o $@
MKINITRD_NEEDS := $(B)/flags/initrd scripts/mkinitrd scripts/megalith/run/initrd.py | $(SETUP)
$(INITRD): $(addprefix $(B)/initrd/,$(BOOT_NAMES)) $(BUSYBOX)/links $(MKINITRD_NEEDS)
	$(call say,CPIO,$@)
	$(Q)$(MKINITRD) --busybox $(BUSYBOX) $(B)/initrd $(BOOT_NAMES)

# The programs of tests are in no image: scripts/run adds those that its command names.
user: $(STRIPPED)

# With the shell and the utilities of userland/bin, which every machine can build: for tests
# (MEGALITH_INITRD=small).
$(SMALL_INITRD): $(addprefix $(B)/initrd/,$(BOOT_NAMES)) $(MKINITRD_NEEDS)
	$(Q)$(MKINITRD) $(B)/initrd $(BOOT_NAMES)

# ---- host-built unit tests ------------------------------------------------------------------
# Each tests/host/test_*.c is one program; its line "// SOURCES: ..." names the sources that are
# linked with it. A line "// WRAP: ..." names functions that it replaces, __wrap_NAME for NAME.

HOST_TESTS := $(patsubst tests/host/%.c,$(K)/host/%,$(sort $(wildcard tests/host/test_*.c)))
HOST_TESTS := $(if $(EXT2FS_SRC),$(HOST_TESTS),$(filter-out $(K)/host/test_ext4,$(HOST_TESTS)))
HOST_COMMON := $(sort $(filter-out tests/host/test_% tests/host/tsan_%,$(wildcard tests/host/*.c)))
# TEST=SOURCE for each, and TEST=EXT2FS; read at once, as each run of a shell takes 5 ms.
SOURCES_OF := $(shell awk '/^\/\/ (SOURCES:|EXT2FS$$)/ {for (i = $$2 == "SOURCES:" ? 3 : 2; i <= NF; i++) \
	print FILENAME "=" $$i}' /dev/null $(wildcard tests/host/t*.c tests/fuzz/fuzz_*.c))
sources_of = $(patsubst $(1)=%,%,$(filter $(1)=%,$(SOURCES_OF)))
WRAPS_OF := $(shell awk '/^\/\/ WRAP:/ {for (i = 3; i <= NF; i++) print FILENAME "=" $$i}' \
	/dev/null $(wildcard tests/host/test_*.c))
host_wraps = $(patsubst tests/host/$(1).c=%,-Wl$(comma)--wrap=%,$(filter tests/host/$(1).c=%,$(WRAPS_OF)))
host_sources = $(filter-out EXT2FS,$(call sources_of,tests/host/$(1).c))

$(call flags_file,$(K)/flags/host,$(HOSTCC) $(HCFLAGS) $(HCPPFLAGS))

host-tests: $(HOST_TESTS) ## build the unit tests that run on this machine

$(K)/host/obj/%.c.o: %.c $(K)/flags/host | $(SETUP_TESTS)
	$(call say,HOSTCC,$<)
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(HCFLAGS) $(HCPPFLAGS) -MD -MP -c $< -o $@

# Sources that include libext2fs's headers, and the library, for a program with the line "// EXT2FS".
HOST_EXT2FS := $(patsubst %,$(K)/host/obj/$(EXT2FS)/lib/ext2fs/%.c.o,$(EXT2FS_SRC))
$(K)/host/obj/kernel/fs/ext4/%.c.o: HCPPFLAGS += $(EXT2FS_CPPFLAGS)
$(K)/host/obj/tests/host/test_ext4.c.o $(K)/host/obj/tests/host/test_ext4_write.c.o: HCPPFLAGS += $(EXT2FS_CPPFLAGS)
$(HOST_EXT2FS): HCPPFLAGS += $(EXT2FS_CPPFLAGS) -include kernel/fs/ext4/library/names.h
$(HOST_EXT2FS): HCFLAGS += -w -ffunction-sections
$(HOST_EXT2FS): $(EXT2FS)/library.mk kernel/fs/ext4/library/names.h kernel/fs/ext4/library/config.h
host_library = $(if $(filter EXT2FS,$(call sources_of,tests/host/$(1).c)),$(HOST_EXT2FS))

define host_test
$(K)/host/$(1): $(patsubst %,$(K)/host/obj/%.o,tests/host/$(1).c $(HOST_COMMON) $(call host_sources,$(1))) \
		$(call host_library,$(1))
	$$(call say,HOSTLD,$$@)
	$$(Q)$$(HOSTCC) $$(HCFLAGS) $$(filter %.o,$$^) -lpthread -lm $(if $(call host_library,$(1)),-Wl$(comma)--gc-sections) \
		$(call host_wraps,$(1)) -o $$@
endef
# without the library there are no tests of it
WITHOUT_EXT2FS = $(if $(EXT2FS_SRC),,test_ext4 test_ext4_write)
$(foreach t,$(filter-out $(WITHOUT_EXT2FS),$(notdir $(HOST_TESTS))),$(eval $(call host_test,$(t))))
$(addprefix $(K)/host/,$(WITHOUT_EXT2FS)):;

# Each tests/host/tsan_*.c is a program that is built with ThreadSanitizer, from objects of its own.
TSAN_TESTS := $(patsubst tests/host/%.c,$(K)/host/%,$(sort $(wildcard tests/host/tsan_*.c)))
TCFLAGS := $(patsubst -fsanitize=%,-fsanitize=thread,$(HCFLAGS))

host-tests: $(TSAN_TESTS)

$(K)/host/tsan/%.c.o: %.c $(K)/flags/host | $(SETUP_TESTS)
	$(call say,HOSTCC,$<)
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(TCFLAGS) $(HCPPFLAGS) -MD -MP -c $< -o $@

define tsan_test
$(K)/host/$(1): $(patsubst %,$(K)/host/tsan/%.o,tests/host/$(1).c $(HOST_COMMON) $(call host_sources,$(1)))
	$$(call say,HOSTLD,$$@)
	$$(Q)$$(HOSTCC) $$(TCFLAGS) $$(filter %.o,$$^) -lpthread -lm -o $$@
endef
$(foreach t,$(notdir $(TSAN_TESTS)),$(eval $(call tsan_test,$(t))))

include tests/fuzz/fuzz.mk

# ---- targets for use ------------------------------------------------------------------------

PYTEST := $(PYTHON) -m pytest

run: kernel initrd ## boot an interactive shell (ARGS='...' goes to scripts/run)
	$(Q)scripts/run --any-end $(ARGS)

# With T='-k name' only what the chosen tests need is built.
TEST_NEEDS := all host-tests fuzzers test-kernel races
test: $(if $(T),needed,$(TEST_NEEDS)) ## the tests, in ten minutes (T='-k name' chooses some of all)
	$(Q)$(PYTEST) $(if $(T),,--short --durations=20 --durations-min=1) $(T)

.PHONY: test-all
test-all: $(TEST_NEEDS) ubsan counting ## every test, also what tests/lib/long.py names, in twenty minutes
	$(Q)$(PYTEST) --durations=20 --durations-min=1 $(T)

.PHONY: needed check crash
needed: | $(SETUP_TESTS)
	$(Q)mkdir -p $(B)
	$(Q)$(PYTEST) -n 0 --collect-only --needs $(B)/needs $(T) > $(B)/needs.log || { cat $(B)/needs.log; exit 1; }
	$(Q)$(MAKE) -s --no-print-directory $$(< $(B)/needs)

check: all host-tests test-kernel ## the unit tests and some of those in the guest, in two minutes
	$(Q)$(PYTEST) --check $(T)

# The list of these tests is tests/lib/limits.py.
.PHONY: test-limits
test-limits: all test-kernel ## the tests with time limits, three times beside eight busy loops
	$(Q)scripts/limits $(ARGS)

test-boots: all ## 50 boots in a row at --smp 4
	$(Q)$(PYTEST) -m boots -n 0 tests/test_boots.py $(T)

crash: all ## 1,000 power cuts while ext4 is written
	$(Q)MEGALITH_CUTS=1000 $(PYTEST) -n 0 tests/test_ext4_write.py -k power_cuts $(T)

# Kernels for verification are built by a recursive make, with variables of their own.
.PHONY: test-kernel ubsan races counting coverage test-ubsan test-races
test-kernel ubsan races counting: | $(SETUP_TESTS)
test-kernel:
	$(Q)$(MAKE) -s --no-print-directory TEST=1 kernel
races:
	$(Q)$(MAKE) -s --no-print-directory RACES=1 kernel
ubsan:
	$(Q)$(MAKE) -s --no-print-directory UBSAN=1 kernel
counting:
	$(Q)$(MAKE) -s --no-print-directory COVERAGE=1 kernel $(B)/coverage/host/test_config

# The tests that boot an ordinary system and make no measurements.
GUEST_TESTS := $(addprefix tests/test_,$(addsuffix .py,guest walk crash shell sections locks tracing \
	global_sections reserved_memory registry_life large_memory vms_programs foreign config_boot \
	logical_names allocation_failure sysman_guest))

test-ubsan: all ubsan ## run the guest tests on a kernel with UBSan's traps
	$(Q)$(PYTEST) --kernel $(B)/ubsan/megalith.elf $(if $(T),,--figures ubsan) --slower 6 \
	    -o timeout=1500 $(GUEST_TESTS) tests/test_ubsan.py $(T)

# Tests on one CPU are excluded, because there can be no race, and two tests with sections of many
# gigabytes: the check of all pages at the end would run at raised IPL for longer than this kernel
# allows a CPU to be without clock interrupts.
test-races: all races ## run the guest tests on a kernel that looks for data races
	$(Q)$(PYTEST) --kernel $(B)/races/megalith.elf $(if $(T),,--figures races) --slower 6 \
	    -o timeout=1500 $(addprefix tests/test_,$(addsuffix .py,guest walk sections shell races)) \
	    -k "not -1] and not shared_whole and not shared_by_300" $(T)

programs: all ## build and run programs of others, and compare with Linux (P="NAME ...")
	$(Q)scripts/programs $(P)

oracle: user ## record what Linux/Alpha answers to the conformance programs (qemu-alpha, root)
	$(Q)scripts/oracle $(ARGS)

coverage: all ## which lines of the kernel the tests reach (build/coverage/report.txt)
	$(Q)$(MAKE) -s --no-print-directory COVERAGE=1 kernel host-tests
	$(Q)scripts/coverage $(if $(T),,--figures) --slower 3 -o timeout=1500 \
	    $(GUEST_TESTS) tests/test_host.py $(T)

soak: all ## all stress programs at once on four CPUs, for SOAK_SECONDS (600)
	$(Q)$(PYTEST) -m soak -n 0 -s tests/test_walk.py tests/test_siege.py tests/test_killed.py \
	    tests/test_holds.py tests/test_tb.py tests/test_loads.py $(T)

schedules: all ## racing programs under SCHEDULES (50) repeatable schedules of four CPUs
	$(Q)scripts/schedules --count $(or $(SCHEDULES),50) $(ARGS)

mutation: host-tests ## change mm/ in one place at a time: do the host tests notice? MUTATION_SECONDS (3600)
	$(Q)scripts/mutate --seconds $(or $(MUTATION_SECONDS),3600) $(ARGS)

planted: all host-tests ## plant bugs in the kernel, one at a time: do their checks notice?
	$(Q)MEGALITH_BUILT=1 scripts/planted $(ARGS)

debug: all ## boot, and wait for GDB to be attached
	$(Q)scripts/setup --debugger
	$(Q)scripts/run --gdb $(ARGS)

bench: all test-kernel ## measure everything of scripts/bench --help (an hour or two)
	$(Q)MEGALITH_BUILT=1 scripts/bench $(ARGS)

# Assembly and tables of macros (.def, .inc) are formatted by hand.
FORMATTED = git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h'
format: $(SETUP_TESTS) ## lay out C and Python sources as the tests want them
	$(Q)$(FORMATTED) | xargs -0 .venv/bin/clang-format -i
	$(Q).venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .

MODEL_EXAMPLES ?= 1000
model: all ## random operations beside a plain model in Python, MODEL_EXAMPLES (1000) sequences
	$(Q)MODEL_EXAMPLES=$(MODEL_EXAMPLES) $(PYTEST) -n 2 tests/test_model.py $(T)

models: $(SETUP_TESTS) ## check the models of concurrency in their full size (some minutes, 4 GB)
	$(Q)scripts/models --full

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

clean: ## remove what was built (not .venv)
	$(Q)rm -rf $(B)

# ---- dependencies written by the compiler ---------------------------------------------------

-include $(CONFORMANCE:=.d)
-include $(KOBJ:.o=.d) $(OFFSETS_H:.h=.d) $(LIB_OBJ:.o=.d) $(USER_OBJ:.o=.d)
-include $(wildcard $(foreach p,* */* */*/* */*/*/* */*/*/*/*,$(K)/host/tsan/$(p).d $(K)/host/obj/$(p).d))
