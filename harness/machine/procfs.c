#include "machine/procfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"

/* Fields of /proc/PID/stat behind the name, counted from the state = 0. */
enum {
    FIELD_PARENT = 1,
    FIELD_GROUP = 2,
    FIELD_SESSION = 3,
    FIELD_TERMINAL = 4,
    FIELD_USER = 11,
    FIELD_KERNEL = 12,
    FIELD_WAITED_USER = 13,
    FIELD_WAITED_KERNEL = 14,
    FIELD_THREADS = 17,
    FIELD_START = 19,
    FIELDS_NEEDED = 20,
};

/* A field without sign; -1 (as for cutime of very old kernels) counts as 0. */
static int unsigned_field(const char *at, uint64_t *value)
{
    char *end;

    if (*at == '-') {
        *value = 0;
        return 0;
    }
    if (*at < '0' || *at > '9')
        return -1;
    *value = strtoull(at, &end, 10);
    return *end == ' ' || *end == '\n' || *end == '\0' ? 0 : -1;
}

int procfs_parse_stat(const char *content, struct procfs_stat *stat)
{
    const char *open = strchr(content, '(');
    /* The name may hold blanks and brackets: the last ')' ends it, since only numbers follow. */
    const char *close = strrchr(content, ')');
    const char *fields[FIELDS_NEEDED];
    uint64_t values[FIELDS_NEEDED] = {0};
    size_t count = 0;
    size_t name_len;

    if (open == NULL || close == NULL || close < open || close[1] != ' ')
        return -1;
    for (const char *at = close + 1; *at == ' ' && count < FIELDS_NEEDED; at += strcspn(at, " \n"))
        fields[count++] = ++at;
    if (count < FIELDS_NEEDED)
        return -1;
    for (size_t i = 1; i < FIELDS_NEEDED; i++)
        if (unsigned_field(fields[i], &values[i]) != 0)
            return -1;
    name_len = (size_t)(close - open - 1);
    name_len = name_len < sizeof stat->name - 1 ? name_len : sizeof stat->name - 1;
    *stat = (struct procfs_stat){
        .pid = atoi(content),
        .parent = (pid_t)values[FIELD_PARENT],
        .group = (pid_t)values[FIELD_GROUP],
        .session = (pid_t)values[FIELD_SESSION],
        .terminal = (int)values[FIELD_TERMINAL],
        .state = fields[0][0],
        .user_ticks = values[FIELD_USER],
        .kernel_ticks = values[FIELD_KERNEL],
        .waited_user_ticks = values[FIELD_WAITED_USER],
        .waited_kernel_ticks = values[FIELD_WAITED_KERNEL],
        .threads = (int)values[FIELD_THREADS],
        .start_ticks = values[FIELD_START],
    };
    memcpy(stat->name, open + 1, name_len);
    return stat->pid > 0 ? 0 : -1;
}

/* The value of "KEY:" at the start of a line, behind blanks; NULL: no such line. */
static const char *value_of(const char *content, const char *key)
{
    size_t len = strlen(key);

    /* The first line is Name: and may hold the text of another key, but escaped: never a line end. */
    for (const char *line = content; line != NULL && *line != '\0';) {
        if (strncmp(line, key, len) == 0 && line[len] == ':') {
            line += len + 1;
            return line + strspn(line, " \t");
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

static int64_t number_of(const char *content, const char *key)
{
    const char *value = value_of(content, key);

    return value != NULL && *value >= '0' && *value <= '9' ? strtoll(value, NULL, 10) : -1;
}

int procfs_parse_status(const char *content, struct procfs_status *status)
{
    const char *list = value_of(content, "Cpus_allowed_list");
    const char *ignored = value_of(content, "SigIgn");
    struct err err = {0};

    *status = (struct procfs_status){
        .peak_kib = number_of(content, "VmHWM"),
        .rss_kib = number_of(content, "VmRSS"),
        .hugetlb_kib = number_of(content, "HugetlbPages"),
        .threads = number_of(content, "Threads"),
        .voluntary = number_of(content, "voluntary_ctxt_switches"),
        .involuntary = number_of(content, "nonvoluntary_ctxt_switches"),
        /* SIGCHLD is 17, so bit 16. */
        .ignores_sigchld = ignored != NULL && (strtoull(ignored, NULL, 16) >> 16 & 1) != 0,
    };
    if (list != NULL) {
        char *copy = text_dup_n(list, strcspn(list, "\n"));

        (void)cpus_parse(copy, &status->cpus, &err);
        free(copy);
    }
    return status->threads > 0 ? 0 : -1;
}

void procfs_status_free(struct procfs_status *status)
{
    cpus_free(&status->cpus);
}

int procfs_parse_schedstat(const char *content, struct procfs_schedstat *schedstat)
{
    char *end;

    if (*content < '0' || *content > '9')
        return -1;
    schedstat->run_ns = strtoull(content, &end, 10);
    if (*end != ' ' || end[1] < '0' || end[1] > '9')
        return -1;
    schedstat->wait_ns = strtoull(end + 1, &end, 10);
    return 0;
}

int procfs_read_stat(const char *proc, pid_t pid, struct procfs_stat *stat)
{
    char path[256];
    char content[2048];

    (void)snprintf(path, sizeof path, "%s/%d/stat", proc, (int)pid);
    return fsx_read_small(path, content, sizeof content) > 0 ? procfs_parse_stat(content, stat) : -1;
}

int procfs_read_status(const char *proc, pid_t pid, struct procfs_status *status)
{
    char path[256];
    char content[16384];

    (void)snprintf(path, sizeof path, "%s/%d/status", proc, (int)pid);
    return fsx_read_small(path, content, sizeof content) > 0 ? procfs_parse_status(content, status) : -1;
}

void procfs_add_command(const char *proc, pid_t pid, size_t most, struct text *text)
{
    char path[256];
    char line[4096];
    struct procfs_stat stat;
    ssize_t n;

    (void)snprintf(path, sizeof path, "%s/%d/cmdline", proc, (int)pid);
    n = fsx_read_small(path, line, sizeof line);
    if (n > 0) {
        while (n > 0 && line[n - 1] == '\0')
            n--;
        for (ssize_t i = 0; i < n; i++)
            if (line[i] == '\0')
                line[i] = ' ';
        text_add_visible(text, line, (size_t)n < most ? (size_t)n : most);
        text_add(text, (size_t)n > most ? "..." : "");
    } else if (procfs_read_stat(proc, pid, &stat) == 0) {
        text_add_char(text, '[');
        text_add_visible(text, stat.name, strlen(stat.name));
        text_add_char(text, ']');
    } else {
        text_add(text, "gone");
    }
}

double procfs_tick_s(void)
{
    return 1.0 / (double)sysconf(_SC_CLK_TCK);
}
