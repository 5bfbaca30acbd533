package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"weir/channels/simulation"
)

// Server is a simulated Nuntium. It is safe for concurrent use; messages change
// state and callbacks are sent only while Run runs.
type Server struct {
	*simulation.Engine
	options  Options
	api      *http.ServeMux
	paths    *http.ServeMux // paths that begin with an account
	apps     map[string]*application
	channels map[string]*Channel
	serial   int
	records  Records
}

// application is an Application and the messages that it has sent and received.
type application struct {
	Application
	messages []*message
	byGUID   map[string]*message
	byToken  map[string][]*message
	texts    map[uint64]bool // hashes of the addresses and texts seen
	incoming map[string]bool
}

func newApplication(a Application) *application {
	return &application{
		Application: a, byGUID: map[string]*message{}, byToken: map[string][]*message{},
		texts: map[uint64]bool{}, incoming: map[string]bool{},
	}
}

// purge forgets a message.
func (a *application) purge(m *message) {
	is := func(other *message) bool { return other == m }
	a.messages = slices.DeleteFunc(a.messages, is)
	delete(a.byGUID, m.guid)
	if a.byToken[m.token] = slices.DeleteFunc(a.byToken[m.token], is); len(a.byToken[m.token]) == 0 {
		delete(a.byToken, m.token)
	}
}

func newChannel(c Channel, account string) *Channel {
	c.Account = account
	c.Kind, c.Protocol, c.Direction = cmp.Or(c.Kind, "qst_server"), cmp.Or(c.Protocol, "sms"), cmp.Or(c.Direction, "bidirectional")
	return &c
}

// inPath authenticates a request whose path names the account and the
// application: the credentials must be those of that application. Otherwise it
// answers the request itself.
func (s *Server) inPath(w http.ResponseWriter, r *http.Request) (*application, bool) {
	app, _, ok := s.basic(r)
	if !ok || app == nil || r.PathValue("account") != s.options.Account || r.PathValue("application") != app.Name {
		challenge(w)
		return nil, false
	}
	return app, true
}

// inAPI authenticates a request to /api: by bearer token, as an application or
// as the account. The application is nil at account level.
func (s *Server) inAPI(w http.ResponseWriter, r *http.Request) (*application, bool) {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if isBearer {
		if app := s.bearer(token); app != nil {
			switch {
			case r.URL.Query().Get("account") != s.options.Account:
				w.WriteHeader(http.StatusUnauthorized)
				return nil, false
			case r.URL.Query().Get("application") == "-":
				return nil, true
			}
			return app, true
		}
	}
	app, account, ok := s.basic(r)
	if !ok || !account && app == nil {
		challenge(w)
		return nil, false
	}
	return app, true
}

// bearer returns the application of a token.
// A token that no application has is no answer of its own: the request falls through to the Basic
// credentials and gets their challenge.
func (s *Server) bearer(token string) *application {
	s.Lock()
	defer s.Unlock()
	for _, a := range s.apps {
		if slices.Contains(a.Tokens, token) {
			return a
		}
	}
	return nil
}

// basic checks Basic credentials: account/application, application@account or,
// for the account itself, account.
func (s *Server) basic(r *http.Request) (app *application, account, ok bool) {
	user, password, given := r.BasicAuth()
	if !given {
		return nil, false, false
	}
	accountName, appName, named := strings.Cut(user, "/")
	if !named {
		appName, accountName, named = strings.Cut(user, "@")
	}
	if !named {
		ok = user == s.options.Account && s.options.Password != "" && password == s.options.Password
		return nil, true, ok
	}
	s.Lock()
	defer s.Unlock()
	app = s.apps[appName]
	ok = accountName == s.options.Account && app != nil && app.Password != "" && app.Password == password
	return app, false, ok
}

func challenge(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Application"`)
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintln(w, "HTTP Basic: Access denied.")
}

// message is one AO message: application-originated.
type message struct {
	id       int
	app      *application
	guid     string
	token    string
	from, to string
	subject  string
	body     string
	custom   map[string]any // attributes that Nuntium does not know, and explicit_channel
	channel  *Channel       // nil until routed
	state    string         // empty: null
	counted  bool           // it holds a slot in the tally
}

// document returns a message as queries show it: without blank attributes and
// the token, with custom attributes at the top level.
func (m *message) document() map[string]any {
	d := maps.Clone(m.custom)
	for key, v := range map[string]string{
		"from": m.from, "to": m.to, "subject": m.subject, "body": m.body, "guid": m.guid,
	} {
		if v != "" {
			d[key] = v
		}
	}
	d["channel"], d["channel_kind"], d["state"] = nil, nil, nil
	if m.channel != nil {
		d["channel"], d["channel_kind"] = m.channel.Name, m.channel.Kind
	}
	if m.state != "" {
		d["state"] = m.state
	}
	return d
}

// Records counts what Nuntium knows in addition to the tally.
type Records struct {
	Stored   int `json:"stored"`   // messages
	Repeated int `json:"repeated"` // messages dropped because their guid was known
	// Alike counts stored messages with the address and text of an earlier one:
	// the client sent something twice under two guids.
	Alike            int              `json:"alike"`
	Vanished         int              `json:"vanished"` // messages lost because their explicit channel could not take them
	Acks             CallCount        `json:"acks"`
	IncomingCalls    CallCount        `json:"incoming_calls"`
	IncomingRepeated int              `json:"incoming_repeated"`
	Incoming         []IncomingRecord `json:"incoming"` // accepted by the application, in that order
}

// CallCount counts callbacks.
type CallCount struct {
	Sent     int `json:"sent"`     // includes repetitions
	Taken    int `json:"taken"`    // answered 2xx or 3xx
	Rejected int `json:"rejected"` // answered 400 and given up
	Retried  int `json:"retried"`  // answered otherwise or not at all
	Dropped  int `json:"dropped"`  // by a fault
}

// IncomingRecord records the handling of an incoming message.
type IncomingRecord struct {
	GUID        string `json:"guid"`
	ContentType string `json:"content_type,omitempty"`
	Replies     int    `json:"replies"` // messages in the response
	// Texted is the text that was sent to the person because the response was
	// neither empty nor JSON: a trap for applications that answer "OK".
	Texted string `json:"texted,omitempty"`
}

// answer is the response to an incoming message.
type answer struct {
	contentType string
	body        []byte
}
