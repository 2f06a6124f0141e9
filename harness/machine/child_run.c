#include "machine/child.h"

#include <stdlib.h>

#include "base/clock.h"

int child_run(const struct child_spec *spec, int64_t timeout_ns, struct child_result *result, struct err *err)
{
    struct child child = {0};
    struct text last = {0};
    struct text limit = {0};
    int status;

    *result = (struct child_result){0};
    if (child_start(spec, &child, err) != 0)
        return -1;
    result->timed_out = !child_wait(&child, timeout_ns);
    result->wall_ns = clock_mono_ns() - child.exec_ns;
    status = child_stop(&child, 0, err);
    result->status = child.status;
    child_tail(&child, 'e', 1, &last);
    if (last.len == 0)
        child_tail(&child, 'o', 1, &last);
    if (spec->out.kind == CHILD_CAPTURE)
        result->out = child_take(&child, 'o', NULL, NULL);
    if (spec->err.kind == CHILD_CAPTURE)
        result->err = child_take(&child, 'e', NULL, NULL);
    if (status == 0 && result->timed_out && child_cancelled())
        status = err_fail(err, "%s: interrupted", child.name);
    else if (status == 0 && result->timed_out) {
        text_add_duration(&limit, timeout_ns);
        status = err_fail(err, "%s: did not end within %s and was killed%s%s", child.name, text_string(&limit),
                          last.len > 0 ? "; its last line: " : "", text_string(&last));
    } else if (status == 0 && result->status.code != 0)
        status = err_fail(err, "%s: %s%s%s", child.name, child_status_text(&child), last.len > 0 ? ": " : "",
                          text_string(&last));
    text_free(&last);
    text_free(&limit);
    child_close(&child);
    return status;
}

void child_result_free(struct child_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct child_result){0};
}
