package dashboard

import (
	"bytes"
	"context"
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"weir"
)

const (
	// updateEvery is how often a stream looks whether something changed.
	updateEvery = 2 * time.Second
	// updateRest is how many times as long as its last update took a stream waits
	// for the next: a page that is expensive to make may stay open for days.
	updateRest = 10
	// lookEvery is how often it looks whether this process ends.
	lookEvery = 500 * time.Millisecond
	beatEvery = 15 * time.Second
	// sendWithin is how long a browser may take to take an update.
	sendWithin = 10 * time.Second
	// renderWithin bounds the work for an update, whoever waits for it.
	renderWithin = 10 * time.Second
)

// fragment is a live region as it is now.
type fragment struct {
	id    string
	event []byte // as streams write it, made once for all of them
	hash  uint64
}

// fragmentOf makes the event that puts a region into a page.
func fragmentOf(id string, html []byte, seed maphash.Seed) fragment {
	html = bytes.ReplaceAll(html, []byte("\r"), nil)
	event := make([]byte, 0, len(html)+len(html)/4+100)
	event = append(append(append(event, "event: part\ndata: "...), id...), '\n')
	for line := range bytes.Lines(html) {
		event = append(append(append(event, "data: "...), bytes.TrimRight(line, "\n")...), '\n')
	}
	return fragment{id: id, event: append(event, '\n'), hash: maphash.Bytes(seed, html)}
}

// stream serves the updates of a page: each live region when it is another
// than it was. A browser that is slow gets fewer; one that takes nothing is cut
// off.
func (d *Dashboard) stream(p *page) handler {
	return func(v *visit, w http.ResponseWriter) error {
		if d.Draining() {
			return &problem{Status: http.StatusServiceUnavailable, Code: weir.CodeDraining, Detail: "this process is ending", wait: "2"}
		}
		leave, ok := d.streams.Take(v.r.Context(), v.who.Token, 0)
		if !ok {
			return &problem{Status: http.StatusServiceUnavailable, Code: weir.CodeLimited, Detail: "too many pages are open", wait: "10"}
		}
		defer leave()
		page := *v.r.URL // as if it were the page itself that is asked for
		page.Path, page.RawPath = strings.TrimPrefix(page.Path, "/live"), strings.TrimPrefix(page.RawPath, "/live")
		v.r = v.r.Clone(v.r.Context())
		v.r.URL = &page
		s := &stream{Dashboard: d, page: p, visit: v, conn: http.NewResponseController(w), out: w, sent: map[string]uint64{}}
		_ = s.conn.SetReadDeadline(time.Time{}) // in tests there is none
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // proxies would keep it back
		w.WriteHeader(http.StatusOK)
		if v.r.Method != http.MethodHead { // nothing would come there, or fail
			s.follow()
		}
		return nil
	}
}

// stream is one browser that watches a page.
type stream struct {
	*Dashboard
	page  *page
	visit *visit
	conn  *http.ResponseController
	out   http.ResponseWriter
	sent  map[string]uint64 // hash of what the browser has, by region
	beat  time.Time
	due   time.Time // of the next update
}

// follow sends updates until the browser leaves, the session ends or this
// process does.
func (s *stream) follow() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	// The page was made a moment ago, maybe after something was changed. What
	// others were sent before that would take it back.
	if !s.update(s.Now()) {
		return
	}
	updated := time.Now()
	for {
		select {
		case <-s.visit.r.Context().Done():
			return
		case now := <-look.C:
			if s.Draining() {
				return
			}
			if now.Sub(updated) < updateEvery {
				continue
			}
			if !s.update(time.Time{}) {
				return
			}
			updated = time.Now()
		}
	}
}

// update sends what changed, or now and then that nothing did: as it was at an
// instant, or later.
func (s *stream) update(since time.Time) bool {
	err := s.visit.introduce()
	if err == nil && !s.visit.may(s.page.scopes) {
		err = &problem{Status: http.StatusForbidden, Detail: "the token may not see this any more"}
	}
	var list []fragment
	if began := time.Now(); err == nil && !began.Before(s.due) {
		list, err = s.fragments(s.page, s.visit, since)
		s.due = time.Now().Add(updateRest * time.Since(began))
	}
	if status, _ := statusOf(err); err != nil {
		if status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
			s.send("event: end\ndata: end\n\n") // the page is asked for again, and says why it is not shown
			return false
		}
		return s.send("event: trouble\ndata: " + titleOf(status) + "\n\n")
	}
	sent := false
	for i := range list {
		f := &list[i]
		if s.sent[f.id] == f.hash {
			continue
		}
		s.sent[f.id] = f.hash
		if !s.write(f.event) {
			return false
		}
		sent = true
	}
	if !sent && time.Since(s.beat) < beatEvery {
		return true
	}
	return s.send(":\n\n")
}

func (s *stream) send(text string) bool {
	return s.write([]byte(text)) && s.conn.Flush() == nil
}

func (s *stream) write(text []byte) bool {
	s.beat = time.Now()
	_ = s.conn.SetWriteDeadline(s.beat.Add(sendWithin)) // in tests there is none
	_, err := s.out.Write(text)
	return err == nil
}

// fragments renders the live regions of a page for all who see the same, not
// earlier than at an instant.
func (d *Dashboard) fragments(p *page, v *visit, since time.Time) ([]fragment, error) {
	key := strings.Join([]string{p.name, v.r.URL.EscapedPath(), v.r.URL.RawQuery, v.rights()}, "\n")
	return d.shared.since(key, since, func() ([]fragment, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), renderWithin)
		defer cancel()
		own := *v
		own.r = v.r.WithContext(ctx)
		c, err := p.load(&own)
		if err != nil {
			return nil, err
		}
		x := &view{visit: &own, Title: c.title, Crumbs: c.crumbs, Data: c.data}
		var list []fragment
		for _, name := range p.live {
			var b bytes.Buffer
			if err := d.sets.pages[p.name].ExecuteTemplate(&b, name, x); err != nil {
				return nil, err
			}
			list = append(list, fragmentOf(name, b.Bytes(), d.files.seed))
		}
		return list, nil
	})
}
