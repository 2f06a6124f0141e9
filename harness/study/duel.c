#include "study/duel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/home.h"
#include "base/log.h"
#include "base/text.h"
#include "results/duel_report.h"
#include "study/duel_arms.h"
#include "study/run.h"
#include "study/until.h"

/* The table so far, line by line to the person who waits; true when --until is reached. */
static bool look_between_pairs(const char *csv, int64_t rounds, void *context)
{
    const struct duel_options *options = context;
    struct duel_report report;
    struct text text = {0};
    struct err err = {0};
    bool enough;

    if (duel_report_open(csv, options->bound_pct, &report, &err) != 0) {
        log_line("note       %s", err.text);
        return false;
    }
    duel_report_text(&report, &text);
    for (char *rest = text.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            log_line("%s", line);
    text_free(&text);
    enough =
        options->until_pct > 0 && rounds >= UNTIL_ROUNDS_LEAST && duel_report_widest_pct(&report) <= options->until_pct;
    if (enough)
        log_line("until      every interval of the rate is within %g %%: enough", options->until_pct);
    duel_report_close(&report);
    return enough;
}

static int write_report(const struct duel_options *options, const struct duel_arms *arms, struct duel_outcome *outcome,
                        struct err *err)
{
    const char *folder = options->run.reports != NULL ? options->run.reports : "reports";
    const char *base = fsx_basename(outcome->csv);
    struct duel_report report;
    struct text text = {0}, markdown = {0};
    int result;

    if (duel_report_open(outcome->csv, options->bound_pct, &report, err) != 0)
        return -1;
    text_addf(&text, "base %s, head %s\n", arms->base, arms->head);
    duel_report_text(&report, &text);
    outcome->text = text_take(&text);
    text_addf(&markdown, "# Duel: %s against %s\n\n", arms->head, arms->base);
    duel_report_markdown(&report, &markdown);
    outcome->report = text_format("%s/%.*s.md", folder, (int)(strlen(base) - 4), base);
    result = fsx_mkdirs(folder, 0755, err);
    /* The report is made of the data and may be made again; the data is never replaced. */
    if (result == 0)
        result = fsx_write_atomic(outcome->report, markdown.data, markdown.len, 0644, err);
    text_free(&markdown);
    duel_report_close(&report);
    return result;
}

int duel(const struct duel_options *options, struct duel_outcome *outcome, struct err *err)
{
    struct duel_options copy = *options;
    struct run_options run = options->run;
    struct run_outcome ran = {0};
    struct duel_arms arms = {0};
    char *state_dir = home_state(run.state, err);
    int result = state_dir != NULL ? duel_arms_make(options, state_dir, &arms, err) : -1;

    *outcome = (struct duel_outcome){0};
    if (result == 0) {
        run.config = arms.config;
        run.servers_dir = arms.servers;
        run.name = arms.name;
        run.rounds = options->pairs;
        run.ceiling = "no"; /* the question is which of two is faster */
        run.is_enough = look_between_pairs;
        run.context = &copy;
        log_line("duel       base %s, head %s, base once more (A/A), up to %lld pairs in turn (ABBA)", arms.base,
                 arms.head, (long long)options->pairs);
        result = run_study(&run, &ran, err);
        outcome->failed = ran.failed > 0;
        if (ran.csv_path != NULL)
            outcome->csv = text_dup(ran.csv_path);
        if (ran.csv_path != NULL && result == 0)
            result = write_report(options, &arms, outcome, err);
    }
    run_outcome_free(&ran);
    duel_arms_free(&arms);
    free(state_dir);
    return result;
}

void duel_outcome_free(struct duel_outcome *outcome)
{
    free(outcome->csv);
    free(outcome->report);
    free(outcome->text);
    *outcome = (struct duel_outcome){0};
}
