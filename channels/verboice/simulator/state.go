package simulator

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/channels/simulation"
)

// Operations that fault rules may name after @. Callbacks are named by their
// CallStatus.
const (
	opSend     = "send"
	opState    = "state"
	opCancel   = "cancel"
	opChannels = "channels"
)

// Server is a simulated Verboice. It is an http.Handler; callbacks are sent
// only while Run runs.
type Server struct {
	*simulation.Engine
	options  Options
	life     context.Context // of the server: its end releases requests that hang
	end      context.CancelFunc
	flowJobs sync.WaitGroup

	lines   []*line // by number
	calls   map[int64]*call
	lastID  int64
	revoked map[string]bool // tokens
}

// authenticate returns the account of a request.
func (s *Server) authenticate(r *http.Request) (account string, ok bool) {
	if len(s.options.Accounts) == 0 {
		return "", true
	}
	if token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); isBearer {
		s.Lock()
		stale := s.revoked[token]
		s.Unlock()
		i := slices.IndexFunc(s.options.Accounts, func(a Account) bool { return slices.Contains(a.Tokens, token) })
		if stale || i < 0 {
			return "", false
		}
		return s.options.Accounts[i].Username, true
	}
	username, password, _ := r.BasicAuth()
	i := slices.IndexFunc(s.options.Accounts, func(a Account) bool { return a.Username == username && a.Password == password })
	return username, i >= 0 && password != ""
}

// answer sends the response, unless a fault replaces it.
func answer(w http.ResponseWriter, r *http.Request, f simulation.Fault, status int, document any) {
	if f.After(w, r) {
		return
	}
	if document == nil {
		w.WriteHeader(status)
		return
	}
	simulation.WriteJSON(w, status, document)
}

type callDocument struct {
	CallID int64  `json:"call_id"`
	State  string `json:"state"`
}

// line is a channel with its calls. The server's lock guards it.
type line struct {
	Channel
	queue []*call // may hold calls that are no longer queued
	busy  int     // places in use: calls being dialed or held, and pauses
}

func newLine(c Channel) *line {
	if c.Limit == 0 {
		c.Limit = 1
	}
	return &line{Channel: c}
}

// call is one call. The server's lock guards the mutable fields.
type call struct {
	id        int64
	account   string
	line      *line
	key       string
	address   string
	statusURL string
	echo      url.Values
	notBefore time.Time
	notAfter  time.Time
	flow      flow

	state    string
	waiting  bool // in the queue, or about to enter it
	dialed   int  // number of times
	answered time.Time
	over     bool // counted as ended in the tally
}
