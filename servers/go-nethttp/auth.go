package main

import (
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// requireToken lets a request pass only with a Bearer token that is signed
// with HS256 and this secret and whose exp lies in the future.
func requireToken(secret []byte, next http.Handler) http.Handler {
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithExpirationRequired(),
		// Without it the unused bits of a signature's last letter may differ.
		jwt.WithStrictDecoding(),
	)
	key := func(*jwt.Token) (any, error) { return secret, nil }

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			refuse(w)
			return
		}
		if _, err := parser.Parse(token, key); err != nil {
			refuse(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeError(w, http.StatusUnauthorized, "a valid token is required")
}
