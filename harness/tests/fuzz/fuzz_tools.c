/*
 * libFuzzer: the parsers of the load tools' output. The first byte chooses the tool. A result must make sense, and
 * what is none must say why.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/tool.h"

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"restbench", "bombardier", "wrk", "oha", "h2load"};
    struct tool_job job = {.connections = 4, .seconds = 1, .timeout_ns = 500000000, .threads = 1, .events_fd = -1};
    struct tool_result result;
    struct err err = {0};
    const struct tool *tool;
    char *output;

    if (size == 0)
        return 0;
    tool = tool_find(names[data[0] % 5], &err);
    output = text_dup_n((const char *)data + 1, size - 1);
    tool_result_init(&result);
    if (tool->parse(&job, output, size - 1, &result, &err) != 0) {
        check(err.text[0] != '\0', "an error without a word");
    } else {
        check(result.responses_2xx >= 0 && result.window_s > 0, "no rate");
        check(!(result.errors < 0), "fewer errors than none");
    }
    tool_result_free(&result);
    free(output);
    return 0;
}
