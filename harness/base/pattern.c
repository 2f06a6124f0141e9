#include "base/pattern.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/text.h"

struct pattern {
    char *what;
    char *expression;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
};

/* About a tenth of a second of backtracking: far beyond any honest name. */
enum { MATCH_LIMIT = 1000000 };

static struct pattern *compile(const char *what, const char *expression, uint32_t options, struct err *err)
{
    struct pattern *pattern;
    PCRE2_SIZE offset;
    int code;

    if (*expression == '\0') {
        (void)err_set(err, "%s: the pattern is empty; give a name, or '.*' for all", what);
        return NULL;
    }
    pattern = text_alloc(sizeof *pattern);
    pattern->what = text_dup(what);
    pattern->expression = text_dup(expression);
    pattern->code = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
    if (pattern->code == NULL) {
        PCRE2_UCHAR message[256] = "";
        struct text shown = {0};

        (void)pcre2_get_error_message(code, message, sizeof message);
        text_add_visible(&shown, expression, strlen(expression));
        (void)err_set(err, "%s \"%s\": %s at offset %zu; it must be a PCRE2 expression", what, text_string(&shown),
                      (const char *)message, (size_t)offset);
        text_free(&shown);
        pattern_close(pattern);
        return NULL;
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    (void)pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
    return pattern;
}

struct pattern *pattern_open(const char *what, const char *expression, struct err *err)
{
    return compile(what, expression, PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_CASELESS | PCRE2_UTF, err);
}

struct pattern *pattern_open_search(const char *what, const char *expression, struct err *err)
{
    return compile(what, expression, PCRE2_MULTILINE, err);
}

void pattern_close(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_data_free(pattern->match);
    pcre2_match_context_free(pattern->context);
    free(pattern->what);
    free(pattern->expression);
    free(pattern);
}

int pattern_matches(struct pattern *pattern, const char *name, struct err *err)
{
    int result = pcre2_match(pattern->code, (PCRE2_SPTR)name, strlen(name), 0, 0, pattern->match, pattern->context);

    if (result >= 0)
        return 1;
    if (result == PCRE2_ERROR_NOMATCH)
        return 0;
    if (result == PCRE2_ERROR_MATCHLIMIT)
        return err_set(err, "%s \"%s\": matching \"%s\" takes too long; use a simpler expression", pattern->what,
                       pattern->expression, name);
    return err_set(err, "%s \"%s\": cannot match \"%s\" (PCRE2 error %d)", pattern->what, pattern->expression, name,
                   result);
}

char *pattern_find(struct pattern *pattern, const char *text, size_t len)
{
    int result = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, 0, pattern->match, pattern->context);
    PCRE2_SIZE *at = pcre2_get_ovector_pointer(pattern->match);
    int group = result > 1 ? 1 : 0;

    if (result < 1 || at[2 * group] == PCRE2_UNSET)
        return NULL;
    return text_dup_n(text + at[2 * group], at[2 * group + 1] - at[2 * group]);
}

int pattern_matched_none(const char *option, const char *what, const char *expression, const char *const *names,
                         size_t count, struct err *err)
{
    struct text list = {0};
    const char *nearest = "none";
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(names[i], expression);

        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
        text_addf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    (void)err_set(err, "%s: no %s matches \"%s\"; nearest: %s; there are: %s (restbench list shows all)", option, what,
                  expression, nearest, text_string(&list));
    text_free(&list);
    return -1;
}
