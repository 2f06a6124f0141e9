/*
 * program.h - a small Python program as a child, driven line by line: for tests that measure real processes.
 *
 * The program prints a line when it is ready for the next step and reads a line to take it. Its standard input is a
 * pipe of ours. program_start() waits for its first line.
 */
#ifndef TESTS_UNIT_PROGRAM_H
#define TESTS_UNIT_PROGRAM_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/child.h"
#include "machine/place.h"

/* Burns CPU time of its own, however long that takes on a busy machine. */
#define BURN                                                                                                           \
    "import os,sys,time,signal,mmap\n"                                                                                 \
    "def burn(s):\n"                                                                                                   \
    "  t=time.process_time()\n"                                                                                        \
    "  while time.process_time()-t<s: pass\n"                                                                          \
    "def step(x):\n"                                                                                                   \
    "  print(x); sys.stdin.readline()\n"

#define PROGRAM_LIMIT_NS (60 * CLOCK_NS_PER_S)

struct program {
    struct child child;
    int input; /* our end */
};

/* Waits until the program's last line is `line`. */
static inline void program_wait(struct program *program, const char *line)
{
    int64_t end = clock_mono_ns() + PROGRAM_LIMIT_NS;

    for (;;) {
        struct text tail = {0};
        int same;

        child_tail(&program->child, 'o', 1, &tail);
        same = strcmp(text_string(&tail), line) == 0;
        text_free(&tail);
        if (same)
            return;
        if (clock_mono_ns() > end || child_wait(&program->child, 0)) {
            child_tail(&program->child, 'e', 5, &tail);
            fail_msg("no line \"%s\": %s; %s", line, child_status_text(&program->child), text_string(&tail));
        }
        clock_sleep_ns(2 * CLOCK_NS_PER_MS);
    }
}

/* Sends an empty line, then waits for the answer. */
static inline void program_step(struct program *program, const char *answer)
{
    assert_int_equal(write(program->input, "\n", 1), 1);
    program_wait(program, answer);
}

/* `place` NULL: anywhere. */
static inline void program_start(struct program *program, const struct place *place, const char *script)
{
    int ends[2];
    struct env env = {0};
    struct err err = {0};
    struct child_spec spec = {
        .argv = (const char *const[]){"python3", "-I", "-u", "-c", script, NULL},
        .env = &env,
        .out = {.kind = CHILD_CAPTURE},
        .err = {.kind = CHILD_CAPTURE},
    };

    env_basic(&env);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    spec.input = ends[0];
    program->input = ends[1];
    if ((place != NULL ? place_start(place, &spec, &program->child, &err)
                       : child_start(&spec, &program->child, &err)) != 0)
        fail_msg("%s", err.text);
    (void)close(ends[0]);
    env_free(&env);
    program_wait(program, "ready");
}

static inline void program_end(struct program *program)
{
    (void)close(program->input);
    child_close(&program->child);
}

#endif
