package restbench;

import com.fasterxml.jackson.annotation.Nulls;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.web.util.UriUtils;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.type.LogicalType;

/** The test server of restbench's contract on Spring Boot: Spring MVC and JdbcTemplate. */
@SpringBootApplication
public class Application {

    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @Bean
    @ConfigurationProperties("spring.datasource.hikari")
    HikariDataSource dataSource(@Value("${DATABASE_URL}") URI url) {
        HikariDataSource dataSource = new HikariDataSource();
        dataSource.setJdbcUrl(jdbcUrl(url));
        if (url.getRawUserInfo() != null) {
            String[] user = url.getRawUserInfo().split(":", 2);
            dataSource.setUsername(decode(user[0]));
            dataSource.setPassword(user.length > 1 ? decode(user[1]) : null);
        }
        return dataSource;
    }

    /** The user is no part of it; the two parameters have other names in JDBC. */
    private static String jdbcUrl(URI url) {
        String port = url.getPort() < 0 ? "" : ":" + url.getPort();
        String query = url.getRawQuery() == null ? "" : "?" + url.getRawQuery()
                .replace("application_name=", "ApplicationName=")
                .replace("connect_timeout=", "connectTimeout=");
        return "jdbc:postgresql://" + url.getHost() + port + url.getRawPath() + query;
    }

    private static String decode(String text) {
        return UriUtils.decode(text, StandardCharsets.UTF_8);
    }

    /** Jackson would take 7 for "7" and "12.5" for 12.5, and null for a row. */
    @Bean
    JsonMapperBuilderCustomizer strictJson() {
        return builder -> builder
                .withCoercionConfig(LogicalType.Textual, config -> config
                        .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
                .withCoercionConfig(LogicalType.Float, config -> config
                        .setCoercion(CoercionInputShape.String, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail))
                .changeDefaultNullHandling(nulls -> nulls.withContentNulls(Nulls.FAIL));
    }

    @Bean
    @ConditionalOnProperty("jwt.secret")
    TokenFilter tokenFilter(@Value("${jwt.secret}") String secret, JsonMapper json) {
        return new TokenFilter(secret, json);
    }
}
