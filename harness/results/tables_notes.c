#include "results/tables.h"

#include <math.h>
#include <string.h>

/* Cells of one mark that are named; the rest is counted. */
#define NAMED 6

void tables_add_plain(struct text *text, const char *string)
{
    text_add_visible(text, string, strlen(string));
}

char tables_sign(const struct cells *cells, enum mark_id mark)
{
    char sign = 'A';

    for (int i = 0; i < (int)mark; i++)
        sign = (char)(sign + (cells->mark_counts[i] > 0));
    return sign;
}

void tables_add_signs(const struct cells *cells, unsigned marks, struct text *text)
{
    const char *before = " [";

    for (int i = 0; i < MARK_COUNT; i++) {
        if (!(marks & 1U << i))
            continue;
        text_add(text, before);
        text_add_char(text, tables_sign(cells, (enum mark_id)i));
        before = ",";
    }
    text_add(text, marks != 0 ? "]" : "");
}

static void add_threshold(const struct mark_kind *kind, enum mark_id mark, struct text *text)
{
    if (isnan(kind->threshold))
        return;
    text_add(text, mark == MARK_STARVED ? " (below " : mark == MARK_GENERATOR_BOUND ? " (at least " : " (above ");
    text_add_double(text, kind->threshold, kind->threshold < 1 ? 1 : 0);
    text_addf(text, "%s%s)", kind->unit[0] != '\0' ? " " : "", kind->unit);
}

static void add_incident(const struct record *record, const struct cells_incident *incident, tables_add *add,
                         struct text *text)
{
    const struct cells_group *group = &record->cells.groups[incident->group];
    const struct mark_kind *kind = &mark_kinds[incident->mark];

    add(text, record->cells.titles.strings[group->row]);
    text_add(text, ", ");
    add(text, record_test_title(record, group->test));
    text_addf(text, ", %lld connections", (long long)record->cells.phases[group->phase]);
    if (incident->mark == MARK_ROUNDS)
        text_addf(text, ": %.0f of %u", incident->value, record->rounds);
    else if (incident->round > 0)
        text_addf(text, ", round %u", incident->round);
    if (!isnan(incident->value) && !isnan(kind->threshold)) {
        text_add(text, ": ");
        text_add_double(text, incident->value, incident->value < 10 ? 2 : 1);
        text_addf(text, "%s%s", kind->unit[0] != '\0' ? " " : "", kind->unit);
    }
}

/* It is of the whole run: a sign at each figure would tell nothing. */
static void add_drift(const struct record *record, struct text *text)
{
    const struct mark_kind *kind = &mark_kinds[MARK_DRIFT];

    if (!mark_exceeded(MARK_DRIFT, fabs(record->drift_pct)))
        return;
    text_addf(text, "\n[*] %s: %s", kind->name, kind->sentence);
    add_threshold(kind, MARK_DRIFT, text);
    text_add(text, ". The whole run: ");
    text_add(text, record->drift_pct > 0 ? "+" : "");
    text_add_double(text, record->drift_pct, 1);
    text_add(text, " % between the calibrations before and after\n");
}

/* Which of the settings it was; of a run whose machine.json is there. */
static void add_settings(const struct record *record, struct text *text)
{
    static const char *const names[] = {"fsync", "synchronous_commit"};
    const json_t *settings = json_object_get(json_object_get(record->machine.doc.root, "database"), "settings");
    const char *before = " Here: ";

    for (int i = 0; i < 2; i++) {
        const char *value = json_get_string(settings, names[i]);

        if (value == NULL || strcmp(value, "off") != 0)
            continue;
        text_addf(text, "%s%s = off", before, names[i]);
        before = ", ";
    }
    text_add(text, before[0] == ',' ? "." : "");
}

void tables_write_marks(const struct record *record, tables_add *add, struct text *text)
{
    const struct cells *cells = &record->cells;

    for (int mark = 0; mark < MARK_COUNT; mark++) {
        uint32_t named = 0;

        if (cells->mark_counts[mark] == 0)
            continue;
        text_addf(text, "\n[%c] %s: %s", tables_sign(cells, (enum mark_id)mark), mark_kinds[mark].name,
                  mark_kinds[mark].sentence);
        add_threshold(&mark_kinds[mark], (enum mark_id)mark, text);
        text_add_char(text, '.');
        if (mark == MARK_SETTINGS)
            add_settings(record, text);
        text_addf(text, " %u cell%s: ", cells->mark_counts[mark], cells->mark_counts[mark] == 1 ? "" : "s");
        for (uint32_t i = 0; i < cells->incident_count && named < NAMED; i++) {
            if (cells->incidents[i].mark != (enum mark_id)mark)
                continue;
            text_add(text, named++ > 0 ? "; " : "");
            add_incident(record, &cells->incidents[i], add, text);
        }
        if (cells->mark_counts[mark] > named)
            text_addf(text, "; and %u more", cells->mark_counts[mark] - named);
        text_add_char(text, '\n');
    }
    add_drift(record, text);
}

static void add_reason(const char *reason, const char *log, tables_add *add, struct text *text)
{
    if (reason != NULL && reason[0] != '\0') {
        text_add(text, ": ");
        add(text, reason);
    }
    if (log != NULL) {
        text_add(text, " (log: ");
        add(text, log);
        text_add(text, ")");
    }
    text_add_char(text, '\n');
}

static void add_failure(const struct evidence_failure *failure, tables_add *add, struct text *text)
{
    text_add(text, "- ");
    add(text, failure->title);
    if (failure->test[0] != '\0') {
        text_add(text, ", ");
        add(text, failure->test);
    }
    if (failure->phase[0] != '\0') {
        text_add(text, ", phase ");
        add(text, failure->phase);
    }
    if (failure->round > 0)
        text_addf(text, ", round %lld", (long long)failure->round);
    add_reason(failure->reason, failure->log[0] != '\0' ? failure->log : NULL, add, text);
}

static const char *why(const struct record *record, const struct machine_row *row)
{
    if (row->reason != NULL)
        return row->reason;
    return record->machine.complete ? row->status : "the run ended before it";
}

void tables_write_missing(const struct record *record, tables_add *add, struct text *text)
{
    const char *heading = "\nPlanned and not measured:\n\n";

    for (size_t i = 0; i < record->machine.row_count; i++) {
        const struct machine_row *row = &record->machine.rows[i];
        uint32_t number = intern_find(&record->cells.titles, row->title);

        if (number != INTERN_NONE && record->cells.rows[number].lines > 0 && row->reason == NULL)
            continue;
        text_add(text, heading);
        heading = "";
        text_add(text, "- ");
        add(text, row->title);
        add_reason(why(record, row), row->log, add, text);
    }
    for (uint32_t i = 0; i < record->evidence.failure_count; i++) {
        text_add(text, heading);
        heading = "";
        add_failure(&record->evidence.failures[i], add, text);
    }
}
