#include "machine/procfs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"

#define SMAPS_MOST ((size_t)512 << 20)

/* A flag in "VmFlags: rd wr mr mw me ac ". */
static bool has_flag(const char *flags, size_t len, const char *flag)
{
    for (size_t i = 0; i + 1 < len; i++)
        if (flags[i] == flag[0] && flags[i + 1] == flag[1] && (i == 0 || flags[i - 1] == ' ') &&
            (i + 2 == len || flags[i + 2] == ' '))
            return true;
    return false;
}

static int64_t kib(const char *line, const char *key)
{
    size_t len = strlen(key);

    return strncmp(line, key, len) == 0 ? strtoll(line + len, NULL, 10) : -1;
}

void procfs_parse_smaps(const char *content, struct procfs_maps *maps)
{
    int64_t size = -1;
    bool open = false; /* inside a mapping whose flags have not come */

    *maps = (struct procfs_maps){.complete = *content != '\0'};
    for (const char *line = content; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        int64_t value;

        /* Lines of numbers begin with a capital, a mapping's first line with its address in small hexadecimals. */
        if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
            maps->complete = maps->complete && !open;
            open = true;
            size = -1;
        } else if ((value = kib(line, "Size:")) >= 0) {
            size = value;
        } else if ((value = kib(line, "Rss:")) >= 0) {
            maps->rss_kib += value;
        } else if ((value = kib(line, "Pss:")) >= 0) {
            maps->pss_kib += value;
        } else if (strncmp(line, "VmFlags:", 8) == 0) {
            if (size < 0)
                maps->complete = false;
            else if (has_flag(line + 8, len - 8, "ht"))
                maps->hugetlb_kib += size;
            else if (has_flag(line + 8, len - 8, "ac"))
                maps->accountable_kib += size;
            open = false;
        }
        line += len + (line[len] == '\n');
    }
    maps->complete = maps->complete && !open;
}

static double mib(int64_t value_kib)
{
    return value_kib >= 0 ? (double)value_kib / 1024 : NAN;
}

int procfs_memory_read(const char *proc, pid_t pid, struct procfs_memory *memory)
{
    struct procfs_status status;
    struct procfs_maps maps = {0};
    char path[256];
    char *smaps;
    size_t len;
    struct err err = {0};

    *memory = (struct procfs_memory){NAN, NAN, NAN, NAN, NAN};
    if (procfs_read_status(proc, pid, &status) != 0)
        return -1;
    procfs_status_free(&status);
    (void)snprintf(path, sizeof path, "%s/%d/smaps", proc, (int)pid);
    if (fsx_read(path, SMAPS_MOST, &smaps, &len, &err) == 0) {
        procfs_parse_smaps(smaps, &maps);
        free(smaps);
    }
    memory->hugetlb_mib = mib(status.hugetlb_kib);
    memory->peak_mib = mib(status.peak_kib);
    if (maps.complete) {
        memory->private_mib = mib(maps.accountable_kib);
        memory->pss_mib = mib(maps.pss_kib);
        /* The kernel's quick RSS counter may be off by a batch a CPU; the walk through the tables is exact. */
        memory->working_set_mib = mib(maps.rss_kib);
    } else {
        memory->working_set_mib = mib(status.rss_kib);
    }
    if (status.hugetlb_kib > 0)
        memory->working_set_mib += memory->hugetlb_mib;
    return 0;
}
