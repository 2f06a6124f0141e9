package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
	"unicode/utf8"
)

// cliente is one row of the table as it is sent to a client.
type cliente struct {
	ID             int64     `json:"id"`
	RagioneSociale string    `json:"ragione_sociale"`
	Citta          string    `json:"citta"`
	Email          *string   `json:"email"`
	Saldo          float64   `json:"saldo"`
	Creato         localTime `json:"creato"`
}

// newCliente is one row of a batch. The pointers tell a field that is missing
// (or null) from one that is empty.
type newCliente struct {
	RagioneSociale *string          `json:"ragione_sociale"`
	Citta          *string          `json:"citta"`
	Email          nullable[string] `json:"email"`
	Saldo          *float64         `json:"saldo"`
	Creato         *localTime       `json:"creato"`
}

// nullable tells a field that is null from one that is missing: encoding/json
// calls UnmarshalJSON for the first only.
type nullable[T any] struct {
	present bool
	value   *T
}

func (n *nullable[T]) UnmarshalJSON(data []byte) error {
	n.present = true
	return json.Unmarshal(data, &n.value)
}

// localTime is a TIMESTAMP without time zone; pgx scans it as UTC, and so it
// is written and read without a shift.
type localTime time.Time

const (
	readLayout  = "2006-01-02T15:04:05"
	writeLayout = `"2006-01-02T15:04:05.999999"`
)

func (t localTime) MarshalJSON() ([]byte, error) {
	return time.Time(t).AppendFormat(nil, writeLayout), nil
}

func (t *localTime) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.Parse(readLayout, text)
	if err != nil {
		return err
	}
	// time.Parse also takes an hour of one digit, a comma, and the year 0,
	// which PostgreSQL does not know.
	if text[13] != ':' || (len(text) > len(readLayout) && text[19] != '.') || parsed.Year() < 1 {
		return errors.New("creato is not YYYY-MM-DDTHH:MM:SS")
	}
	*t = localTime(parsed)
	return nil
}

// columns is a batch as the arrays that one INSERT takes.
type columns struct {
	ragioneSociale, citta []string
	email                 []*string
	saldo                 []float64
	creato                []time.Time
}

func readBatch(body io.Reader) (columns, error) {
	var batch columns
	data, err := io.ReadAll(body)
	if err != nil {
		return batch, err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		return batch, errors.New("the body is not a JSON array")
	}
	// encoding/json replaces what is not UTF-8 in silence.
	if !utf8.Valid(data) {
		return batch, errors.New("the body is not UTF-8")
	}
	// Unmarshal, and not a Decoder, refuses bytes behind the array.
	var rows []newCliente
	if err := json.Unmarshal(data, &rows); err != nil {
		return batch, err
	}
	for _, row := range rows {
		if row.RagioneSociale == nil || row.Citta == nil || !row.Email.present || row.Saldo == nil || row.Creato == nil {
			return batch, errors.New("a field is missing")
		}
		batch.ragioneSociale = append(batch.ragioneSociale, *row.RagioneSociale)
		batch.citta = append(batch.citta, *row.Citta)
		batch.email = append(batch.email, row.Email.value)
		batch.saldo = append(batch.saldo, *row.Saldo)
		batch.creato = append(batch.creato, time.Time(*row.Creato))
	}
	return batch, nil
}
