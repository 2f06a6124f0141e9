// Speaks HTTP/1.1 and, without TLS, HTTP/2; says at its end how many requests came by each.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

func main() {
	var seen [3]atomic.Int64
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := http.Server{
		Addr:      net.JoinHostPort(os.Getenv("HOST"), os.Getenv("PORT")),
		Protocols: &protocols,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen[r.ProtoMajor].Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"ok":true}`))
		}),
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		log.Printf("HTTP/1.1 %d, HTTP/2 %d", seen[1].Load(), seen[2].Load())
		server.Shutdown(context.Background())
		os.Exit(0)
	}()
	log.Fatal(server.ListenAndServe())
}
