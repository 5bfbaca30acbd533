package simulation

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"sync"
	"time"
)

// ErrDropped is the result of a callback that a fault suppressed.
var ErrDropped = errors.New("dropped by a fault")

const (
	defaultWorkers  = 64
	callbackTimeout = 10 * time.Second
	swapWait        = time.Second // how long a swapped callback waits for the next one
)

// Callback is one outgoing request of a provider.
type Callback struct {
	// Subject is the call or message that it is about. Callbacks of one subject
	// are sent in order, one after the other, unless a fault changes that.
	Subject string
	// Kind is the operation name for fault rules (after @); empty: OpCallback.
	Kind string
	// Request creates the request; it is called each time the callback is sent.
	Request func(ctx context.Context) (*http.Request, error)
	// Done, if not nil, receives the result: the status of the answer, or an error.
	// It runs on a worker and should be quick. A duplicated callback reports twice.
	Done func(status int, err error)
	// Answer, if not nil, receives the answer, if there is one, before Done is
	// called. The body is cut at 1 MiB.
	Answer func(header http.Header, body []byte)
}

// Sender sends callbacks with bounded concurrency. It is safe for concurrent use.
// The number of waiting callbacks is not bounded: the simulation determines it.
type Sender struct {
	client  *http.Client
	faults  *Faults
	agenda  *Agenda
	workers []*worker
}

type worker struct {
	mu    sync.Mutex
	queue []sending
	held  map[string]Callback // by subject, waiting for the next one
	wake  chan struct{}
}

type sending struct {
	Callback
	decided bool // faults were already considered
	held    bool // release the held callback of this subject
}

// NewSender returns a sender of at most so many callbacks at one time; 0: 64. Without a
// client it has its own, which follows no redirects. Nothing is sent before Run.
func NewSender(client *http.Client, workers int, faults *Faults) *Sender {
	if client == nil {
		client = &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if workers <= 0 {
		workers = defaultWorkers
	}
	s := &Sender{client: client, faults: faults, agenda: NewAgenda(), workers: make([]*worker, workers)}
	for i := range s.workers {
		s.workers[i] = &worker{held: map[string]Callback{}, wake: make(chan struct{}, 1)}
	}
	return s
}

// Send queues a callback. It never blocks.
func (s *Sender) Send(c Callback) { s.put(sending{Callback: c}) }

// Run sends until the context ends. Requests under way are then cut; waiting
// callbacks are never sent.
func (s *Sender) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.agenda.Run(ctx) })
	for _, w := range s.workers {
		all.Go(func() { s.work(ctx, w) })
	}
	all.Wait()
	s.client.CloseIdleConnections()
}

func (s *Sender) put(c sending) {
	h := fnv.New32a()
	_, _ = io.WriteString(h, c.Subject)
	// One worker for each subject keeps its callbacks in order.
	w := s.workers[h.Sum32()%uint32(len(s.workers))]
	w.mu.Lock()
	w.queue = append(w.queue, c)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (s *Sender) work(ctx context.Context, w *worker) {
	for ctx.Err() == nil {
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, c := range queue {
			s.handle(ctx, w, c)
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		}
	}
}

func (s *Sender) handle(ctx context.Context, w *worker, c sending) {
	if c.held {
		s.release(ctx, w, c.Subject)
		return
	}
	var fault Fault
	if !c.decided {
		fault = s.faults.Callback(c.Kind, c.Subject)
	}
	switch fault.What {
	case FaultDrop:
		c.done(0, ErrDropped)
		return
	case FaultDelay:
		c.decided = true
		s.agenda.After(fault.Delay, func() { s.put(c) })
		return
	case FaultSwap:
		if _, waiting := w.held[c.Subject]; !waiting {
			w.held[c.Subject] = c.Callback
			s.agenda.After(swapWait, func() { s.put(sending{Callback: Callback{Subject: c.Subject}, held: true}) })
			return
		}
	case FaultDuplicate:
		s.send(ctx, c.Callback)
	}
	s.send(ctx, c.Callback)
	s.release(ctx, w, c.Subject)
}

// release sends the held callback of a subject, if there still is one.
func (s *Sender) release(ctx context.Context, w *worker, subject string) {
	if held, ok := w.held[subject]; ok {
		delete(w.held, subject)
		s.send(ctx, held)
	}
}

func (s *Sender) send(ctx context.Context, c Callback) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callbackTimeout)
	defer cancel()
	request, err := c.Request(ctx)
	if err != nil {
		c.done(0, err)
		return
	}
	response, err := s.client.Do(request)
	if err != nil {
		c.done(0, err)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	_ = response.Body.Close()
	if c.Answer != nil {
		c.Answer(response.Header, body)
	}
	c.done(response.StatusCode, nil)
}

func (c Callback) done(status int, err error) {
	if c.Done != nil {
		c.Done(status, err)
	}
}
