#include "study/until.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "results/compare_run.h"
#include "results/infer.h"

/* Lines are sorted: a cell begins where row, test or phase changes. */
static bool begins_cell(const struct compare_run *run, size_t i)
{
    const struct compare_line *line = &run->lines[i];

    return i == 0 || line[-1].row != line->row || line[-1].test != line->test || line[-1].phase != line->phase;
}

static void judge(const struct compare_run *run, const struct compare_line *line, const struct infer_cell *cell,
                  double bound_pct, struct until *until)
{
    double half = cell->state == INFER_OK ? infer_pct(cell->high - cell->change) : INFINITY;

    until->cells++;
    until->widest_pct = fmax(until->widest_pct, half);
    if (half <= bound_pct)
        return;
    until->beyond++;
    text_addf(&until->names, "%s%s, %s, %lld (", until->names.len > 0 ? "; " : "", run->titles.strings[line->row],
              run->tests.strings[line->test], (long long)line->phase);
    compare_add_size(&until->names, half);
    text_add(&until->names, ")");
}

int until_look(const char *csv, double bound_pct, struct until *until, struct err *err)
{
    struct compare_run run;
    struct infer_cell *cells;
    size_t *firsts;
    size_t count = 0;

    *until = (struct until){0};
    if (compare_run_open(csv, &run, err) != 0)
        return -1;
    cells = text_alloc((run.line_count + 1) * sizeof *cells);
    firsts = text_alloc((run.line_count + 1) * sizeof *firsts);
    for (size_t i = 0; i < run.line_count; i++) {
        struct infer_cell *cell;

        if (begins_cell(&run, i)) {
            firsts[count] = i;
            cells[count] = (struct infer_cell){.group = (int)count};
            cells[count++].head = text_alloc(run.round_count * sizeof(double));
        }
        cell = &cells[count - 1];
        cell->head[cell->head_rounds++] =
            compare_line_failed(&run.lines[i]) ? (double)NAN : infer_log(run.lines[i].figures[COMPARE_RATE]);
    }
    infer_fit(cells, count, INFER_LEVEL, NULL);
    for (size_t i = 0; i < count; i++) {
        judge(&run, &run.lines[firsts[i]], &cells[i], bound_pct, until);
        free(cells[i].head);
    }
    free(cells);
    free(firsts);
    compare_run_close(&run);
    return 0;
}

void until_free(struct until *until)
{
    text_free(&until->names);
}
