package daemon

import (
	"log/slog"
	"net/http"
	"runtime"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"weir"
	"weir/channels"
	"weir/config"
)

// Options configure a daemon.
type Options struct {
	Config  config.Config
	Logger  *slog.Logger
	Version string
	// Registry collects the metrics; nil: a new one, with the Go and process metrics.
	Registry *prometheus.Registry
	// Types is the table of channel types; nil: all of them.
	Types []channels.Type
	// Transport returns the transport for requests to a channel's provider; nil:
	// each channel has its own connections.
	Transport func(weir.Channel) http.RoundTripper
	// Middleware wraps the brokers' message handling; tests use it to inject
	// faults.
	Middleware []actor.ReceiverMiddleware
	// NotifySocket is the socket for notifications to systemd (sd_notify); empty:
	// none.
	NotifySocket string
}

func withDefaults(o Options) Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
		o.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	o.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "weir_build_info", Help: "Always 1; the labels are the versions of Weir and Go.",
		ConstLabels: prometheus.Labels{"version": o.Version, "go_version": runtime.Version()},
	}, func() float64 { return 1 }))
	return o
}
