package tracing_test

import (
	"context"
	"net/http"
	"testing"

	"weir"
	"weir/internal/tracing"
)

// hooks are the places where Weir calls a Tracer, as often as it does for a contact.
func hooks(t *tracing.Tracer) map[string]func() {
	ctx, header := context.Background(), http.Header{}
	specs, accepted, channel := []weir.Spec{{}}, []weir.Accepted{{}}, &weir.Channel{}
	report, contact, results := &weir.Report{}, &weir.Contact{}, []string{"applied"}
	return map[string]func(){
		"accept": func() {
			r := t.Request(header)
			r.Join(specs)
			r.Accepted(channel, accepted)
			r.End(http.StatusAccepted, nil)
		},
		"call": func() { t.Called(nil) },
		"done": func() { t.Done(contact, "a", "nuntium") },
		"callback": func() {
			at := t.Callback(ctx)
			t.Reported(at, report, weir.Applied, "", true)
			t.CallbackDone(at, http.MethodPost, channel, results, nil)
		},
		"delivery": func() {
			_, d := t.Delivery(ctx, "hook", "weir.contact.done", "contact/1-1", "https://x.example/")
			d.End(200, nil)
		},
	}
}

// Traces that are off allocate nothing.
func TestTracing_OffCostsNothing(t *testing.T) {
	for name, hook := range hooks(nil) {
		if n := testing.AllocsPerRun(1000, hook); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// BenchmarkOff measures what the hooks of one contact cost while traces are off.
func BenchmarkOff(b *testing.B) {
	for name, hook := range hooks(nil) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hook()
			}
		})
	}
}
