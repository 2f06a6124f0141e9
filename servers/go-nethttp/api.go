package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pageSize    = 50
	maxBodySize = 1 << 20

	selectOne = `SELECT id, ragione_sociale, citta, email, saldo, creato
		FROM clienti WHERE id = $1`
	selectPage = `SELECT id, ragione_sociale, citta, email, saldo, creato
		FROM clienti ORDER BY id LIMIT $1 OFFSET $2`
	insertBatch = `INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::timestamp[])`
)

type api struct {
	db *pgxpool.Pool
}

func (a *api) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", a.ping)
	mux.HandleFunc("GET /clienti/{id}", a.get)
	mux.HandleFunc("GET /clienti", a.list)
	mux.HandleFunc("POST /clienti/batch", a.insert)
	return mux
}

func (a *api) ping(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"ok": true})
}

func (a *api) get(w http.ResponseWriter, r *http.Request) {
	id, err := parsePositive(r.PathValue("id"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "the id is not a positive integer")
		return
	}
	// Query and CollectExactlyOneRow report a bad row as well as none.
	rows, _ := a.db.Query(r.Context(), selectOne, id)
	row, err := pgx.CollectExactlyOneRow(rows, scanCliente)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		writeError(w, http.StatusNotFound, "no such row")
	case err != nil:
		writeDatabaseError(w, r, err)
	default:
		writeJSON(w, http.StatusOK, row)
	}
}

func (a *api) list(w http.ResponseWriter, r *http.Request) {
	page, err := pageNumber(r.URL.RawQuery)
	if err != nil {
		writeError(w, http.StatusBadRequest, "pagina is not a positive integer")
		return
	}
	offset := int64(math.MaxInt64)
	if page-1 <= math.MaxInt64/pageSize {
		offset = (page - 1) * pageSize
	}
	rows, _ := a.db.Query(r.Context(), selectPage, pageSize, offset)
	list, err := pgx.CollectRows(rows, scanCliente)
	if err != nil {
		writeDatabaseError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, list)
}

func (a *api) insert(w http.ResponseWriter, r *http.Request) {
	batch, err := readBatch(http.MaxBytesReader(w, r.Body, maxBodySize))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusRequestEntityTooLarge, "the body is too large")
		return
	case err != nil:
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	// One statement is one transaction.
	tag, err := a.db.Exec(r.Context(), insertBatch,
		batch.ragioneSociale, batch.citta, batch.email, batch.saldo, batch.creato)
	if err != nil {
		writeDatabaseError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int64{"inserted": tag.RowsAffected()})
}

func scanCliente(row pgx.CollectableRow) (cliente, error) {
	var c cliente
	err := row.Scan(&c.ID, &c.RagioneSociale, &c.Citta, &c.Email, &c.Saldo, (*time.Time)(&c.Creato))
	return c, err
}

func pageNumber(rawQuery string) (int64, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return 0, err
	}
	if !query.Has("pagina") {
		return 1, nil
	}
	return parsePositive(query.Get("pagina"))
}

func parsePositive(text string) (int64, error) {
	// ParseInt takes a sign too.
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err == nil && number < 1 {
		return 0, strconv.ErrRange
	}
	return number, err
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		slog.Error("an answer cannot be written as JSON", "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone away is no concern of ours.
	_, _ = w.Write(body)
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

// writeDatabaseError answers 400 when PostgreSQL refused the data (SQLSTATE
// classes 22 and 23); anything else is not the client's fault.
func writeDatabaseError(w http.ResponseWriter, r *http.Request, err error) {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "22") || strings.HasPrefix(refused.Code, "23")) {
		writeError(w, http.StatusBadRequest, refused.Message)
		return
	}
	// A client that goes away ends its query; that is no failure.
	if r.Context().Err() == nil {
		slog.Error("the database failed", "error", err)
	}
	writeError(w, http.StatusInternalServerError, "the database failed")
}
