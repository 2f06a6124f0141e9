/* restbench compare - what changed between two runs, and whether it is more than noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "results/compare.h"

struct compare_args {
    struct opt_list maps;
    bool markdown;
    bool json;
    double fail_above_pct;
    double bound_pct;
};

static const struct opt compare_opts[] = {
    {0, "map", "BASE=HEAD", OPT_LIST, offsetof(struct compare_args, maps),
     "pair two rows (titles or ids), or two modes: no-auth=jwt (repeatable)"},
    {0, "markdown", NULL, OPT_FLAG, offsetof(struct compare_args, markdown), "for a pull request"},
    {0, "json", NULL, OPT_FLAG, offsetof(struct compare_args, json),
     "machine-readable (harness/schema/compare.schema.json)"},
    {0, "fail-above", "PCT", OPT_PCT, offsetof(struct compare_args, fail_above_pct),
     "exit 1 when a figure is worse by more than this, or a cell is missing, failed or has errors"},
    {0, "bound", "PCT", OPT_PCT, offsetof(struct compare_args, bound_pct),
     "a difference up to this is of no interest (default: 3 %)"},
    {0},
};

static int compare_main(int argc, char **argv);

const struct command cmd_compare = {
    .name = "compare",
    .summary = "what changed between runs, and whether it is more than noise",
    .usage = "[OPTIONS] BASE.csv HEAD.csv...",
    .description =
        "Compares each further CSV with the first. Changes are HEAD / BASE; each has a 95 % interval, and the verdicts "
        "hold for all figures of a comparison together (Holm, 5 %).\n"
        "Drift of the machine between two sittings is taken out by the reference rows of both, else by their "
        "calibrations; without either it is allowed for.\n"
        "The same file twice with --map compares two rows of one run, round by round.",
    .opts = compare_opts,
    .main = compare_main,
};

static void complain(const struct compare *compare)
{
    size_t worse = 0, findings = 0;

    for (size_t i = 0; i < compare->result_count; i++)
        worse += compare->results[i].fails;
    for (size_t i = 0; i < compare->finding_count; i++)
        findings += compare->findings[i].fails;
    if (!compare->concluded)
        log_error("compare: one round a side shows no noise, so nothing can be concluded; measure more rounds");
    else
        log_error(
            "compare: %s: %zu figures are worse by more than %g %%, %zu cells or rows missing, failed or with errors",
            compare->head->csv, worse, compare->options.fail_above_pct, findings);
}

/* One head against the base. Appends to `text`, or to `comparisons` for JSON. */
static int compare_one(const struct compare_run *base, const char *csv, const struct compare_args *args,
                       struct text *text, json_t *comparisons, bool *fails, struct err *err)
{
    struct compare_options options = {.maps = args->maps.items,
                                      .map_count = args->maps.count,
                                      .bound_pct = args->bound_pct,
                                      .fail_above_pct = args->fail_above_pct};
    struct compare_run head;
    struct compare compare = {0};
    int result;

    if (compare_run_open(csv, &head, err) != 0)
        return -1;
    result = compare_make(base, &head, &options, &compare, err);
    if (result == 0) {
        if (text->len > 0)
            text_add_char(text, '\n');
        if (args->json)
            (void)json_array_append_new(comparisons, compare_json(&compare));
        else if (args->markdown)
            compare_markdown(&compare, text);
        else
            compare_text(&compare, text);
        if (compare.fails)
            complain(&compare);
        *fails = *fails || compare.fails;
    } else {
        (void)fputs(text_string(&compare.aside), stderr);
    }
    compare_free(&compare);
    compare_run_close(&head);
    return result;
}

static int compare_all(int count, char **csvs, const struct compare_args *args, struct err *err)
{
    json_t *document = json_object(), *comparisons = json_array();
    struct text text = {0};
    struct compare_run base;
    bool fails = false;
    int result = compare_run_open(csvs[0], &base, err);

    for (int i = 1; i < count && result == 0; i++)
        result = compare_one(&base, csvs[i], args, &text, comparisons, &fails, err);
    json_put(document, "format", json_integer(1));
    json_put(document, "fail_above_pct", json_number(args->fail_above_pct, 4));
    json_put(document, "bound_pct", json_number(args->bound_pct, 4));
    json_put(document, "fails", json_boolean(fails));
    json_put(document, "comparisons", comparisons);
    if (result == 0 && args->json) {
        char *json = json_pretty(document);

        (void)puts(json);
        free(json);
    } else if (result == 0) {
        (void)fputs(text_string(&text), stdout);
    }
    compare_run_close(&base);
    json_decref(document);
    text_free(&text);
    return result != 0 ? opts_exit(err) : fails ? 1 : 0;
}

static int compare_main(int argc, char **argv)
{
    struct compare_args args = {.fail_above_pct = (double)NAN, .bound_pct = COMPARE_BOUND_PCT};
    struct err err = {0};
    int operands, status;

    switch (opts_parse(&cmd_compare, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands < 2)
        (void)err_set(&err, "compare: give two CSVs or more: the base first, then what is compared with it");
    else if (args.json && args.markdown)
        (void)err_set(&err, "compare: --json and --markdown exclude each other");
    else if (args.bound_pct <= 0 || args.bound_pct > 100)
        (void)err_set(&err, "compare: --bound: give more than 0 %% and at most 100 %%");
    status = err.kind != ERR_NONE ? opts_exit(&err) : compare_all(operands, argv + 1, &args, &err);
    free(args.maps.items);
    return status;
}
