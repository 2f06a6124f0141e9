package restbench;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.transaction.TransactionException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The endpoints. */
@RestController
class ClientiController {

    private static final Logger log = LoggerFactory.getLogger(ClientiController.class);
    private static final BigInteger MAX_LONG = BigInteger.valueOf(Long.MAX_VALUE);

    private final ClientiRepository clienti;

    ClientiController(ClientiRepository clienti) {
        this.clienti = clienti;
    }

    @GetMapping("/ping")
    Map<String, Boolean> ping() {
        return Map.of("ok", true);
    }

    @GetMapping("/clienti/{id}")
    Cliente read(@PathVariable String id) {
        return clienti.find(positive(id))
                .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "no such row"));
    }

    // A default value would stand in for an empty pagina too.
    @GetMapping("/clienti")
    List<Cliente> list(@RequestParam(required = false) String pagina) {
        return clienti.page(pagina == null ? 1 : positive(pagina));
    }

    @PostMapping("/clienti/batch")
    Map<String, Integer> insert(@RequestBody List<NewCliente> batch) {
        return Map.of("inserted", clienti.insert(batch));
    }

    /** Digits only: Spring's own conversion takes a sign, blanks and 0x1. */
    private static long positive(String text) {
        if (text.matches("[0-9]+")) {
            BigInteger number = new BigInteger(text);
            if (number.signum() > 0 && number.compareTo(MAX_LONG) <= 0) {
                return number.longValue();
            }
        }
        throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "not a positive integer");
    }

    /** PostgreSQL refused the data: SQLSTATE classes 22 and 23. */
    @ExceptionHandler
    ProblemDetail refused(DataIntegrityViolationException e) {
        return ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST, e.getMostSpecificCause().getMessage());
    }

    @ExceptionHandler({DataAccessException.class, TransactionException.class})
    ProblemDetail failed(Exception e) {
        log.error("the database failed: {}", e.getMessage());
        return ProblemDetail.forStatus(HttpStatus.INTERNAL_SERVER_ERROR);
    }
}
