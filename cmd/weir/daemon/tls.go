package daemon

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"weir/config"
)

// readCertificatesEvery is how often the files are read again. Polling also detects
// the symbolic links that Kubernetes swaps, and costs less than watching.
const readCertificatesEvery = 5 * time.Second

// certificates serves the latest valid pair of certificate and key.
type certificates struct {
	cfg     config.Config
	log     *slog.Logger
	current atomic.Pointer[tls.Certificate]
	failure string // of the latest reload; empty: it succeeded
	logged  bool   // whether failure is logged
}

// openCertificates reads the pair; nil: Weir serves plain HTTP.
func openCertificates(o Options) (*certificates, error) {
	if !o.Config.TLS() {
		return nil, nil //nolint:nilnil // documented above
	}
	pair, err := o.Config.LoadCertificate()
	if err != nil {
		return nil, err
	}
	c := &certificates{cfg: o.Config, log: o.Logger}
	c.use(pair)
	o.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "weir_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate that Weir serves expires.",
	}, func() float64 { return float64(c.current.Load().Leaf.NotAfter.Unix()) }))
	return c, nil
}

func (c *certificates) use(pair *tls.Certificate) {
	c.current.Store(pair)
	log := c.log.Info
	if time.Now().After(pair.Leaf.NotAfter) {
		log = c.log.Warn
	}
	log("TLS certificate loaded", "names", pair.Leaf.DNSNames, "not_after", pair.Leaf.NotAfter)
}

// config returns the TLS configuration of the server.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

func (c *certificates) jobs() []job {
	if c == nil {
		return nil
	}
	return []job{{name: "reload TLS certificate", every: readCertificatesEvery, step: func(context.Context) (bool, error) { c.reload(); return false, nil }}}
}

// reload loads a changed pair. A broken pair is logged when it fails twice in a row
// with the same error, because the two files never change at the same instant.
func (c *certificates) reload() {
	pair, err := c.cfg.LoadCertificate()
	if err != nil {
		if text := err.Error(); text != c.failure {
			c.failure, c.logged = text, false
		} else if !c.logged {
			c.logged = true
			c.log.Error("TLS certificate not reloaded; the previous one stays in use", "error", err)
		}
		return
	}
	c.failure = ""
	if !slices.EqualFunc(pair.Certificate, c.current.Load().Certificate, bytes.Equal) { // compares the whole chain
		c.use(pair)
	}
}
