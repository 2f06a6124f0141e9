#include "results/compare_metric.h"

#include <math.h>

const struct compare_metric_kind compare_metrics[COMPARE_METRICS] = {
    [COMPARE_RATE] = {"rate", "Rate", "requests/s", true, false, true, "faster", "slower"},
    [COMPARE_P50] = {"p50", "Latency p50", "ms", false, false, true, "longer", "shorter"},
    [COMPARE_P99] = {"p99", "Latency p99", "ms", false, false, true, "longer", "shorter"},
    [COMPARE_CPU] = {"cpu", "Server CPU per request", "us", false, false, true, "more", "less"},
    [COMPARE_CPU_USER] = {"cpu_user", "Server CPU per request, user", "us", false, false, true, "more", "less"},
    [COMPARE_CPU_KERNEL] = {"cpu_kernel", "Server CPU per request, kernel", "us", false, false, true, "more", "less"},
    [COMPARE_CPU_POSTGRES] = {"cpu_postgres", "PostgreSQL CPU per request", "us", false, false, true, "more", "less"},
    [COMPARE_WORKING_SET] = {"working_set", "Working set", "MiB", false, true, false, "more", "less"},
    [COMPARE_PRIVATE] = {"private", "Private memory", "MiB", false, true, false, "more", "less"},
    [COMPARE_STARTUP] = {"startup", "Startup", "s", false, true, true, "longer", "shorter"},
    [COMPARE_ERRORS] = {"errors", "Errors", "per million requests", false, false, false, "more", "fewer"},
};

void compare_add_figure(struct text *text, double value)
{
    static const struct {
        double from, divisor;
        const char *sign;
    } scales[] = {{999.5e6, 1e9, "G"}, {999.5e3, 1e6, "M"}, {9995, 1e3, "k"}, {0, 1, ""}};
    size_t i = 0;
    double shown;

    if (!isfinite(value)) {
        text_add(text, "n/a");
        return;
    }
    while (fabs(value) < scales[i].from)
        i++;
    shown = value / scales[i].divisor;
    text_add_double(text, shown,
                    fabs(shown) >= 99.95 || shown == 0 ? 0
                    : fabs(shown) >= 9.995             ? 1
                    : fabs(shown) >= 0.9995            ? 2
                                                       : 3);
    text_add(text, scales[i].sign);
}

void compare_add_size(struct text *text, double pct)
{
    if (!isfinite(pct)) {
        text_add(text, "n/a");
        return;
    }
    text_add_double(text, fabs(pct), fabs(pct) >= 9.95 ? 0 : 1);
    text_add(text, " %");
}

void compare_add_pct(struct text *text, double pct)
{
    if (isfinite(pct))
        text_add(text, pct < 0 ? "-" : "+");
    compare_add_size(text, pct);
}
