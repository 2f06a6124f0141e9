#include "load/limits.h"

#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fsx.h"
#include "base/text.h"

/* For standard streams, libraries, epoll, wake-ups of each thread, result files. */
#define SPARE_FILES 64

int64_t limits_local_ports(void)
{
    char range[64];
    char *tab;
    int64_t low;
    int64_t high;

    if (fsx_read_small("/proc/sys/net/ipv4/ip_local_port_range", range, sizeof range) <= 0)
        return 0;
    range[strcspn(range, "\n")] = '\0';
    tab = strpbrk(range, " \t");
    if (tab == NULL)
        return 0;
    *tab = '\0';
    if (text_parse_i64(range, &low) != 0 || text_parse_i64(tab + 1 + strspn(tab + 1, " \t"), &high) != 0)
        return 0;
    return high - low + 1;
}

int limits_raise(int64_t connections, struct err *err)
{
    rlim_t need = (rlim_t)connections + SPARE_FILES;
    struct rlimit limit;
    int64_t ports = limits_local_ports();

    if (ports > 0 && connections > ports)
        return err_set(err,
                       "-c %lld: one address has %lld local ports; give fewer connections or widen "
                       "net.ipv4.ip_local_port_range",
                       (long long)connections, (long long)ports);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return err_sys(err, "the limit of open files");
    if (limit.rlim_cur >= need)
        return 0;
    if (limit.rlim_max < need) {
        struct rlimit raised = {need, need};

        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            return 0;
        return err_set(err, "-c %lld: needs %llu open files, the limit is %llu; raise it with ulimit -n %llu",
                       (long long)connections, (unsigned long long)need, (unsigned long long)limit.rlim_max,
                       (unsigned long long)need);
    }
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return err_sys(err, "raising the limit of open files to %llu", (unsigned long long)need);
    return 0;
}

int limits_cpus(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}
