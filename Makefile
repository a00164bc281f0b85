# Trefoil. `make list` names the targets.
#
#   make demo                  install what is missing, build, run the demonstration
#   make test                  the same for the tests
#   make MPI=1                 with ranks of Open MPI (docs/operating.md): build/gcc/trefoil-mpi
#   make SANITIZE=address test tests under a sanitizer (address, undefined or thread)
#   make CC=clang V=1          another compiler; V=1 shows commands
#
# Each set of flags has its own tree of objects under build/.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
V ?= 0
# Installs what a target needs; `DEPS=:` leaves that to you.
DEPS ?= tools/deps.sh
FLAIM ?=
SANITIZE ?=
WERROR ?= 0
COVERAGE ?= 0
PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib
ifeq ($(origin CC),default)
CC := gcc
endif

PKG_CONFIG ?= pkg-config

VERSION := 0.3.0
# SQL needs unixODBC, and is built in where that is installed; `make ODBC=` leaves it out.
ifeq ($(origin ODBC),undefined)
ODBC := $(shell $(PKG_CONFIG) --exists odbc 2>/dev/null && echo odbc)
endif
# libipsec-mb, where it is installed, seals faster with AVX-512; `make IPSEC=` leaves it out.
IPSEC := $(wildcard /usr/include/intel-ipsec-mb.h)
# utf8proc, where it is installed, allows letters beyond ASCII in keys of persons; `make UTF8PROC=` leaves it out.
ifeq ($(origin UTF8PROC),undefined)
UTF8PROC := $(shell $(PKG_CONFIG) --exists libutf8proc 2>/dev/null && echo libutf8proc)
endif
# Servers of several machines need Open MPI: trefoil-mpi has the same objects, except those that know of ranks. MPI=1
# makes it the program; where Open MPI is installed, the tests use it too. Nothing else depends on it.
MPI ?=
export MPI
RANKS := $(if $(filter 1,$(MPI)),1,$(if $(SANITIZE),,$(shell $(PKG_CONFIG) --exists ompi-c 2>/dev/null && command -v mpirun >/dev/null && echo 1)))
PACKAGES := libzmq libsodium libcrypto gmp openblas sqlite3 jansson yaml-0.1 libmicrohttpd $(ODBC) $(UTF8PROC)
TEST_PACKAGES := cmocka
FOLDERS := base netio mpc protocols aim parties

MODE := $(notdir $(CC))$(if $(SANITIZE),-$(SANITIZE))$(if $(filter 1,$(COVERAGE)),-cov)
OUT := build/$(MODE)

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wundef -Wformat=2 -Wcast-qual -Wnull-dereference -Werror=format -Werror=unused-result \
	-Werror=implicit-function-declaration
# _FORTIFY_SOURCE needs -O, and hides some errors from sanitizers.
CFLAGS ?= -O2 -g $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
LDFLAGS ?=
# Hardened as Debian's packages are, and with the same bytes in any folder.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
FLAGS := -std=c11 -D_GNU_SOURCE -DTREFOIL_VERSION='"$(VERSION)"' -I. -pthread $(WARNINGS) \
	-fno-strict-overflow -ffp-contract=off -fPIE -fstack-protector-strong -fstack-clash-protection \
	$(if $(filter x86_64-%,$(MACHINE)),-fcf-protection) $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard) \
	'-ffile-prefix-map=$(CURDIR)=.'
HARDENED := -pie -Wl,-z,relro,-z,now
ifeq ($(WERROR),1)
FLAGS += -Werror
endif
ifneq ($(SANITIZE),)
FLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
ifeq ($(SANITIZE),undefined)
FLAGS += -fno-sanitize-recover=all
endif
endif
ifeq ($(COVERAGE),1)
# In GNU mode gcc knows fork and exec, and so writes a process's counts before it becomes another program.
FLAGS += --coverage -std=gnu11 -DTREFOIL_COVERAGE
endif

SOURCES := $(filter-out $(if $(ODBC),aim/sql/no_odbc.c,aim/sql/odbc.c) \
	$(if $(IPSEC),netio/gcm_no_ipsec.c,netio/gcm_ipsec.c) \
	$(if $(UTF8PROC),base/unicode_no_utf8proc.c,base/unicode_utf8proc.c) \
	$(wildcard parties/settings/three/*_mpi.c), \
	$(foreach d,$(FOLDERS),$(wildcard $(d)/*.c $(d)/*/*.c $(d)/*/*/*.c)))
MAIN := parties/main.c
OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(filter-out $(MAIN),$(SOURCES)))
LIBRARY := $(OUT)/product.a
RANKS_OBJECTS := $(patsubst %.c,$(OUT)/mpi/%.o,parties/command/cmd_serve.c $(wildcard parties/settings/three/*_mpi.c))
PROGRAM := $(OUT)/trefoil$(if $(filter 1,$(MPI)),-mpi)
# For other programs: the estimator and its questions alone. Its objects are position independent, their names hidden.
SHARED := $(OUT)/libtrefoil.so.0
SHARED_LINK := $(OUT)/libtrefoil.so
SHARED_OBJECTS := $(patsubst %.c,$(OUT)/%.o,$(wildcard library/*.c))
SHARED_PACKAGES := libsodium jansson
MAIN_OBJECT := $(patsubst %.c,$(OUT)/%.o,$(MAIN))
# Suites have names of their own, whatever room they are in: $(OUT)/tests/NAME.
TEST_SOURCES := $(wildcard $(addsuffix /test_*.c,tests tests/* tests/*/* tests/*/*/* bench bench/*))
TEST_SUPPORT := $(OUT)/tests/support.a
TESTS := $(addprefix $(OUT)/tests/,$(basename $(notdir $(TEST_SOURCES))))
HARNESS := $(OUT)/harness/harness.a
PRELOAD := $(OUT)/harness/preload_fault.so
BENCH_SOURCES := $(wildcard bench/bench_*.c)
RELAY := $(OUT)/harness/relay
BENCHES := $(patsubst bench/%.c,$(OUT)/bench/%,$(BENCH_SOURCES))
BENCH_SUPPORT := $(patsubst %.c,$(OUT)/%.o,$(filter-out $(BENCH_SOURCES) $(TEST_SOURCES) bench/scale_ranks.c,$(wildcard bench/*.c bench/flaim/*.c)))
BENCH_LIBRARY := $(OUT)/bench/support.a
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(FUZZ_SOURCES))
REPLAYS := $(patsubst tests/fuzz/%.c,$(OUT)/tests/%,$(FUZZ_SOURCES))
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined

# As many compilers as there are cores, unless the caller of make has said how many.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
# GNU gold, where binutils include it, links in half the time; there are more than a hundred tests.
GOLD := $(if $(shell command -v ld.gold),-fuse-ld=gold)

# Asked once, when a recipe first needs the answer, so that `make demo` may install the packages before.
once = $(eval $1 := $$(shell $2))$($1)
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(PKG_CONFIG) --cflags $(PACKAGES) $(TEST_PACKAGES) 2>/dev/null)
PACKAGE_LIBS = $(call once,PACKAGE_LIBS,$(PKG_CONFIG) --libs $(PACKAGES))
PKG_LIBS = -Wl,--as-needed $(PACKAGE_LIBS) $(if $(IPSEC),-lIPSec_MB) -lcsv -lm
TEST_LIBS = $(call once,TEST_LIBS,$(PKG_CONFIG) --libs $(TEST_PACKAGES))
MPI_CFLAGS = $(call once,MPI_CFLAGS,$(PKG_CONFIG) --cflags-only-I ompi-c)
MPI_LIBS = $(call once,MPI_LIBS,$(PKG_CONFIG) --libs ompi-c)

comma := ,
space := $() $()

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-6s %s\n'
endif

.PHONY: all demo test test-changed test-long test-net first-hour small static oci arm64-test soak bench lint analyze fuzz cov install install-library install-python wheel deb uninstall uninstall-python list clean deps started only programs man
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAM) $(SHARED_LINK)

list:
	@echo 'all        build $(PROGRAM) and $(SHARED)'
	@echo 'demo       install what is missing, build, run three servers and six hospitals'
	@echo 'test       install what is missing, build, run the tests (fixed seeds, under ten minutes)'
	@echo 'test-changed  the suites that have not passed as they are; ONLY=NAME test: those with NAME in their names'
	@echo 'test-long  the long statistics, sanitizers and memcheck'
	@echo 'test-net   studies over a LAN, a WAN, a partition, in network namespaces (needs root)'
	@echo 'first-hour what a stranger does in a bare Debian: the demo, the tests, all pages of docs (needs root)'
	@echo 'static     trefoil-small for owners and readers, without libraries: x86-64, arm64 (tools/small.sh)'
	@echo 'small      the modules of WebAssembly that trefoil explore and page put into their pages (tools/small.sh)'
	@echo 'oci        an image of a server for container engines, in build/oci (tools/oci.sh)'
	@echo 'arm64-test cross-build for arm64, run the tests of base, netio, mpc, protocols and aim under qemu-user'
	@echo 'soak       a day of uploads in SOAK_SECONDS=600, with servers killed at random'
	@echo 'bench      the measurements of bench/; bench-NAME one of them (abort, copula, data, dp, engine, events, gradient, solo, net, parcel, persons, pgm, query, e2e, scale, faults, fhaim, flaim, train)'
	@echo 'lint       include order, format, warnings as errors under gcc and clang'
	@echo 'analyze    gcc -fanalyzer, clang-tidy and cppcheck, where they are installed'
	@echo 'fuzz       fuzz the parsers (FUZZ_SECONDS=60 each)'
	@echo 'cov        line coverage of the tests'
	@echo 'man        the manual pages, in $(OUT)/man'
	@echo 'install    into $$(DESTDIR)$$(PREFIX); uninstall removes it'
	@echo 'deb        Debian packages, in build/deb'
	@echo 'wheel      the Python module with the library, for pip, in build/wheel'
	@echo 'clean      remove build/'

deps:
	@$(DEPS)

# The packages must be there before anything compiles, also under -j: hence the second make.
demo: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/trefoil
	@$(OUT)/trefoil demo --folder build/demo

# What suites start, and what those start that ONLY names, by a part of the name as in tests/run.sh.
started: $(OUT)/trefoil $(if $(RANKS),$(OUT)/trefoil-mpi) $(SHARED_LINK) $(PRELOAD)
only: started $(foreach t,$(TESTS) $(REPLAYS),$(if $(findstring $(ONLY),$(notdir $t)),$t))
programs: started $(TESTS) $(REPLAYS) $(RELAY) $(BENCHES)

# Installs drivers for two databases. Where PostgreSQL is installed, tests start one.
test test-changed:
	@$(DEPS) --nice libsqliteodbc odbc-postgresql
	@$(MAKE) --no-print-directory $(PARALLEL) $(if $(ONLY),only,programs)
	@TREFOIL=$(OUT)/trefoil CC='$(CC)' tests/run.sh $(OUT) $(filter test-changed,$@)

test-long: deps
	@tests/long.sh

soak: deps
	@$(MAKE) --no-print-directory $(PARALLEL) programs
	@tests/soak.sh $(OUT)

test-net: deps
	@$(MAKE) --no-print-directory $(PARALLEL) programs
	@tests/net.sh $(OUT)

first-hour:
	@tests/first_hour.sh

# Leaves out what cannot be installed, and says so.
# The modules of `trefoil explore` and `trefoil page`: build them before the program.
small:
	@$(DEPS) --nice xz-utils clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32
	@tools/small.sh reader
	@tools/small.sh owner

# Programs for owners and readers on whatever Linux, without libraries.
static:
	@$(DEPS) --nice xz-utils gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	@tools/small.sh x86-64
	@tools/small.sh arm64

oci: deps
	@$(DEPS) --nice mmdebstrap
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/trefoil
	@tools/oci.sh $(OUT)/trefoil build/oci

arm64-test:
	@$(DEPS) --nice gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
	@tests/arm64.sh

bench: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/trefoil $(RELAY) $(BENCHES)
	@bench/run.sh $(OUT)

# bench-NAME runs bench/bench_NAME.c alone, for as long as it takes.
bench-%: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/trefoil $(RELAY) $(filter %/bench_$*,$(BENCHES))
	@ONLY=$* BENCH_LIMIT=7200 bench/run.sh $(OUT)

# XGBoost trains the trees behind AUC, gnuplot draws; without them both are left out.
bench-flaim: deps
	@$(DEPS) libxgboost0 gnuplot-nox || true
	@$(MAKE) --no-print-directory $(PARALLEL) $(OUT)/trefoil $(RELAY) $(OUT)/bench/bench_flaim
	@ONLY=flaim FLAIM='$(FLAIM)' BENCH_LIMIT=86400 bench/run.sh $(OUT)

lint: deps
	@tools/lint.sh

analyze: deps
	@tools/analyze.sh

FUZZ_SECONDS ?= 60
fuzz: deps
	@$(MAKE) --no-print-directory $(PARALLEL) fuzzers $(REPLAYS)
	@for f in $(notdir $(FUZZERS)); do tests/fuzz/fuzz.sh $$f $(FUZZ_SECONDS) $(OUT) || exit 1; done
.PHONY: fuzzers
fuzzers: $(FUZZERS)

cov: deps
	@find build/gcc-cov -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) --no-print-directory COVERAGE=1 CC=gcc test
	@tools/cov.sh build/gcc-cov

man:
	@$(DEPS) scdoc
	@$(MAKE) --no-print-directory $(PARALLEL) $(PROGRAM)
	$(say) MAN $(OUT)/man
	$(Q)rm -rf $(OUT)/man && tools/man.sh $(PROGRAM) $(OUT)/man

SHARE = $(DESTDIR)$(PREFIX)/share
BASH_COMPLETION = $(SHARE)/bash-completion/completions/trefoil
ZSH_COMPLETION = $(SHARE)/zsh/site-functions/_trefoil
PC = $(DESTDIR)$(LIBDIR)/pkgconfig/trefoil.pc
UNIT = $(DESTDIR)$(PREFIX)/lib/systemd/system/trefoil@.service
# Modes do not depend on the umask, and what is piped into `$(PUT) /dev/stdin` has one, too.
PUT := install -D -m 0644

# The library, its header and what pkg-config reads.
install-library: $(SHARED_LINK)
	$(PUT) $(SHARED) "$(DESTDIR)$(LIBDIR)/$(notdir $(SHARED))"
	ln -sf $(notdir $(SHARED)) "$(DESTDIR)$(LIBDIR)/$(notdir $(SHARED_LINK))"
	$(PUT) library/trefoil.h "$(DESTDIR)$(PREFIX)/include/trefoil.h"
	sed 's|@PREFIX@|$(subst $(space),\\ ,$(PREFIX))|; s|@LIBDIR@|$(subst $(space),\\ ,$(LIBDIR))|; s|@VERSION@|$(VERSION)|' \
		library/trefoil.pc.in | $(PUT) /dev/stdin "$(PC)"

# The Python module, which loads the library.
PYTHONDIR ?= $(shell python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
install-python:
	$(PUT) -t "$(DESTDIR)$(PYTHONDIR)/trefoil" tools/python/trefoil/*.py tools/python/trefoil/py.typed

# A wheel for pip. With auditwheel it also has the libraries that the library needs; then it is for most distributions.
WHEELS ?= build/wheel
wheel: $(SHARED_LINK)
	@rm -f "$(WHEELS)"/trefoil-*.whl
	+@wheel=$$(python3 tools/python/backend.py "$(WHEELS)") || exit 1; \
	if ! command -v auditwheel >/dev/null; then echo "$$wheel needs libsodium and jansson where it is installed: auditwheel, which puts them in, is absent"; \
	else auditwheel repair -w "$(WHEELS)" "$$wheel" && rm "$$wheel"; fi

# Packages of the tree as it is, in build/deb, without files that git does not track.
deb:
	@rm -rf build/deb # of an earlier version
	@tools/deb.sh build/deb

# Where scdoc is absent and cannot be installed, the manual is left out, with a message.
install: all install-library
	install -D -m 0755 $(PROGRAM) "$(DESTDIR)$(PREFIX)/bin/trefoil"
	$(PUT) -t "$(SHARE)/doc/trefoil" README.md docs/*.md docs/*.png
	sed 's|@PREFIX@|$(subst $(space),\\x20,$(PREFIX))|' tools/trefoil@.service | $(PUT) /dev/stdin "$(UNIT)"
	$(PROGRAM) complete bash | $(PUT) /dev/stdin "$(BASH_COMPLETION)"
	$(PROGRAM) complete zsh | $(PUT) /dev/stdin "$(ZSH_COMPLETION)"
	@if $(MAKE) --no-print-directory man; then \
		for n in 1 3 5; do $(PUT) -t "$(SHARE)/man/man$$n" $(OUT)/man/*.$$n || exit 1; done; \
	else echo 'no manual pages were installed: install scdoc, then run make install again'; fi

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/trefoil" "$(BASH_COMPLETION)" "$(ZSH_COMPLETION)" "$(UNIT)"
	rm -f "$(SHARE)/man"/man1/trefoil{,-*}.1 "$(SHARE)/man/man3/libtrefoil.3" "$(SHARE)/man/man5/trefoil-study.5"
	rm -f "$(DESTDIR)$(LIBDIR)"/{$(notdir $(SHARED)),$(notdir $(SHARED_LINK))} "$(DESTDIR)$(PREFIX)/include/trefoil.h" "$(PC)"
	rm -rf "$(SHARE)/doc/trefoil"

uninstall-python:
	$(if $(PYTHONDIR),rm -rf "$(DESTDIR)$(PYTHONDIR)/trefoil")

clean:
	rm -rf build

# Tests and their hooks take whatever arguments their caller passes, needed or not.
$(addprefix $(OUT)/,tests/%.o harness/%.o bench/test_%.o bench/flaim/test_%.o) build/fuzz/objects/tests/%.o: FLAGS += -Wno-unused-parameter

# A change of the Makefile rebuilds everything, since it sets the flags.
$(OUT)/%.o: %.c Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/mpi/%.o: FLAGS += -DTREFOIL_MPI $(patsubst -I%,-isystem %,$(if $(RANKS),$(MPI_CFLAGS)))
$(OUT)/mpi/%.o: %.c Makefile
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(PKG_CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/base/%.o $(OUT)/aim/%.o $(OUT)/library/%.o: FLAGS += -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections

# Texts that objects embed (base/embed.h).
TREES := $(OUT) build/fuzz/objects
$(TREES:%=%/parties/study/study_example.o): parties/study/example.yaml
$(TREES:%=%/parties/display/report_head.o): parties/display/report.css
$(TREES:%=%/parties/server/status.o): parties/server/status.css
# The modules of pages are built by tools/small.sh, which not every machine can run.
SMALL := $(wildcard tools/small/*.[ch] tools/small/include/*.h tools/small/libraries/*.h base/*.[ch] aim/*/*.[ch] parties/study/*.[ch] \
	parties/exchange/*.[ch] parties/owner/*.[ch] parties/setting/*.[ch] parties/command/*.[ch] parties/display/*.[ch])
READER := $(wildcard build/small/reader.wasm)
OWNER := $(wildcard build/small/owner.wasm)
$(READER) $(OWNER): build/small/%.wasm: tools/small.sh $(SMALL)
	@tools/small.sh $*
$(TREES:%=%/parties/display/app.o): parties/display/app.js parties/display/app_worker.js parties/display/app.css
$(TREES:%=%/parties/display/explore.o): parties/display/explore.js parties/display/explore.html $(READER)
$(TREES:%=%/parties/display/explore.o): FLAGS += $(READER:%=-DEXPLORE_READER='"%"')
$(TREES:%=%/parties/display/owner_page.o): parties/display/owner_page.js parties/display/owner_page.html $(OWNER)
$(TREES:%=%/parties/display/owner_page.o): FLAGS += $(OWNER:%=-DOWNER_MODULE='"%"')

$(OUT)/trefoil: $(MAIN_OBJECT) $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(HARDENED) $(LDFLAGS) $^ -o $@ $(PKG_LIBS)

# The library's objects with the same names are not taken.
$(OUT)/trefoil-mpi: $(MAIN_OBJECT) $(RANKS_OBJECTS) $(LIBRARY)
	$(say) LINK $@
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(HARDENED) $(LDFLAGS) $^ -o $@ $(PKG_LIBS) $(MPI_LIBS)

# A sanitizer's functions come with the program, so -z defs is left out then.
$(SHARED): $(SHARED_OBJECTS) $(LIBRARY) library/libtrefoil.map
	$(say) LINK $@
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=library/libtrefoil.map \
		-Wl,--gc-sections,-z,relro,-z,now $(if $(SANITIZE),,-Wl$(comma)-z$(comma)defs) $(filter %.o %.a,$^) -o $@ \
		-Wl,--as-needed $(shell $(PKG_CONFIG) --libs $(SHARED_PACKAGES)) -lm

$(SHARED_LINK): $(SHARED)
	$(Q)ln -sf $(<F) $@

$(RELAY): $(OUT)/harness/relay.o
	$(say) LINK $@
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $^ -o $@

$(OUT)/tests/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.o $(OUT)/tests/fuzz/replay.o $(LIBRARY)
	$(say) LINK $@
	$(Q)$(CC) $(GOLD) $(FLAGS) $(CFLAGS) $^ -o $@ $(PKG_LIBS)

# All of the product except main(), and what suites and benchmarks share, with main() of suites: a program takes what it needs.
$(LIBRARY): $(OBJECTS)
$(BENCH_LIBRARY): $(BENCH_SUPPORT)
$(TEST_SUPPORT): $(patsubst %.c,$(OUT)/%.o,$(wildcard tests/support/*.c))
$(HARNESS): $(patsubst %.c,$(OUT)/%.o,$(filter-out harness/relay.c harness/preload_%,$(wildcard harness/*.c)))
$(LIBRARY) $(BENCH_LIBRARY) $(TEST_SUPPORT) $(HARNESS):
	@mkdir -p $(@D)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# What a test loads into the programs that it starts: without sanitizer or coverage, since the programs' come first.
$(PRELOAD): $(wildcard harness/preload_*.c) harness/preload_fault.h Makefile
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARNINGS) $(if $(filter 1,$(WERROR)),-Werror) -O2 -g -fPIC -shared $(filter %.c,$^) -o $@ -ldl

$(foreach t,$(TEST_SOURCES),$(eval $(OUT)/tests/$(basename $(notdir $t)): $(OUT)/$(t:.c=.o)))
$(filter $(OUT)/tests/test_bench_%,$(TESTS)): $(BENCH_LIBRARY)
# tests/support/hooks.h sees what a party sends and receives.
HOOKS := $(addprefix -Wl$(comma)--wrap=,move_exchange move_input party_opened party_free)
$(filter-out %/test_library,$(TESTS)): $(TEST_SUPPORT) $(HARNESS) $(LIBRARY)
	$(say) LINK $@
	$(Q)$(CC) $(GOLD) $(FLAGS) $(CFLAGS) $(HOOKS) $(WRAP) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -o $@ \
		$(PKG_LIBS) $(TEST_LIBS)

# What programs start besides trefoil: all of bench/, and where there is Open MPI, servers with ranks.
$(OUT)/tests/test_bench_smoke: | $(BENCHES)
$(OUT)/tests/test_ranks: | $(if $(RANKS),$(OUT)/trefoil-mpi)
$(OUT)/bench/bench_scale: | $(if $(RANKS),$(OUT)/bench/scale_ranks)

# Of the product, it links the shared library alone.
$(OUT)/tests/test_library: $(TEST_SUPPORT) $(HARNESS) $(SHARED_LINK)
	$(say) LINK $@
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(filter %.o,$^) $(filter %.a,$^) -o $@ -L$(OUT) -ltrefoil -lm -Wl,-rpath,'$$ORIGIN/..' $(TEST_LIBS)

# In these, one of its servers alters what it sends or says, or leaves.
$(OUT)/tests/test_cheat: WRAP := $(addprefix -Wl$(comma)--wrap=,party_new convert_to_bits bitonic_merge move_known \
	move_reveal elementary_circle truncate_signed_ring64 coin_flip move_choose move_open_checked check_coin \
	measure_open round_agree round_confirm round_signatures round_heads round_broadcast round_ledger round_uploads \
	net_stream play_round usleep)

# What a key, an error or a mask is drawn as is marked as secret; what opens an index says that it is public.
LATTICE_MARKS := $(addprefix -Wl$(comma)--wrap=lattice_,ternary errors flood low)
$(OUT)/tests/test_lattice: WRAP := $(LATTICE_MARKS)
$(OUT)/tests/test_two_engine: WRAP := $(LATTICE_MARKS) -Wl,--wrap=pair_pick_verify,--wrap=pair_hello,--wrap=store_seal

# What the ends of joint noise enter is kept.
$(OUT)/tests/test_pair_joint_noise: WRAP := -Wl,--wrap=program_run

# Pauses are counted, and not waited for.
$(OUT)/tests/test_run: WRAP := -Wl,--wrap=clock_pause

# One of two servers alters a message.
$(OUT)/tests/test_tampered: WRAP := -Wl,--wrap=seal_frame

# One of its servers says other things to one neighbour than to the other, or alters what it opens.
$(OUT)/tests/test_round_sorted: WRAP := -Wl,--wrap=round_broadcast,--wrap=move_open

# One of its servers names a false place for a lane.
$(OUT)/tests/test_lanes: WRAP := -Wl,--wrap=ranks_lanes,--wrap=ranks_place

# One of its servers lies to a rank of another.
$(OUT)/tests/test_ranks: WRAP := -Wl,--wrap=party_new

# One of its servers takes whatever is asked as permitted.
$(OUT)/tests/test_warrants: WRAP := -Wl,--wrap=warrant_check,--wrap=warrant_allows,--wrap=warrant_write

# Two of its servers state an index other than the one they have.
$(OUT)/tests/test_play: WRAP := -Wl,--wrap=round_agree

$(OUT)/bench/bench_%: $(OUT)/bench/bench_%.o $(HARNESS) $(BENCH_LIBRARY) $(LIBRARY)
	$(say) LINK $@
	$(Q)$(CC) $(GOLD) $(FLAGS) $(CFLAGS) $(WRAP) $< -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -o $@ \
		$(PKG_LIBS) $(TEST_LIBS)

# One server of several ranks, which hears recordings.
$(OUT)/bench/scale_ranks: WRAP := $(addprefix -Wl$(comma)--wrap=transport_zmq_,new admit aim dial close)
$(OUT)/bench/scale_ranks: $(OUT)/mpi/bench/scale_ranks.o $(RANKS_OBJECTS) $(HARNESS) $(BENCH_LIBRARY) $(LIBRARY)
	$(say) LINK $@
	$(Q)$(CC) $(GOLD) $(FLAGS) $(CFLAGS) $(WRAP) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group -o $@ \
		$(PKG_LIBS) $(MPI_LIBS) $(TEST_LIBS)

# Its servers count rounds, and signal themselves in the middle of one.
$(OUT)/bench/bench_faults: WRAP := -Wl,--wrap=net_enter,--wrap=net_exchange,--wrap=net_stream

build/fuzz/objects/%.o: %.c Makefile
	$(say) FUZZ $<
	@mkdir -p $(@D)
	$(Q)clang $(FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(PKG_CFLAGS) -MMD -MP -c $< -o $@

# An archive, since a fuzzer may have a file of the product in itself.
build/fuzz/product.a: $(OBJECTS:$(OUT)/%=build/fuzz/objects/%)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Keys of fuzzers are in plain memory, as those of tests are.
build/fuzz/fuzz_%: build/fuzz/objects/tests/fuzz/fuzz_%.o build/fuzz/objects/tests/support/secrets.o build/fuzz/product.a
	$(say) LINK $@
	$(Q)clang $(FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@ $(PKG_LIBS)

-include $(shell find $(OUT) build/fuzz -name '*.d' 2>/dev/null)
