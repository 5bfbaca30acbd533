package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/config"
)

// The variables of OpenTelemetry; other exporters are not supported.
func TestConfig_TraceVariablesAreThoseOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	c := load(t, "OTEL_EXPORTER_OTLP_ENDPOINT=https://collector.example/otlp", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20CANARY, x-tenant=a=b", "OTEL_EXPORTER_OTLP_TIMEOUT=2500",
		"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25")
	if diff := cmp.Diff(config.Headers{"authorization": "Bearer CANARY", "x-tenant": "a=b"}, c.OTLPHeaders); diff != "" {
		t.Error(diff)
	}
	if c.OTLPTimeout.Duration() != 2500*time.Millisecond || c.OTelSamplerArg != 0.25 || c.OTelService != "weir" {
		t.Errorf("%+v", c)
	}
	var page strings.Builder
	if err := c.Print(&page); err != nil || strings.Contains(page.String(), "CANARY") || !strings.Contains(page.String(), "authorization=REDACTED") {
		t.Errorf("%v\n%s", err, page.String())
	}
	for _, wrong := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT=http://user:CANARY@collector", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://collector",
		"OTEL_EXPORTER_OTLP_HEADERS=CANARY", "OTEL_EXPORTER_OTLP_HEADERS=a b=CANARY", "OTEL_EXPORTER_OTLP_HEADERS=a=%0aCANARY", "OTEL_EXPORTER_OTLP_HEADERS=a=CANARY%2",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_TRACES_SAMPLER=xray", "OTEL_TRACES_SAMPLER_ARG=1.5", "OTEL_SDK_DISABLED=maybe",
	} {
		name, _, _ := strings.Cut(wrong, "=")
		if got := mistakes(t, wrong); !slices.Equal(got, []string{name}) {
			t.Errorf("%s: %v", wrong, got)
		}
		if _, _, err := config.Load([]string{wrong}); err != nil && name == "OTEL_EXPORTER_OTLP_HEADERS" && strings.Contains(err.Error(), "CANARY") {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}
