package web

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer returns a server with every timeout set; by default http.Server has
// none. It must serve the listener that conns returned. HTTP/2 is disabled:
// every limit counts connections, and one HTTP/2 connection carries hundreds of
// requests.
func NewServer(h http.Handler, logger *slog.Logger, conns *Connections) *http.Server {
	s := &http.Server{
		Handler:           probesOnly(h),
		Protocols:         new(http.Protocols),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ConnState:         conns.track,
		ConnContext:       markReserved,
	}
	s.Protocols.SetHTTP1(true)
	s.RegisterOnShutdown(conns.close)
	return s
}
