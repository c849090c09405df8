# Fuzzers: each tests/fuzz/fuzz_NAME.c is one program, build/fuzz/NAME, of libFuzzer, AddressSanitizer
# and UBSan; its line "// SOURCES: ..." names the kernel's own sources that are linked with it, as
# for the unit tests. build/fuzz/cover/NAME is the same with coverage counters instead of sanitizers.

FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_COMMON := tests/fuzz/common.c $(HOST_COMMON)
fuzz_sources = $(call sources_of,tests/fuzz/fuzz_$(1).c)

FUZZCC := clang
FUZZ_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer $(WARNINGS) -Wno-unknown-pragmas \
	-Wno-unknown-attributes -Wno-unused-function -Wno-macro-redefined
# From version 17 on clang gives each variable that AddressSanitizer checks a section of its own,
# which the renaming below would not know: the variables would keep their values from one input to
# the next. Older versions do not know the option.
FUZZ_TOGETHER := -fno-sanitize-address-globals-dead-stripping
FUZZ_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all \
	$(shell $(FUZZCC) $(FUZZ_TOGETHER) -xc -fsyntax-only /dev/null 2>/dev/null && echo $(FUZZ_TOGETHER))
FUZZ_COVER := -fprofile-instr-generate -fcoverage-mapping

$(call flags_file,$(B)/flags/fuzz,$(FUZZCC) $(FUZZ_CFLAGS) $(FUZZ_SANITIZE) $(FUZZ_COVER) $(HCPPFLAGS))

$(call flags_file,$(B)/flags/fuzz-compile,$(FUZZCC) $(FUZZ_CFLAGS) $(FUZZ_SANITIZE) \
	-fsanitize=fuzzer-no-link $(HCPPFLAGS))

.PHONY: fuzzers fuzz-cover fuzz
fuzzers: $(addprefix $(B)/fuzz/,$(FUZZ_NAMES)) ## build the fuzzers
fuzz-cover: $(addprefix $(B)/fuzz/cover/,$(FUZZ_NAMES))

# Static data go to sections of their own, so that tests/fuzz/common.c finds them and resets them
# before each input. The sections are renamed after compilation, because AddressSanitizer does not
# check variables that the compiler puts into a section with a name of its own. A variable that is
# in another section ends the build.
FUZZ_RENAME := objcopy --rename-section .data=fuzz_data,alloc,load,data,contents \
	--rename-section .bss=fuzz_bss,alloc,load,data,contents
FUZZ_RENAMED = if objdump -h $@ | grep -E ' \.(data|bss)( |\.[^r])'; then rm $@; exit 1; fi

$(B)/fuzz/obj/%.c.o: %.c $(B)/flags/fuzz | $(SETUP_TESTS)
	$(call say,FUZZCC,$<)
	@mkdir -p $(@D)
	$(Q)$(FUZZCC) $(FUZZ_CFLAGS) $(FUZZ_SANITIZE) -fsanitize=fuzzer-no-link $(HCPPFLAGS) -MD -MP -c $< -o $@
	$(if $(filter $(FUZZ_COMMON),$<),,$(Q)$(FUZZ_RENAME) $@ && $(FUZZ_RENAMED))

$(B)/fuzz/cover/obj/%.c.o: %.c $(B)/flags/fuzz | $(SETUP_TESTS)
	$(call say,FUZZCC,$<)
	@mkdir -p $(@D)
	$(Q)$(FUZZCC) $(FUZZ_CFLAGS) $(FUZZ_COVER) $(HCPPFLAGS) -MD -MP -c $< -o $@
	$(if $(filter $(FUZZ_COMMON),$<),,$(Q)$(FUZZ_RENAME) $@)

# $(1): the name, $(2): cover/ or nothing, $(3): flags of the link.
define fuzz_program
$(B)/fuzz/$(2)$(1): $(patsubst %,$(B)/fuzz/$(2)obj/%.o,tests/fuzz/fuzz_$(1).c $(FUZZ_COMMON) \
		$(call fuzz_sources,$(1)))
	$$(call say,FUZZLD,$$@)
	$$(Q)$$(FUZZCC) $(3) -fsanitize=fuzzer $$(filter %.o,$$^) -lpthread -lm -o $$@
endef
$(foreach n,$(FUZZ_NAMES),$(eval $(call fuzz_program,$(n),,$$(FUZZ_SANITIZE))))
$(foreach n,$(FUZZ_NAMES),$(eval $(call fuzz_program,$(n),cover/,$$(FUZZ_COVER))))

fuzz: ## fuzz for FUZZ_SECONDS (600) each; FUZZ='pool items' chooses; grows the corpus
	$(Q)scripts/fuzz --seconds $(or $(FUZZ_SECONDS),600) $(FUZZ)

-include $(wildcard $(B)/fuzz/obj/*/*.d $(B)/fuzz/obj/*/*/*.d $(B)/fuzz/cover/obj/*/*.d $(B)/fuzz/cover/obj/*/*/*.d)
