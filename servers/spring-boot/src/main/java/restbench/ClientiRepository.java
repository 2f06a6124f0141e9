package restbench;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.ResolverStyle;
import java.time.temporal.ChronoField;
import java.util.List;
import java.util.Optional;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.annotation.JsonDeserialize;

/** The table. */
@Repository
class ClientiRepository {

    private static final int PAGE_SIZE = 50;
    private static final String COLUMNS = "id, ragione_sociale, citta, email, saldo, creato";
    private static final String SELECT_ONE = "SELECT " + COLUMNS + " FROM clienti WHERE id = ?";
    private static final String SELECT_PAGE = "SELECT " + COLUMNS + " FROM clienti ORDER BY id LIMIT ? OFFSET ?";
    private static final String INSERT =
            "INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato) VALUES (?, ?, ?, ?, ?)";

    private final JdbcTemplate jdbc;

    ClientiRepository(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    Optional<Cliente> find(long id) {
        return jdbc.query(SELECT_ONE, (row, n) -> cliente(row), id).stream().findFirst();
    }

    List<Cliente> page(long page) {
        long offset = page - 1 > Long.MAX_VALUE / PAGE_SIZE ? Long.MAX_VALUE : (page - 1) * PAGE_SIZE;
        return jdbc.query(SELECT_PAGE, (row, n) -> cliente(row), PAGE_SIZE, offset);
    }

    @Transactional
    int insert(List<NewCliente> batch) {
        if (batch.isEmpty()) {
            return 0;
        }
        jdbc.batchUpdate(INSERT, batch, batch.size(), (statement, row) -> {
            statement.setString(1, row.ragioneSociale());
            statement.setString(2, row.citta());
            statement.setString(3, row.email());
            statement.setBigDecimal(4, row.saldo());
            statement.setObject(5, row.creato());
        });
        return batch.size();
    }

    private static Cliente cliente(ResultSet row) throws SQLException {
        return new Cliente(
                row.getLong(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getBigDecimal(5),
                row.getObject(6, LocalDateTime.class));
    }
}

record Cliente(
        long id,
        @JsonProperty("ragione_sociale") String ragioneSociale,
        String citta,
        String email,
        BigDecimal saldo,
        LocalDateTime creato) {}

/** A row of a batch. That no field is missing is a setting of the JSON mapper. */
record NewCliente(
        @JsonSetter(nulls = Nulls.FAIL) @JsonProperty("ragione_sociale") String ragioneSociale,
        @JsonSetter(nulls = Nulls.FAIL) String citta,
        String email,
        @JsonSetter(nulls = Nulls.FAIL) BigDecimal saldo,
        @JsonSetter(nulls = Nulls.FAIL) @JsonDeserialize(using = Timestamp.class) LocalDateTime creato) {

    /** The JDBC driver writes 1e999999999 as 0; smaller ones the table refuses. */
    NewCliente {
        if (Math.abs((long) saldo.scale()) > 100) {
            throw new IllegalArgumentException("saldo is out of range");
        }
    }
}

/** Jackson's own deserializer takes arrays, and a time without seconds or with a Z. */
class Timestamp extends ValueDeserializer<LocalDateTime> {

    private static final DateTimeFormatter FORMAT = new DateTimeFormatterBuilder()
            .appendValue(ChronoField.YEAR, 4)
            .appendPattern("-MM-dd'T'HH:mm:ss")
            .appendOptional(new DateTimeFormatterBuilder()
                    .appendFraction(ChronoField.NANO_OF_SECOND, 1, 9, true)
                    .toFormatter())
            .toFormatter()
            .withResolverStyle(ResolverStyle.STRICT);

    @Override
    public LocalDateTime deserialize(JsonParser parser, DeserializationContext context) {
        if (parser.hasToken(JsonToken.VALUE_STRING)) {
            try {
                LocalDateTime time = LocalDateTime.parse(parser.getString(), FORMAT);
                if (time.getYear() > 0) {
                    return time;
                }
            } catch (DateTimeException e) {
                // Said below.
            }
        }
        return context.reportInputMismatch(LocalDateTime.class, "creato is not YYYY-MM-DDTHH:MM:SS");
    }
}
