/*
 * procfs - what /proc says about processes: pure parsers of its files, and lists of processes made with them.
 *
 * A process is identified by pid and start time (clock ticks since boot); a pid alone may be another process by now.
 * Unknown is -1 in integers and NAN in doubles. Nothing here reads smaps but procfs_memory(), which walks the page
 * tables under a lock that the process needs: never inside a measured window.
 */
#ifndef MACHINE_PROCFS_H
#define MACHINE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/cpus.h"

struct text;

/* Of /proc/PID/stat; times in clock ticks. */
struct procfs_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    int terminal; /* controlling terminal's device number, 0: none */
    char state;
    char name[64]; /* as the kernel has it: any bytes but NUL */
    uint64_t user_ticks;
    uint64_t kernel_ticks;
    uint64_t waited_user_ticks; /* of children that it waited for, and theirs */
    uint64_t waited_kernel_ticks;
    int threads;
    uint64_t start_ticks;
};

/* Of /proc/PID/status, or of a thread's. */
struct procfs_status {
    int64_t peak_kib;    /* VmHWM */
    int64_t rss_kib;     /* VmRSS, without hugetlb pages */
    int64_t hugetlb_kib; /* HugetlbPages: in neither RSS nor PSS */
    int64_t threads;
    int64_t voluntary; /* context switches */
    int64_t involuntary;
    bool ignores_sigchld; /* the kernel reaps its children, whose CPU time then reaches nobody */
    struct cpus cpus;     /* Cpus_allowed_list; procfs_status_free() */
};

/* Sums over the mappings of smaps, in KiB. */
struct procfs_maps {
    int64_t accountable_kib; /* sizes of mappings with `ac` in VmFlags: memory that was promised, used or not */
    int64_t hugetlb_kib;     /* sizes of mappings with `ht`, which never carry `ac` */
    int64_t pss_kib;
    int64_t rss_kib;
    bool complete; /* every mapping had its Size and VmFlags */
};

/* Scheduled time and waiting time, from schedstat. */
struct procfs_schedstat {
    uint64_t run_ns;
    uint64_t wait_ns;
};

/* Pure. -1: too short or not of the expected form. */
int procfs_parse_stat(const char *content, struct procfs_stat *stat);
int procfs_parse_status(const char *content, struct procfs_status *status);
void procfs_status_free(struct procfs_status *status);
void procfs_parse_smaps(const char *content, struct procfs_maps *maps);
int procfs_parse_schedstat(const char *content, struct procfs_schedstat *schedstat);

/* Of a live process; -1: gone or not readable. `proc` is the root ("/proc"). */
int procfs_read_stat(const char *proc, pid_t pid, struct procfs_stat *stat);
int procfs_read_status(const char *proc, pid_t pid, struct procfs_status *status);
/* The command line, else the name in brackets, escaped and cut to a line of `most` bytes; added to `text`. */
void procfs_add_command(const char *proc, pid_t pid, size_t most, struct text *text);
/* Seconds a clock tick. */
double procfs_tick_s(void);

/* All processes, the zombies too. */
struct procfs_list {
    struct procfs_stat *items;
    size_t count;
};

int procfs_list_read(const char *proc, struct procfs_list *list);
void procfs_list_free(struct procfs_list *list);
/* The entry of a pid, NULL: none. */
const struct procfs_stat *procfs_list_find(const struct procfs_list *list, pid_t pid);
/*
 * Keeps what belongs to `root`: itself, its descendants, everybody in its session or process group (a child that lost
 * its parent), and `members` (those in its cgroup) with their descendants.
 */
void procfs_list_keep_tree(struct procfs_list *list, pid_t root, const pid_t *members, size_t member_count);

/* Calls `act` with /proc/PID/task/TID of each thread until it returns other than 0; returns that. */
int procfs_threads(const char *proc, pid_t pid, int (*act)(const char *folder, pid_t thread, void *argument),
                   void *argument);

/* Memory of one process in MiB; reads smaps: see above. */
struct procfs_memory {
    double working_set_mib; /* RSS and hugetlb pages */
    double private_mib;     /* accountable mappings; hugetlb mappings are not among them */
    double pss_mib;
    double peak_mib; /* highest RSS since exec */
    double hugetlb_mib;
};

/* -1 when the process is gone; what could not be read is NAN. */
int procfs_memory_read(const char *proc, pid_t pid, struct procfs_memory *memory);

#endif
