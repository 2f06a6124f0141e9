#include "tools/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/drivers.h"

static const struct tool *const tools[] = {
    &tool_restbench, &tool_bombardier, &tool_wrk, &tool_oha, &tool_h2load, &tool_h2load_http2, NULL,
};

const struct tool *tool_find(const char *name, struct err *err)
{
    struct text names = {0};

    for (size_t i = 0; tools[i] != NULL; i++) {
        if (strcmp(tools[i]->name, name) == 0) {
            text_free(&names);
            return tools[i];
        }
        text_addf(&names, "%s%s", i > 0 ? ", " : "", tools[i]->name);
    }
    (void)err_set(err, "--tool %s: not known; there are: %s", name, text_string(&names));
    text_free(&names);
    return NULL;
}

void tool_result_init(struct tool_result *result)
{
    *result = (struct tool_result){.window_s = NAN,
                                   .requests_per_s = NAN,
                                   .p50_ms = NAN,
                                   .p99_ms = NAN,
                                   .mean_ms = NAN,
                                   .max_ms = NAN,
                                   .responses_2xx = NAN,
                                   .errors = NAN,
                                   .unanswered = NAN,
                                   .drained_2xx = NAN,
                                   .mismatches = NAN,
                                   .started = NAN,
                                   .per_connection_min = NAN,
                                   .per_connection_mean = NAN,
                                   .notes = json_array()};
}

void tool_result_free(struct tool_result *result)
{
    free(result->per_second);
    json_decref(result->report);
    json_decref(result->notes);
    *result = (struct tool_result){0};
}
