#include "machine/login.h"

#include "base/json.h"

static const struct {
    int resource;
    const char *name;
} kinds[] = {
    {RLIMIT_AS, "as"},           {RLIMIT_CORE, "core"},         {RLIMIT_CPU, "cpu"},
    {RLIMIT_DATA, "data"},       {RLIMIT_FSIZE, "fsize"},       {RLIMIT_LOCKS, "locks"},
    {RLIMIT_MEMLOCK, "memlock"}, {RLIMIT_MSGQUEUE, "msgqueue"}, {RLIMIT_NICE, "nice"},
    {RLIMIT_NOFILE, "nofile"},   {RLIMIT_NPROC, "nproc"},       {RLIMIT_RSS, "rss"},
    {RLIMIT_RTPRIO, "rtprio"},   {RLIMIT_RTTIME, "rttime"},     {RLIMIT_SIGPENDING, "sigpending"},
    {RLIMIT_STACK, "stack"},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct rlimit saved[KINDS];
static struct cpus saved_cpus;

__attribute__((constructor)) static void save(void)
{
    struct err ignored = {0};

    for (size_t i = 0; i < KINDS; i++)
        if (getrlimit((__rlimit_resource_t)kinds[i].resource, &saved[i]) != 0)
            saved[i] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    (void)cpus_allowed(&saved_cpus, &ignored);
}

const struct cpus *login_cpus(void)
{
    return &saved_cpus;
}

int login_restore(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct rlimit now;

        if (getrlimit((__rlimit_resource_t)kinds[i].resource, &now) == 0 && now.rlim_cur == saved[i].rlim_cur &&
            now.rlim_max == saved[i].rlim_max)
            continue;
        if (setrlimit((__rlimit_resource_t)kinds[i].resource, &saved[i]) != 0)
            return -1;
    }
    return 0;
}

struct rlimit login_limit(int resource)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].resource == resource)
            return saved[i];
    return (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
}

static json_t *limit_json(rlim_t value)
{
    return value == RLIM_INFINITY ? json_string("unlimited") : json_integer((json_int_t)value);
}

json_t *login_limits_to_json(void)
{
    json_t *object = json_object();

    for (size_t i = 0; i < KINDS; i++) {
        json_t *pair = json_object();

        json_put(pair, "soft", limit_json(saved[i].rlim_cur));
        json_put(pair, "hard", limit_json(saved[i].rlim_max));
        json_put(object, kinds[i].name, pair);
    }
    return object;
}
