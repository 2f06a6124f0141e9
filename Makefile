# restbench: `make help` says what there is. Everything built goes to build/, but for ./restbench itself.
comma     := ,
VERSION   := 0.1.0
CC        ?= gcc
PREFIX    ?= /usr/local
PKGS      := libcurl libpq jansson libpcre2-8 libcrypto libssl liburing gsl libarchive
BUILD     := build$(if $(SANITIZE),/sanitize-$(subst $(comma),-,$(SANITIZE)))

WARNINGS  := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wundef -Wvla \
             -Wno-format-truncation
OPTIMIZE  ?= -O2 -g
CFLAGS    := -std=gnu17 $(OPTIMIZE) $(WARNINGS) -fno-common -D_GNU_SOURCE -DRESTBENCH_VERSION='"$(VERSION)"' \
             -DRESTBENCH_PREFIX='"$(PREFIX)"' -Iharness $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDLIBS    := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm -lpthread
ifdef SANITIZE
CFLAGS    += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS   += -fsanitize=$(SANITIZE)
endif

SOURCES   := $(wildcard harness/*/*.c)
OBJECTS   := $(SOURCES:harness/%.c=$(BUILD)/%.o)
UNITS     := $(patsubst harness/tests/unit/%.c,$(BUILD)/tests/%,$(wildcard harness/tests/unit/test_*.c))
PROGRAM   := $(if $(SANITIZE),$(BUILD)/restbench,restbench)

.PHONY: all help deps bench study simulate duels test test-build test-unit test-cli torture check format install clean fuzz microbench
.SECONDARY:

all: $(PROGRAM)

help:
	@echo 'make            build ./restbench'
	@echo 'make bench      install what is missing, build, measure two servers (about four minutes), print the tables'
	@echo 'make study      the whole study: config/study.json (hours)'
	@echo 'make test       every test (unit and command line)'
	@echo 'make torture    a study killed TORTURE_KILLS=200 times and resumed: nothing lost, nothing left'
	@echo 'make check      format, warnings as errors, static analysis'
	@echo 'make simulate   how often comparisons raise a false alarm, find a change and cover the truth (some minutes)'
	@echo 'make duels      what duels of real builds find: none, 5 %, 20 %, another compiler setting (half an hour)'
	@echo 'make fuzz       the readers of foreign bytes, FUZZ_SECONDS=10 each (clang)'
	@echo 'make microbench the hot paths, with Google Benchmark'
	@echo 'make format     apply clang-format'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR='
	@echo 'make clean      remove what was built here'
	@echo 'SANITIZE=address,undefined or SANITIZE=thread builds into a folder of its own: make SANITIZE=thread test-unit'

$(PROGRAM): $(BUILD)/main.o $(OBJECTS)
	@echo '  LD   $@'
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/%.o: harness/%.c Makefile
	@mkdir -p $(@D)
	@echo '  CC   $<'
	@$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: harness/tests/unit/%.c $(OBJECTS)
	@mkdir -p $(@D)
	@echo '  TEST $<'
	@$(CC) $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< $(OBJECTS) $(LDLIBS) -lcmocka

# The page for browsers is part of the program (.incbin), which the compiler's own list of files does not know.
$(BUILD)/results/report_html.o: $(wildcard harness/results/html/*)

-include $(BUILD)/microbench.d $(BUILD)/simulate-compare.d $(OBJECTS:.o=.d) $(BUILD)/main.d $(UNITS:=.d)

deps:
	@./deps build

# A small study, killed TORTURE_KILLS=200 times at random moments and resumed; TORTURE_SEED=N repeats a sequence.
torture: $(PROGRAM)
	@RESTBENCH=$(abspath $(PROGRAM)) harness/tests/torture/torture.py

test-build: $(UNITS)

# MICROBENCH='--benchmark_filter=answer --benchmark_repetitions=5'
microbench: $(BUILD)/microbench
	@$< $(MICROBENCH)

$(BUILD)/microbench: harness/bench/microbench.cc $(OBJECTS)
	@mkdir -p $(@D)
	@echo '  CXX  $<'
	@$(CXX) -std=c++17 $(OPTIMIZE) -Wall -Wextra -Werror -D_GNU_SOURCE -Iharness -MMD -MP $(LDFLAGS) -o $@ $< $(OBJECTS) \
		-lbenchmark $(LDLIBS)

test-unit: test-build
	@harness/tests/run-units $(UNITS)

# Most tests wait more than they work, so as many run at a time as there are CPUs; the longest begins. Those that plant
# disturbances or find that one server is slower than another have the machine for themselves, afterwards.
CLI_ALONE := $(patsubst %,harness/tests/cli/%.t,planted duel)
CLI_FIRST := harness/tests/cli/rows.t
CLI_TOGETHER = $(CLI_FIRST) $(filter-out $(CLI_FIRST) $(CLI_ALONE),$(wildcard harness/tests/cli/*.t))
PROVE     = RESTBENCH=$(abspath $(PROGRAM)) prove --timer --statefile=$(BUILD)/prove.state

test-cli: $(PROGRAM)
	@$(PROVE) --state=save -j$(shell nproc) $(CLI_TOGETHER); together=$$?; \
	    $(PROVE) --state=save $(CLI_ALONE) && exit $$together

# Only what failed in the last `make test-cli`: on a machine that others use too, a wait may have been too short.
test-cli-again: $(PROGRAM)
	@$(PROVE) --state=failed

test: all test-unit test-cli

fuzz:
	@$(MAKE) -s -C harness/tests/fuzz $(if $(FUZZ_SECONDS),FUZZ_SECONDS=$(FUZZ_SECONDS)) $(if $(FUZZ_TARGETS),FUZZ_TARGETS=$(FUZZ_TARGETS))

$(BUILD)/simulate-compare: harness/tests/simulate/compare.c $(OBJECTS)
	@mkdir -p $(@D)
	@echo '  CC   $<'
	@$(CC) $(CFLAGS) -Iharness/tests/simulate -MMD -MP $(LDFLAGS) -o $@ $< $(OBJECTS) $(LDLIBS)

COMPARISONS ?= 4000
simulate: $(BUILD)/simulate-compare
	@$(BUILD)/simulate-compare $(COMPARISONS)

PAIRS ?= 8
duels: $(PROGRAM)
	@RESTBENCH=$(abspath $(PROGRAM)) harness/tests/duels.py $(PAIRS)

# Two servers, about four minutes; installs what is missing first, and says so.
bench:
	@./deps build run report
	@$(MAKE) -s -j$(shell nproc) all
	@./restbench run config/quick.json $(BENCH_ARGS)

study:
	@./deps build run report
	@$(MAKE) -s -j$(shell nproc) all
	@./restbench run config/study.json $(BENCH_ARGS)

C_FILES    = $(shell git ls-files '*.c' '*.h' '*.cc')
CHECKED    = $(shell git ls-files 'harness/*.c' 'harness/**/*.c')
SHELL_FILES = deps .ci/run harness/tests/run-units

# Everything that a machine can see: format, warnings (the build has -Werror), static analysis, shell scripts.
check: all
	@echo '  FORMAT'; clang-format --dry-run -Werror $(C_FILES)
	@echo '  LONG FILES'; harness/tests/check-sizes
	@echo '  CPPCHECK'; cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr \
	    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --error-exitcode=1 -j$(shell nproc) \
	    -D_GNU_SOURCE -DRESTBENCH_VERSION='""' -DRESTBENCH_PREFIX='""' \
	    '-Djson_object_foreach(o,k,v)=while(json_next(o,&k,&v))' \
	    '-Djson_array_foreach(a,i,v)=while(json_next(a,&i,&v))' -Iharness harness/base harness/machine \
	    harness/load harness/tools harness/target harness/study harness/results harness/cli
	@echo '  SHELLCHECK'; command -v shellcheck >/dev/null && shellcheck $(SHELL_FILES) || echo '  (no shellcheck here)'

SHARE = $(DESTDIR)$(PREFIX)/share/restbench

install: $(PROGRAM)
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/config $(SHARE)/sql $(SHARE)/servers $(SHARE)/data
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/restbench
	install -m 644 config/*.json $(SHARE)/config
	install -m 644 sql/*.sql $(SHARE)/sql
	cp -R servers/. $(SHARE)/servers
	cp -R data/published $(SHARE)/data
	$(PROGRAM:%=./%) docs man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions
	$(PROGRAM:%=./%) docs bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/restbench
	$(PROGRAM:%=./%) docs zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_restbench

format:
	clang-format -i $(shell git ls-files '*.c' '*.h' '*.cc')

clean:
	rm -rf build restbench
