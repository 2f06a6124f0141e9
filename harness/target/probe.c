#include "target/probe.h"

#include <curl/curl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/text.h"

/* More than any right answer of a contract; an endless one ends here. */
static const size_t body_max = 64U << 20;

struct probe {
    CURL *curl;
    char *base_url; /* without a '/' at its end */
    long timeout_ms;
};

/* What one transfer gathers. */
struct transfer {
    struct text headers;
    struct text body;
    bool too_long;
    char error[CURL_ERROR_SIZE];
};

static void init_library(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

int probe_open(const char *base_url, int64_t timeout_ns, struct probe **probe, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t len = strlen(base_url);
    CURL *curl;

    (void)pthread_once(&once, init_library);
    if (strncasecmp(base_url, "http://", 7) != 0 && strncasecmp(base_url, "https://", 8) != 0)
        return err_set(err, "%s: not a URL; write http://HOST:PORT", base_url);
    curl = curl_easy_init();
    if (curl == NULL)
        return err_set(err, "libcurl cannot start");
    while (len > 0 && base_url[len - 1] == '/')
        len--;
    *probe = text_alloc(sizeof **probe);
    (*probe)->curl = curl;
    (*probe)->base_url = text_dup_n(base_url, len);
    (*probe)->timeout_ms = (long)(timeout_ns / 1000000) > 0 ? (long)(timeout_ns / 1000000) : 1;
    return 0;
}

void probe_close(struct probe *probe)
{
    if (probe == NULL)
        return;
    curl_easy_cleanup(probe->curl);
    free(probe->base_url);
    free(probe);
}

static size_t on_header(char *data, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;

    /* An interim answer's head (100 Continue) comes first; only the last one is kept. */
    if (size * count >= 5 && memcmp(data, "HTTP/", 5) == 0)
        text_clear(&transfer->headers);
    text_add_bytes(&transfer->headers, data, size * count);
    return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;

    if (transfer->body.len + size * count > body_max) {
        transfer->too_long = true;
        return 0;
    }
    text_add_bytes(&transfer->body, data, size * count);
    return size * count;
}

static bool has_header(const struct probe_request *request, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++)
        if (strncasecmp(request->headers[i], name, len) == 0 && request->headers[i][len] == ':')
            return true;
    return false;
}

static struct curl_slist *make_headers(const struct probe_request *request)
{
    /* libcurl would add these two by itself: the first asks for an interim answer, the second names a form. */
    struct curl_slist *list = has_header(request, "Expect") ? NULL : curl_slist_append(NULL, "Expect:");

    if (!has_header(request, "Content-Type"))
        list = curl_slist_append(list, "Content-Type:");
    for (size_t i = 0; request->headers != NULL && request->headers[i] != NULL; i++) {
        char *header = text_dup(request->headers[i]);
        size_t len = strlen(header);

        /* libcurl takes "Name:" for a header to leave out and sends an empty one when it is written with ';'. */
        while (len > 0 && header[len - 1] == ' ')
            header[--len] = '\0';
        if (len > 0 && header[len - 1] == ':')
            header[len - 1] = ';';
        list = curl_slist_append(list, header);
        free(header);
    }
    return list;
}

static void set_up(const struct probe *probe, CURL *curl, const struct probe_request *request, const char *url,
                   struct curl_slist *headers, struct transfer *transfer)
{
    const char *method = request->method != NULL ? request->method : "GET";

    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, probe->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "restbench/" RESTBENCH_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->error);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    if (request->body != NULL) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

/* libcurl tried every address of the name, but its message tells none. */
static void add_addresses(struct text *text, const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const char *between = "";

    if (getaddrinfo(host, port, &hints, &found) != 0)
        return;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        char address[NI_MAXHOST];

        if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        text_addf(text, "%s%s", between, address);
        between = " and ";
    }
    freeaddrinfo(found);
}

static int nobody_error(const char *url, struct err *err)
{
    CURLU *parts = curl_url();
    char *host = NULL;
    char *port = NULL;
    struct text addresses = {0};

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        bool bracketed = host[0] == '[' && host[strlen(host) - 1] == ']';
        char *bare = text_dup_n(host + bracketed, strlen(host) - (bracketed ? 2 : 0));

        add_addresses(&addresses, bare, port);
        free(bare);
    }
    (void)err_set(err, "%s: nobody answers at %s port %s", url, text_string(&addresses), port != NULL ? port : "?");
    text_free(&addresses);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return -1;
}

static int transfer_error(CURLcode code, const struct transfer *transfer, const char *url, struct err *err)
{
    const char *text = transfer->error[0] != '\0' ? transfer->error : curl_easy_strerror(code);

    if (transfer->too_long)
        return err_fail(err, "the answer is longer than %zu MiB", body_max >> 20);
    if (code == CURLE_COULDNT_CONNECT)
        return nobody_error(url, err);
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_URL_MALFORMAT)
        return err_set(err, "%s: %s", url, text);
    return err_fail(err, "no whole answer: %s", text);
}

static void transfer_free(struct transfer *transfer)
{
    text_free(&transfer->headers);
    text_free(&transfer->body);
}

int probe_request(struct probe *probe, const struct probe_request *request, struct probe_answer *answer,
                  struct err *err)
{
    char *url = text_format("%s%s", probe->base_url, request->path);
    struct curl_slist *headers = make_headers(request);
    struct transfer transfer = {0};
    long status = 0;
    long connects = 1;
    CURLcode code;
    int result = 0;

    set_up(probe, probe->curl, request, url, headers, &transfer);
    code = curl_easy_perform(probe->curl);
    *answer = (struct probe_answer){0};
    if (code != CURLE_OK) {
        result = transfer_error(code, &transfer, url, err);
    } else {
        curl_easy_getinfo(probe->curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(probe->curl, CURLINFO_NUM_CONNECTS, &connects);
        answer->status = (int)status;
        answer->reused = connects == 0;
        answer->body_len = transfer.body.len;
        answer->body = text_take(&transfer.body);
        answer->headers = text_take(&transfer.headers);
    }
    /* The handle outlives what it points to. */
    curl_easy_reset(probe->curl);
    transfer_free(&transfer);
    curl_slist_free_all(headers);
    free(url);
    return result;
}

static int run_at_once(CURLM *multi, struct err *err)
{
    int running = 1;

    /* Every transfer has a time limit of its own, so this ends. */
    while (running > 0) {
        CURLMcode code = curl_multi_perform(multi, &running);

        if (code == CURLM_OK && running > 0)
            code = curl_multi_poll(multi, NULL, 0, 1000, NULL);
        if (code != CURLM_OK)
            return err_set(err, "libcurl: %s", curl_multi_strerror(code));
    }
    return 0;
}

int probe_at_once(struct probe *probe, const struct probe_request *request, int count, int *ok, struct err *err)
{
    char *url = text_format("%s%s", probe->base_url, request->path);
    struct curl_slist *headers = make_headers(request);
    struct transfer *transfers = text_alloc((size_t)count * sizeof *transfers);
    CURL **easy = text_alloc((size_t)count * sizeof *easy);
    CURLM *multi = curl_multi_init();
    int result;

    *ok = 0;
    for (int i = 0; i < count; i++) {
        easy[i] = curl_easy_init();
        set_up(probe, easy[i], request, url, headers, &transfers[i]);
        curl_multi_add_handle(multi, easy[i]);
    }
    result = run_at_once(multi, err);
    for (int i = 0; i < count; i++) {
        long status = 0;

        curl_easy_getinfo(easy[i], CURLINFO_RESPONSE_CODE, &status);
        *ok += status >= 200 && status < 300;
        curl_multi_remove_handle(multi, easy[i]);
        curl_easy_cleanup(easy[i]);
        transfer_free(&transfers[i]);
    }
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    free(transfers);
    free(easy);
    free(url);
    return result;
}

char *probe_answer_header(const struct probe_answer *answer, const char *name)
{
    size_t name_len = strlen(name);

    for (const char *line = answer->headers; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\r\n");

        if (len > name_len && line[name_len] == ':' && strncasecmp(line, name, name_len) == 0) {
            const char *value = line + name_len + 1;
            const char *end = line + len;

            value += strspn(value, " \t");
            while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
            return text_dup_n(value, (size_t)(end - value));
        }
        line += len;
        line += strspn(line, "\r\n");
    }
    return NULL;
}

void probe_answer_free(struct probe_answer *answer)
{
    free(answer->headers);
    free(answer->body);
    *answer = (struct probe_answer){0};
}
