#include "results/markdown.h"

#include <stdbool.h>
#include <string.h>

/* ASCII only, whatever the locale. */
static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

void markdown_add(struct text *text, const char *string)
{
    struct text visible = {0};
    const char *data;

    text_add_visible(&visible, string, strlen(string));
    data = text_string(&visible);
    for (size_t i = 0; data[i] != '\0'; i++) {
        switch (data[i]) {
        case '&':
            text_add(text, "&amp;");
            continue;
        case '<':
            text_add(text, "&lt;");
            continue;
        case '>':
            text_add(text, "&gt;");
            continue;
        case '_': /* inside a word (select_1) an underscore is only that */
            if (i > 0 && is_word(data[i - 1]) && is_word(data[i + 1]))
                break;
            text_add_char(text, '\\');
            break;
        case '|':
        case '*':
        case '`':
        case '[':
        case ']':
        case '~':
        case '\\':
            text_add_char(text, '\\');
            break;
        default:
            break;
        }
        text_add_char(text, data[i]);
    }
    text_free(&visible);
}
