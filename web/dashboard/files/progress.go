package files

import (
	"errors"
	"io"
	"net/url"
	"sync"

	"weir/web/dashboard/page"
	"weir/web/imports"
)

// A browser shows nothing of a form while it sends it. The page of the progress is another one, so that it needs no
// script: it finds the file by a random text in its form, and only for whoever sends it.

// errStopped ends the reading of a file that its sender has stopped, as a broken connection would.
var errStopped = errors.New("stopped on the page of the progress")

// sendings are the files whose rows are being sent.
type sendings struct {
	mu    sync.Mutex
	byKey map[string]*sending
}

// sending is a file whose rows are being sent.
type sending struct {
	mu      sync.Mutex
	so      imports.Progress
	stopped bool
}

// sendingKey returns the key of a file by who sends it; empty: its form names none.
func sendingKey(v *page.Visit, once string) string {
	if once == "" {
		return ""
	}
	return v.Who.Token + " " + once
}

// begin notes that a file is being sent, until end is called. A second one with the same key is not noted.
func (s *sendings) begin(key string) (of *sending, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "" || s.byKey[key] != nil {
		return nil, func() {}
	}
	if s.byKey == nil {
		s.byKey = map[string]*sending{}
	}
	of = &sending{}
	s.byKey[key] = of
	return of, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.byKey, key)
	}
}

// find returns a file; nil: it is not being sent.
func (s *sendings) find(key string) *sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[key]
}

// note notes the progress, and ends a file that was read whole before its first row and is stopped.
func (s *sending) note(so imports.Progress) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.so = so; s.stopped {
		return errStopped
	}
	return nil
}

func (s *sending) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

func (s *sending) state() (so imports.Progress, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.so, s.stopped
}

// isStopped reports whether a file is stopped; nil is none.
func (s *sending) isStopped() bool {
	if s == nil {
		return false
	}
	_, stopped := s.state()
	return stopped
}

// reader returns a reader of the file that ends when it is stopped.
func (s *sending) reader(file io.Reader) io.Reader { return stoppable{file, s} }

type stoppable struct {
	io.Reader
	of *sending
}

// Read implements io.Reader.
func (r stoppable) Read(p []byte) (int, error) {
	if r.of.isStopped() {
		return 0, errStopped
	}
	return r.Reader.Read(p)
}

// progressPage is the page of the progress of a file.
type progressPage struct {
	*Form
	Running, Stopping bool
	So                imports.Progress
}

// progress returns what loads the page of the progress.
func (s *Sender) progress(start NewUse) func(*page.Visit) (*page.Content, error) {
	return func(v *page.Visit) (*page.Content, error) { return s.progressOf(v, v.Request.URL.Query(), start) }
}

func (s *Sender) progressOf(v *page.Visit, form url.Values, start NewUse) (*page.Content, error) {
	f, err := newFileForm(v, form, start)
	if err != nil {
		return nil, err
	}
	f.Once = form.Get("once")
	p := &progressPage{Form: f}
	if of := s.sendings.find(sendingKey(v, f.Once)); of != nil {
		p.Running = true
		p.So, p.Stopping = of.state()
	}
	crumbs := f.About.Crumbs
	crumbs[len(crumbs)-1].Link = f.About.Path
	return &page.Content{Title: f.About.Title, Crumbs: append(crumbs, page.Crumb{Text: v.T("Progress")}), Data: p}, nil
}

// stop returns what stops a file.
func (s *Sender) stop(start NewUse) func(*page.Visit) (*page.Content, error) {
	return func(v *page.Visit) (*page.Content, error) {
		if of := s.sendings.find(sendingKey(v, v.Request.PostForm.Get("once"))); of != nil {
			of.stop()
		}
		return s.progressOf(v, v.Request.PostForm, start)
	}
}
