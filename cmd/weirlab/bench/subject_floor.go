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

// floorSubject is the baseline under test; it runs in the process of the load.
type floorSubject struct{ f *floor }

// newFloorSubject starts a baseline and registers its callbacks with the provider.
func newFloorSubject(ctx context.Context, p provider.Client, w load.Workload) (*floorSubject, func(), error) {
	f := newFloor(p.URL, w.Channels, w.Capacity)
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
	return &floorSubject{f}, func() { _ = server.Close() }, nil
}

func (s *floorSubject) pause(_ context.Context, paused bool) error {
	s.f.pause(paused)
	return nil
}

func (s *floorSubject) Enqueue(_ context.Context, channel int, list []load.Contact, began time.Time) error {
	out := make([]floorContact, len(list))
	for i, c := range list {
		out[i] = floorContact{address(c.ID), judge.Text(c.ID, channel, began)}
	}
	s.f.accept(channel, out)
	return nil
}

func (s *floorSubject) open(context.Context) (queued, inFlight int, err error) {
	queued, inFlight = s.f.openContacts()
	return queued, inFlight, nil
}

func (s *floorSubject) used(context.Context) (cost, error) { return self{}.used() }
