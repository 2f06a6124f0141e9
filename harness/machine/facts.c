#include "machine/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/vitals.h"

/* First line of a file below a root, without its end; "" when it cannot be read. */
static void line_of(const char *root, const char *name, char *line, size_t size)
{
    char *path = fsx_join(root, name);

    if (fsx_read_small(path, line, size) < 0)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    free(path);
}

/* The value of the first "key : value" line whose key begins so. */
static void value_of(const char *content, const char *key, char *value, size_t size)
{
    value[0] = '\0';
    for (const char *line = content; line != NULL && *line != '\0';) {
        const char *colon = line + strcspn(line, ":\n");

        if (strncmp(line, key, strlen(key)) == 0 && *colon == ':') {
            const char *begin = colon + 1 + strspn(colon + 1, " \t");
            struct text visible = {0};

            text_add_visible(&visible, begin, strcspn(begin, "\n"));
            (void)snprintf(value, size, "%s", text_string(&visible));
            text_free(&visible);
            return;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static void read_cpuinfo(const char *proc, struct facts *facts, bool *hypervisor)
{
    char *path = fsx_join(proc, "cpuinfo");
    char *content;
    char flags[8192];
    size_t len;
    struct err err = {0};

    *hypervisor = false;
    if (fsx_read(path, (size_t)64 << 20, &content, &len, &err) == 0) {
        value_of(content, "model name", facts->cpu_model, sizeof facts->cpu_model);
        if (facts->cpu_model[0] == '\0')
            value_of(content, "Processor", facts->cpu_model, sizeof facts->cpu_model);
        value_of(content, "flags", flags, sizeof flags);
        *hypervisor = strstr(flags, " hypervisor") != NULL;
        if (flags[0] != '\0')
            (void)snprintf(facts->virtualization, sizeof facts->virtualization, "%s",
                           *hypervisor ? "unknown hypervisor" : "none");
        free(content);
    }
    free(path);
}

static const struct {
    const char *found;
    const char *name;
} hypervisors[] = {
    /* CPUID's signatures, then words in the firmware's tables and the type of /sys/hypervisor. */
    {"KVMKVMKVM", "kvm"},
    {"Microsoft Hv", "hyper-v"},
    {"VMwareVMware", "vmware"},
    {"XenVMMXenVMM", "xen"},
    {"TCGTCGTCGTCG", "qemu"},
    {"bhyve bhyve", "bhyve"},
    {"VBoxVBoxVBox", "virtualbox"},
    {"ACRNACRNACRN", "acrn"},
    {"QEMU", "kvm"},
    {"KVM", "kvm"},
    {"VMware", "vmware"},
    {"VirtualBox", "virtualbox"},
    {"Xen", "xen"},
    {"xen", "xen"},
    {"Virtual Machine", "hyper-v"},
    {"Amazon EC2", "amazon"},
    {"Google", "google"},
    {"Parallels", "parallels"},
    {"OpenStack", "kvm"},
};

static bool name_hypervisor(const char *text, struct facts *facts)
{
    for (size_t i = 0; i < sizeof hypervisors / sizeof hypervisors[0]; i++)
        if (strstr(text, hypervisors[i].found) != NULL) {
            (void)snprintf(facts->virtualization, sizeof facts->virtualization, "%s", hypervisors[i].name);
            return true;
        }
    return false;
}

static void find_hypervisor(const char *sys, bool flag, struct facts *facts)
{
    static const char *const files[] = {"hypervisor/type", "class/dmi/id/sys_vendor", "class/dmi/id/product_name",
                                        "class/dmi/id/bios_vendor"};
    char text[256];

#if defined(__x86_64__) || defined(__i386__)
    /* The instruction asks the machine that we run on, which is not that of a test's /proc. */
    if (flag && strcmp(sys, "/sys") == 0) {
        unsigned words[4];
        char signature[13] = {0};

        __cpuid(0x40000000, words[0], words[1], words[2], words[3]);
        memcpy(signature, &words[1], 12);
        if (name_hypervisor(signature, facts))
            return;
    }
#endif
    /* The firmware of some clouds' bare machines carries the vendor's name too: the CPU's flag decides where it is. */
    if (!flag && strcmp(facts->virtualization, "none") == 0)
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        line_of(sys, files[i], text, sizeof text);
        if (name_hypervisor(text, facts))
            return;
    }
}

static int read_switch(const char *sys, const char *name, bool inverted)
{
    char text[16];

    line_of(sys, name, text, sizeof text);
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return -1;
    return (text[0] == '1') != inverted;
}

static int count_online(const char *sys)
{
    char list[4096];
    struct cpus online = {0};
    struct err err = {0};
    int count;

    line_of(sys, "devices/system/cpu/online", list, sizeof list);
    count = list[0] != '\0' && cpus_parse(list, &online, &err) == 0 ? cpus_count(&online) : 0;
    cpus_free(&online);
    return count;
}

static void read_hugepages(const char *sys, struct facts *facts)
{
    char line[128];
    char *open;

    line_of(sys, "kernel/mm/transparent_hugepage/enabled", line, sizeof line);
    open = strchr(line, '[');
    if (open != NULL)
        (void)snprintf(facts->hugepages, sizeof facts->hugepages, "%.*s", (int)strcspn(open + 1, "]"), open + 1);
}

static void make_id(struct facts *facts)
{
    char machine_id[128];
    char hash[FSX_SHA256_SIZE];
    char *text;

    line_of("/etc", "machine-id", machine_id, sizeof machine_id);
    text = text_format("restbench %s %s %d %.0f", machine_id, facts->cpu_model, facts->cpus,
                       isnan(facts->memory_mib) ? 0 : round(facts->memory_mib / 1024));
    fsx_sha256(text, strlen(text), hash);
    memcpy(facts->id, hash, sizeof facts->id - 1);
    free(text);
}

void facts_read(const char *proc, const char *sys, const struct cpus *allowed, const char *cgroup_reason,
                struct facts *facts)
{
    char meminfo[8192];
    char value[64];
    struct utsname name;
    char *path = fsx_join(proc, "meminfo");
    double kib;
    bool hypervisor;

    *facts = (struct facts){.memory_mib = NAN, .cpus_allowed = cpus_format(allowed), .cpus = count_online(sys)};
    if (uname(&name) == 0)
        (void)snprintf(facts->kernel, sizeof facts->kernel, "%s %s", name.sysname, name.release);
    if (fsx_read_small(path, meminfo, sizeof meminfo) > 0) {
        value_of(meminfo, "MemTotal", value, sizeof value);
        if (text_parse_double_n(value, strcspn(value, " "), &kib) == 0)
            facts->memory_mib = kib / 1024;
    }
    free(path);
    read_cpuinfo(proc, facts, &hypervisor);
    find_hypervisor(sys, hypervisor, facts);
    vitals_governor(sys, allowed, facts->governor, sizeof facts->governor);
    facts->smt = read_switch(sys, "devices/system/cpu/smt/active", false);
    facts->turbo = read_switch(sys, "devices/system/cpu/cpufreq/boost", false);
    if (facts->turbo < 0)
        facts->turbo = read_switch(sys, "devices/system/cpu/intel_pstate/no_turbo", true);
    read_hugepages(sys, facts);
    (void)snprintf(facts->cgroup, sizeof facts->cgroup, "%s", cgroup_reason == NULL ? "v2" : "none");
    (void)snprintf(facts->cgroup_reason, sizeof facts->cgroup_reason, "%s", cgroup_reason != NULL ? cgroup_reason : "");
    make_id(facts);
}

void facts_free(struct facts *facts)
{
    free(facts->cpus_allowed);
    *facts = (struct facts){0};
}

static json_t *string_or_null(const char *string)
{
    return string != NULL && string[0] != '\0' ? json_string(string) : json_null();
}

static json_t *switch_or_null(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

json_t *facts_to_json(const struct facts *facts)
{
    json_t *object = json_object();

    json_put(object, "id", json_string(facts->id));
    json_put(object, "cpu_model", string_or_null(facts->cpu_model));
    json_put(object, "cpus", facts->cpus > 0 ? json_integer(facts->cpus) : json_null());
    json_put(object, "cpus_allowed", string_or_null(facts->cpus_allowed));
    json_put(object, "kernel", string_or_null(facts->kernel));
    json_put(object, "memory_mib", json_number(facts->memory_mib, 0));
    json_put(object, "governor", string_or_null(facts->governor));
    json_put(object, "virtualization", string_or_null(facts->virtualization));
    json_put(object, "smt", switch_or_null(facts->smt));
    json_put(object, "turbo", switch_or_null(facts->turbo));
    json_put(object, "transparent_hugepages", string_or_null(facts->hugepages));
    json_put(object, "cgroup", json_string(facts->cgroup));
    json_put(object, "cgroup_reason", string_or_null(facts->cgroup_reason));
    return object;
}
