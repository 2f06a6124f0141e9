package restbench;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.web.filter.OncePerRequestFilter;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Lets a request pass only with a Bearer token that is signed with HS256 and our secret and whose
 * exp lies in the future.
 */
class TokenFilter extends OncePerRequestFilter {

    private static final String ALGORITHM = "HmacSHA256";
    private static final String SCHEME = "Bearer ";

    private final SecretKeySpec key;
    private final JsonMapper json;

    TokenFilter(String secret, JsonMapper json) {
        this.key = new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), ALGORITHM);
        this.json = json;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String authorization = request.getHeader(HttpHeaders.AUTHORIZATION);
        if (authorization != null
                && authorization.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                && isValid(authorization.substring(SCHEME.length()))) {
            chain.doFilter(request, response);
            return;
        }
        response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
        response.setHeader(HttpHeaders.WWW_AUTHENTICATE, "Bearer");
        response.setContentType(MediaType.APPLICATION_PROBLEM_JSON_VALUE);
        response.getWriter().write("{\"status\":401,\"title\":\"A valid token is required\"}");
    }

    private boolean isValid(String token) {
        String[] parts = token.split("\\.", -1);
        if (parts.length != 3) {
            return false;
        }
        try {
            return "HS256".equals(decode(parts[0]).path("alg").stringValue(null))
                    && MessageDigest.isEqual(ascii(sign(parts[0] + "." + parts[1])), ascii(parts[2]))
                    && isInFuture(decode(parts[1]).path("exp"));
        } catch (IllegalArgumentException | JacksonException notBase64OrJson) {
            return false;
        }
    }

    /** As text: decoding would ignore the unused bits of the last letter. */
    private String sign(String signed) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            return Base64.getUrlEncoder().withoutPadding().encodeToString(mac.doFinal(ascii(signed)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private JsonNode decode(String part) {
        return json.readTree(Base64.getUrlDecoder().decode(part));
    }

    private static boolean isInFuture(JsonNode exp) {
        return exp.isNumber() && exp.doubleValue() > System.currentTimeMillis() / 1000.0;
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
