package webtest

import (
	"log/slog"
	"net/http"
	"net/netip"

	"weir"
	"weir/web"
)

// CallbackPath returns the URL path of a channel's callback.
func CallbackPath(ch weir.Channel, rest string) string {
	return "/callbacks/" + ch.Name + "/" + ch.Secret + "/" + rest
}

// TimeoutError is an error without a code, as a store's driver may return it.
type TimeoutError struct{}

func (TimeoutError) Error() string { return "CANARY-cause" }

func (TimeoutError) Is(target error) bool { return target.Error() == "context deadline exceeded" }

// NewServer returns a server that serves any listener.
func NewServer(h http.Handler) *http.Server {
	return web.NewServer(h, slog.New(slog.DiscardHandler), Connections(web.DefaultConnectionLimits()))
}

func Connections(limits web.ConnectionLimits, proxies ...netip.Prefix) *web.Connections {
	return web.NewConnections(limits, proxies, web.NewRefusalLog(slog.New(slog.DiscardHandler)))
}
