package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"weir/cmd/weirlab/bench/judge"
	"weir/cmd/weirlab/bench/load"
	"weir/cmd/weirlab/bench/provider"
)

// channelName returns the name of the i-th channel, and of its application at the
// provider.
func channelName(i int) string { return strconv.Itoa(i) }

// address returns the address of a contact.
func address(id int) string { return "+2547" + strconv.Itoa(10_000_000+id) }

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

func (s *baselineSubject) Enqueue(_ context.Context, channel int, ids []int, began time.Time) error {
	out := make([]baselineContact, len(ids))
	for i, id := range ids {
		out[i] = baselineContact{address(id), judge.Text(id, channel, began)}
	}
	s.f.accept(channel, out)
	return nil
}

func (s *baselineSubject) open(context.Context) (queued, inFlight int, err error) {
	queued, inFlight = s.f.openContacts()
	return queued, inFlight, nil
}

func (s *baselineSubject) used(context.Context) (cost, error) { return self{}.used() }

// baseline is a broker without a store, with a queue and a number of free
// slots for each channel, in memory. It speaks the same wire format, and does not
// handle crashes, surveys, windows or retries.
type baseline struct {
	url      string // of the provider
	client   *http.Client
	channels []*baselineChannel
}

type baselineChannel struct {
	f        *baseline
	name     string
	mu       sync.Mutex
	capacity int
	paused   bool
	busy     int
	queue    []baselineContact
	next     int
	serial   int
	open     map[string]struct{}
}

type baselineContact struct{ to, text string }

func newBaseline(providerURL string, channels, capacity int) *baseline {
	f := &baseline{url: providerURL, client: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{
		MaxIdleConnsPerHost: channels * capacity, DisableCompression: true,
	}}}
	for i := range channels {
		f.channels = append(f.channels, &baselineChannel{f: f, name: channelName(i), capacity: capacity, open: map[string]struct{}{}})
	}
	return f
}

// accept queues contacts.
func (f *baseline) accept(channel int, list []baselineContact) {
	c := f.channels[channel]
	c.mu.Lock()
	c.queue = append(c.queue, list...)
	c.mu.Unlock()
	c.fill()
}

func (f *baseline) pause(paused bool) {
	for _, c := range f.channels {
		c.mu.Lock()
		c.paused = paused
		c.mu.Unlock()
		c.fill()
	}
}

func (f *baseline) openContacts() (queued, busy int) {
	for _, c := range f.channels {
		c.mu.Lock()
		queued, busy = queued+len(c.queue)-c.next, busy+c.busy
		c.mu.Unlock()
	}
	return queued, busy
}

// fill dispatches as many contacts as there are free slots.
func (c *baselineChannel) fill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.paused && c.busy < c.capacity && c.next < len(c.queue) {
		contact := c.queue[c.next]
		c.queue[c.next] = baselineContact{}
		c.next++
		c.busy++
		c.serial++
		guid := c.name + "-" + strconv.Itoa(c.serial) + ".0"
		c.open[guid] = struct{}{}
		go c.send(guid, contact)
	}
}

// send makes the request that a driver would make.
func (c *baselineChannel) send(guid string, contact baselineContact) {
	body, err := json.Marshal([]map[string]string{{
		"to": "sms://" + contact.to, "body": contact.text, "guid": guid, "token": guid, "channel": c.name, "weir_guid": guid,
	}})
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.f.url+"/"+provider.Account+"/"+c.name+"/send_ao.json", bytes.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(provider.Account+"/"+c.name, "secret")
	answer, err := c.f.client.Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
}

// done frees the slot of a contact, once.
func (c *baselineChannel) done(guid string) {
	c.mu.Lock()
	_, open := c.open[guid]
	delete(c.open, guid)
	if open {
		c.busy--
	}
	c.mu.Unlock()
	c.fill()
}

// ServeHTTP receives acks at /callbacks/{channel}/….
func (f *baseline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PathValue("channel"))
	if err != nil || i < 0 || i >= len(f.channels) || r.ParseForm() != nil {
		http.NotFound(w, r)
		return
	}
	f.channels[i].done(r.PostForm.Get("guid"))
}
