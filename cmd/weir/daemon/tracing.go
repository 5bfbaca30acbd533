package daemon

import (
	"context"
	"strings"

	"weir/internal/tracing"
	"weir/persistence"
)

// startTracing starts the export of traces; nil if it is off.
func startTracing(ctx context.Context, o Options, store *persistence.Store) (*tracing.Tracer, error) {
	c := o.Config
	endpoint := c.OTLPTracesEndpoint
	if endpoint == "" && c.OTLPEndpoint != "" {
		endpoint = strings.TrimSuffix(c.OTLPEndpoint, "/") + "/v1/traces"
	}
	if endpoint == "" || c.OTelDisabled {
		return nil, nil //nolint:nilnil // a nil Tracer is one that is off
	}
	secret, err := store.TokenKey(ctx)
	if err != nil {
		return nil, err
	}
	return tracing.Start(ctx, tracing.Options{
		Endpoint: endpoint, Headers: c.OTLPHeaders, Timeout: c.OTLPTimeout.Duration(), Service: c.OTelService, Version: o.Version,
		Sampler: c.OTelSampler, Ratio: c.OTelSamplerArg, Secret: secret, Contact: store.Contact, Logger: o.Logger,
	})
}
