package bench

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
)

// channelName returns the name of the i-th channel, and of its application at the
// provider.
func channelName(i int) string { return strconv.Itoa(i) }

// address returns the address of a contact.
func address(id int) string { return "+1555" + strconv.Itoa(1_000_000+id) }

// baselineSubject is the baseline under test; it runs in the process of the load.
type baselineSubject struct{ f *baseline }

// newBaselineSubject starts a baseline and registers its callbacks with the provider.
func newBaselineSubject(ctx context.Context, p provider.Client, w load.Workload) (*baselineSubject, func(), error) {
	f := newBaseline(p.URL, w.Channels, w.Capacity)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /callbacks/{channel}/ack", f)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	for i := range w.Channels {
		if err := p.Announce(ctx, channelName(i), "http://"+l.Addr().String()+"/callbacks/"+channelName(i)+"/ack"); err != nil {
			return nil, nil, errors.Join(err, server.Close())
		}
	}
	return &baselineSubject{f}, func() { _ = server.Close() }, nil
}

func (s *baselineSubject) pause(_ context.Context, paused bool) error {
	s.f.pause(paused)
	return nil
}

func (s *baselineSubject) Enqueue(_ context.Context, channel int, list []load.Contact, began time.Time) error {
	out := make([]baselineContact, len(list))
	for i, c := range list {
		out[i] = baselineContact{address(c.ID), judge.Text(c.ID, channel, began)}
	}
	s.f.accept(channel, out)
	return nil
}

func (s *baselineSubject) open(context.Context) (queued, inFlight int, err error) {
	queued, inFlight = s.f.openContacts()
	return queued, inFlight, nil
}

func (s *baselineSubject) used(context.Context) (cost, error) { return self{}.used() }
