#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Decodes one character of `bytes`; returns its length, 0 when the bytes are not UTF-8 (RFC 3629). */
static size_t decode(const unsigned char *bytes, size_t len, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = bytes[0] < 0x80 ? 1 : bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    uint32_t c = bytes[0];

    if (need > 1) {
        if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || need > len)
            return 0;
        c &= 0x7fU >> need;
        for (size_t i = 1; i < need; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (bytes[i] & 0x3f);
        }
        if (c < least[need] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
            return 0;
    }
    *code = c;
    return need;
}

bool text_is_utf8(const char *bytes, size_t len)
{
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n)
        if ((n = decode((const unsigned char *)bytes + i, len - i, &code)) == 0)
            return false;
    return true;
}

static bool is_visible(uint32_t code)
{
    return code >= 0x20 && !(code >= 0x7f && code <= 0x9f) && !(code >= 0x202a && code <= 0x202e) &&
           !(code >= 0x2066 && code <= 0x2069) && code != 0x2028 && code != 0x2029;
}

bool text_is_title(const char *string)
{
    size_t len = strlen(string);
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n)
        if ((n = decode((const unsigned char *)string + i, len - i, &code)) == 0 || !is_visible(code))
            return false;
    return len > 0;
}

void text_add_visible(struct text *text, const char *bytes, size_t len)
{
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n) {
        n = decode((const unsigned char *)bytes + i, len - i, &code);
        if (n > 0 && is_visible(code)) {
            text_add_bytes(text, bytes + i, n);
            continue;
        }
        if (n == 0)
            n = 1;
        for (size_t k = 0; k < n; k++)
            text_addf(text, "\\x%02x", (unsigned char)bytes[i + k]);
    }
}

/* Ranges of Unicode's East Asian Width W and F that titles are likely to hold (UAX #11, block level). */
static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0x303e) || (c >= 0x3041 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) ||
           (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1f64f) ||
           (c >= 0x1f900 && c <= 0x1f9ff) || (c >= 0x20000 && c <= 0x3fffd);
}

static bool is_combining(uint32_t c)
{
    return (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200f) || (c >= 0x20d0 && c <= 0x20ff) ||
           (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xfe20 && c <= 0xfe2f);
}

size_t text_width(const char *utf8)
{
    size_t len = strlen(utf8);
    size_t width = 0;
    uint32_t code;

    for (size_t i = 0, n; i < len; i += n) {
        n = decode((const unsigned char *)utf8 + i, len - i, &code);
        if (n == 0) {
            n = 1;
            width++;
        } else if (!is_combining(code)) {
            width += is_wide(code) ? 2 : 1;
        }
    }
    return width;
}

size_t text_distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    size_t *row = text_realloc(NULL, n + 1, sizeof *row);
    size_t result;

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = diagonal + (a[i] != b[j]);

            if (row[j] + 1 < best)
                best = row[j] + 1;
            diagonal = row[j + 1];
            if (diagonal + 1 < best)
                best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    result = row[n];
    free(row);
    return result;
}

void text_add_padded(struct text *text, const char *utf8, size_t width, bool right)
{
    size_t own = text_width(utf8);

    for (size_t i = own; right && i < width; i++)
        text_add_char(text, ' ');
    text_add(text, utf8);
    for (size_t i = own; !right && i < width; i++)
        text_add_char(text, ' ');
}
