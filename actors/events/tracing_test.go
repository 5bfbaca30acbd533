package events_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"weir"
	"weir/events"
	"weir/internal/tracing"
	"weir/internal/tracing/tracingtest"
)

// Each delivery of an event about a contact is a span that is linked to the contact, also
// if it fails, and requests made for it carry its trace context.
func TestTracing_DeliveriesAreLinkedToTheContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		c := tracingtest.New(t)
		stored := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		var err error
		g.o.Tracing, err = tracing.Start(t.Context(), tracing.Options{
			Endpoint: "http://collector.test/v1/traces", Transport: c, Secret: []byte("s"), Service: "weir", Timeout: time.Second,
			Contact: func(_ context.Context, ref weir.Ref) (weir.Contact, []weir.Attempt, error) {
				return weir.Contact{Ref: ref, Spec: weir.Spec{Trace: stored}}, nil, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		var sent []string
		g.o.Receivers[0].Wants = func(events.Event) bool { return true }
		g.o.Receivers[0].Deliver = func(ctx context.Context, e events.Event) error {
			header := http.Header{"X": {"y"}}
			sent = append(sent, tracing.Inject(ctx, header).Get("Traceparent"))
			if header.Get("Traceparent") != "" {
				t.Error("the receiver's own header was changed")
			}
			if len(sent) == 1 {
				return errNo
			}
			return nil
		}
		g.start()
		g.emit(0, 1, "contact/1-1")
		after(time.Minute)
		g.emit(1, 2, "other")
		after(time.Minute)
		g.stop()
		_ = g.o.Tracing.Close(t.Context())

		spans := c.Spans("deliver event")
		if len(spans) != 3 || !spans[0].Failed || spans[1].Failed || len(spans[2].Links) != 0 {
			t.Fatalf("%+v", spans)
		}
		for i, s := range spans[:2] {
			if len(s.Links) != 1 || s.Links[0][:32] != stored[3:35] || s.Parent != "" || s.Attributes["weir.contact.id"] != "1-1" || s.Attributes["weir.receiver"] != "r" {
				t.Errorf("%+v", s)
			}
			if want := "00-" + s.Trace + "-" + s.ID + "-01"; !slices.Contains(sent, want) {
				t.Errorf("delivery %d was not sent as %s: %v", i, want, sent)
			}
		}
	})
}
