// Package callbacks serves the callbacks of providers. A 2xx is written only after
// the commit; a URL holds a secret, so it is never logged.
package callbacks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"weir"
	"weir/channels"
	"weir/channels/provider"
	"weir/internal/digest"
	"weir/internal/tracing"
	"weir/people"
	"weir/surveys"
	"weir/web/httpjson"
)

// Handler serves callbacks.
type Handler struct {
	Index     *Index
	Store     Store
	Broker    Broker
	Directory *channels.Directory
	// People keeps what people say about being contacted, by Words; nil: nothing is kept.
	People people.Store
	Words  *people.Words
	// Surveys is the survey broker; nil: there is none.
	Surveys Surveys
	Logger  *slog.Logger
	Metrics *Metrics
	Tracing *tracing.Tracer // nil: traces are off
	Now     func() time.Time

	accounts *accounts
}

// Store is the part of the store that callbacks use.
type Store interface {
	channelReader
	// Receive stores a message, or drops it if the channel has one of the same GUID, sender and text.
	Receive(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (duplicate bool, err error)
	// ReceivedAt returns when a message of the same GUID, sender and text was received first, and
	// whether it was erased since.
	ReceivedAt(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (at time.Time, erased bool, err error)
}

// Broker is the running broker as callbacks use it.
type Broker interface {
	// Report applies a provider's reports. They are durable when it returns.
	Report(ctx context.Context, channel weir.ChannelID, reports []weir.Report) ([]weir.Verdict, error)
	// CallOff asks the providers to cancel what is in flight to people who refused.
	CallOff(ctx context.Context, w *people.Withdrawal) int
	// OptedOut reports a person who opted out on a channel. It may be repeated.
	OptedOut(channel weir.ChannelID, address string)
	// Announce reports contacts that the store has accepted.
	Announce(channel weir.ChannelID, fresh []weir.Contact)
}

// Surveys is the survey broker as callbacks use it.
type Surveys interface {
	// Incoming processes the urgent part of a stored message: when it returns,
	// a person who opted out is not contacted any more. It may be repeated.
	Incoming(ctx context.Context, channel weir.ChannelID, m weir.Incoming) (surveys.Heard, error)
}

const (
	Path        = "/callbacks/"
	Pattern     = Path + "{channel}/{secret}/{path...}"
	PatternBare = Path + "{channel}/{secret}"
	// timeLimit is the time limit for processing one callback.
	timeLimit = 20 * time.Second
)

// NewHandler returns a handler with these fields.
func NewHandler(s Handler) *Handler {
	s.accounts = newAccounts(s.Store, s.Directory, s.Now)
	return &s
}

// ServeHTTP handles one request of a provider. The response decides what the
// provider does next: Nuntium drops an ack for good on 400, repeats it on any
// status except 2xx, 3xx and 400, and sends a response body as a text to the
// person. So Weir returns 400 only for a request that can never be understood
// and 503 for every failure of its own, and writes no body except the driver's.
func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead { // the mux would treat it as GET
		w.Header().Set("Allow", "GET, POST")
		httpjson.WriteProblem(w, weir.Errorf(weir.CodeMethod, "a callback is a GET or a POST"))
		return
	}
	// A provider may disconnect at once; its callback counts anyway.
	ctx, cancel := context.WithTimeout(s.Tracing.Callback(context.WithoutCancel(r.Context())), timeLimit)
	defer cancel()
	ch, ok, err := s.Index.find(ctx, r.PathValue("channel"), r.PathValue("secret"))
	switch {
	case err != nil:
		s.unavailable(w, typeNone, err)
	case !ok:
		s.Metrics.count(typeNone, resultUnauthorised)
		httpjson.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "not found"))
	default:
		s.serveChannel(ctx, w, r, ch)
	}
}

// serveChannel handles a callback with the right secret.
func (s *Handler) serveChannel(ctx context.Context, w http.ResponseWriter, r *http.Request, ch weir.Channel) {
	driver, err := s.Directory.Driver(ch)
	if err != nil {
		s.unavailable(w, ch.Type, err)
		return
	}
	c, err := readCallback(w, r, s.Now())
	c.PublicURL = s.Directory.PublicURL()
	t, known := s.Directory.Type(ch.Type)
	if known {
		c.Path, known = t.CallbackPath(c.Path)
	}
	if errors.Is(err, errIncomplete) {
		s.unavailable(w, ch.Type, err)
		return
	}
	var reading channels.CallbackResult
	if err == nil {
		reading, err = driver.ParseCallback(c)
	}
	forged := errors.Is(err, channels.ErrForged)
	if !forged && (!known || errors.Is(err, channels.ErrPath)) {
		s.unknownPath(ctx, w, ch, t, c.Path)
		return
	}
	if err != nil && ch.Deleted {
		s.Metrics.count(ch.Type, resultDeleted)
		w.WriteHeader(http.StatusOK)
		return
	}
	if forged {
		s.forged(ctx, w, ch)
		return
	}
	if err != nil {
		s.invalid(ctx, w, ch)
		return
	}
	results, err := s.apply(ctx, ch, reading)
	s.Tracing.CallbackDone(ctx, r.Method, &ch, results, err)
	if weir.CodeOf(err) == weir.CodeInvalid { // it can never be stored
		s.invalid(ctx, w, ch)
		return
	}
	if err != nil {
		s.unavailable(w, ch.Type, err)
		return
	}
	for _, result := range results {
		s.Metrics.count(ch.Type, result)
	}
	if reading.ContentType != "" {
		w.Header().Set("Content-Type", reading.ContentType)
		_, _ = w.Write(reading.Body) // a disconnected provider is not an error
		return
	}
	w.WriteHeader(http.StatusOK)
}

// apply commits the content of a callback. It returns the result of each
// part.
func (s *Handler) apply(ctx context.Context, ch weir.Channel, reading channels.CallbackResult) ([]string, error) {
	var results []string
	for _, report := range reading.Reports {
		result, err := s.applyReport(ctx, ch, report)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	for _, m := range reading.Incoming {
		result, err := s.receive(ctx, ch, m)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	for _, c := range reading.Consents {
		result, err := s.consent(ctx, ch, c)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	switch {
	case results != nil:
	case ch.Deleted:
		results = []string{resultDeleted}
	default:
		results = []string{resultIgnored}
	}
	return results, nil
}

// applyReport passes a report to the broker of the channel that it is about: the
// channel whose URL received it, or another of the same account.
func (s *Handler) applyReport(ctx context.Context, ch weir.Channel, report weir.Report) (string, error) {
	about, ok := ch, true
	if report.Attempt.Channel != ch.ID {
		var err error
		if about, ok, err = s.accounts.byID(ctx, ch, report.Attempt.Channel); err != nil {
			return "", err
		}
	}
	switch {
	case !ok: // this channel's secret proves nothing about the other's contacts
		return string(weir.UnknownAttempt), nil
	case about.Deleted:
		return resultDeleted, nil
	}
	verdicts, err := s.Broker.Report(ctx, about.ID, []weir.Report{report})
	if weir.CodeOf(err) == weir.CodeNotFound { // deleted since the lookup
		return resultDeleted, nil
	}
	if err != nil {
		return "", err
	}
	return string(verdicts[0]), nil
}

func (s *Handler) receive(ctx context.Context, ch weir.Channel, m weir.Incoming) (string, error) {
	to, err := s.accounts.byLine(ctx, ch, m.Line)
	if err != nil {
		return "", err
	}
	m.From = s.sender(to, m.From)
	if to.Deleted { // its secret still proves who calls, and a refusal counts over every channel
		return resultDeleted, s.recordMessage(ctx, to, &m, surveys.Heard{}, false)
	}
	duplicate, err := s.Store.Receive(ctx, to.ID, m)
	if err != nil {
		return "", err
	}
	if !duplicate {
		s.Metrics.incoming.WithLabelValues(to.Name).Inc()
	}
	// Also for a duplicate: the first delivery may have failed before this
	// step.
	var heard surveys.Heard
	if s.Surveys != nil {
		if heard, err = s.Surveys.Incoming(ctx, to.ID, m); err != nil {
			return "", err
		}
	}
	if err := s.recordMessage(ctx, to, &m, heard, duplicate); err != nil {
		return "", err
	}
	if duplicate {
		return string(weir.Duplicate), nil
	}
	return string(weir.Applied), nil
}

// sender returns the address of a sender in the form of a contact's, whatever its gateway
// writes: otherwise it would be another person's, and what the person says would count for
// nobody.
func (s *Handler) sender(ch weir.Channel, from string) string {
	t, ok := s.Directory.Type(ch.Type)
	if !ok {
		return from
	}
	return t.Sender(from, channels.Region(ch.Settings))
}

// recordMessage records what a message says about being contacted before it is acknowledged: from a
// stop word on no claim of a contact to the sender passes. The survey that is in a
// conversation with the sender decides what the message says.
func (s *Handler) recordMessage(ctx context.Context, ch weir.Channel, m *weir.Incoming, heard surveys.Heard, duplicate bool) error {
	if s.People == nil || m.From == "" {
		return nil
	}
	says, found := heard.Says, heard.Found
	if !heard.Decides {
		says, found = s.Words.Find(m.Body)
	}
	if says == "" {
		return nil
	}
	if says == people.SaidStop && s.nobody(ch, m.From) {
		s.Metrics.nobody.WithLabelValues(ch.Name).Inc()
		says, found = people.SaidMaybe, m.Body
	}
	said := people.Message{
		Key: messageKey(ch.ID, m), From: people.Canonical(m.From), Text: m.Body, At: m.ReceivedAt, Channel: ch.ID, Name: ch.Name, Said: says, Found: found, Purpose: heard.Purpose, Known: heard.Decides, ReplyTo: s.replyTo(ch, m.From),
	}
	if ch.Deleted { // nothing goes out over it
		said.ReplyTo = ""
	}
	if said.Again = duplicate; duplicate { // the first delivery was not acknowledged, and its instant counts
		var err error
		if said.At, said.Erased, err = s.Store.ReceivedAt(ctx, ch.ID, *m); err != nil {
			return err
		}
	}
	if said.Erased { // what it says counts if it did not yet; nothing else is kept or answered
		if _, counts := said.Consent(); !counts {
			return nil
		}
		said.ReplyTo = ""
	}
	var before []people.State
	if says == people.SaidStop { // who has refused already does not opt out again
		var err error
		if before, _, err = s.People.Consents(ctx, said.From, 1); err != nil {
			return err
		}
	}
	refused, _ := people.Decide(before, people.AllPurposes)
	answers, err := s.People.Hear(ctx, &said)
	if err != nil {
		return err
	}
	if c, ok := said.Consent(); ok && c.Status == people.Refused {
		if !refused && !ch.Deleted {
			s.Broker.OptedOut(ch.ID, m.From)
		}
		if err := s.callOff(ctx, c); err != nil {
			return err
		}
	}
	if len(answers) > 0 {
		s.Broker.Announce(ch.ID, answers)
	}
	return nil
}

// consent records what a provider reports about a person's consent. A refusal over a channel that was
// deleted counts for all purposes, because the secret still proves who calls, and the name of the
// channel may be another's by now. That a person is back takes back nothing there, for the same reason.
func (s *Handler) consent(ctx context.Context, ch weir.Channel, c channels.Consent) (string, error) {
	switch {
	case s.People == nil && !ch.Deleted:
		return resultIgnored, nil
	case s.People == nil, ch.Deleted && !c.Refused:
		return resultDeleted, nil
	}
	address := s.sender(ch, c.Address)
	if t, ok := s.Directory.Type(ch.Type); ok {
		if _, err := t.CanonicalAddress(address, ""); err != nil {
			return "", weir.Errorf(weir.CodeInvalid, "no contact can have this address")
		}
	}
	said := people.Consent{Address: people.Canonical(address), Purpose: people.OverChannel(ch.Name), Status: people.Given, Source: people.FromProvider, At: c.At, By: ch.Name}
	if ch.Deleted {
		said.Purpose = people.AllPurposes
	}
	if c.Refused {
		said.Status = people.Refused
	}
	if c.ID != "" {
		said.Key = fmt.Sprintf("consent:%d:%x", ch.ID, sha256.Sum256([]byte(c.ID)))
	}
	before, _, err := s.People.Consents(ctx, said.Address, 1)
	if err != nil {
		return "", err
	}
	again := repeats(&said, before) // not every notice has an id, and a repetition must not bring back an address that was erased
	if !again {
		if _, err := s.People.RecordConsents(ctx, []people.Consent{said}); err != nil {
			return "", err
		}
	}
	switch refused, _ := people.Decide(before, said.Purpose); {
	case ch.Deleted: // a repetition, too: the first may have failed before this step
		return resultDeleted, s.callOff(ctx, said)
	case again:
		return string(weir.Duplicate), nil
	case c.Refused && !refused:
		s.Broker.OptedOut(ch.ID, address)
	}
	return string(weir.Applied), nil
}

// repeats reports whether a provider reports what it has reported already, and nothing was said since.
func repeats(said *people.Consent, states []people.State) bool {
	i := slices.IndexFunc(states, func(is people.State) bool {
		return is.Purpose == said.Purpose && is.Status == said.Status && is.Source == said.Source
	})
	return i >= 0 && !slices.ContainsFunc(states, func(is people.State) bool { return is.At.After(states[i].At) })
}

// nobody reports whether a sender on a channel of phone numbers has none that a contact could
// be addressed to: a refusal recorded for it would count for nobody, so that a person decides
// about the message. In a region, that is any number that no country could have.
func (s *Handler) nobody(ch weir.Channel, from string) bool {
	t, ok := s.Directory.Type(ch.Type)
	if !ok || t.Address != nil {
		return false
	}
	canonical := people.Canonical(from)
	return !people.IsNumber(canonical) || channels.Region(ch.Settings) != "" && !people.IsPossibleNumber(canonical)
}

// messageKey identifies a message of a sender by its id and text, because gateways reuse ids; empty: it has no id.
func messageKey(channel weir.ChannelID, m *weir.Incoming) string {
	if m.GUID == "" {
		return ""
	}
	return fmt.Sprintf("message:%d:%x", channel, digest.Of(m.GUID, m.Body))
}

// replyTo returns the address of a sender as contacts over the channel have it; empty: the
// channel carries no texts, or the sender is nobody who can be written to, such as a short code.
func (s *Handler) replyTo(ch weir.Channel, from string) string {
	t, ok := s.Directory.Type(ch.Type)
	if !ok || t.Content != channels.Text {
		return ""
	}
	if s.nobody(ch, from) { // a short code or a name, which may well be another program
		return ""
	}
	to, err := t.CanonicalAddress(from, "")
	if err != nil {
		return ""
	}
	return to
}

// callOff calls off what is in flight to a person who has just refused. A message that comes
// late, or again, may have been overruled meanwhile: what counts now decides.
func (s *Handler) callOff(ctx context.Context, c people.Consent) error {
	states, _, err := s.People.Consents(ctx, c.Address, 1)
	if err != nil {
		return err
	}
	if refused, by := people.Decide(states, people.AllPurposes); refused {
		s.Broker.CallOff(ctx, people.Withdrawn([]people.Consent{c}, []people.State{by}, s.People.Purposes()))
	}
	return nil
}

// invalid rejects a callback for good. The error may quote a number or
// a text and must not be logged.
func (s *Handler) invalid(ctx context.Context, w http.ResponseWriter, ch weir.Channel) {
	s.Logger.WarnContext(ctx, "callback rejected: not a valid request of this provider", "channel", ch.Name, "type", ch.Type)
	s.Metrics.count(ch.Type, resultInvalid)
	httpjson.WriteProblem(w, &httpjson.MalformedError{Detail: "this is not a callback of a " + ch.Type + " channel"})
}

// unknownPath rejects a callback at an address that was given to the provider with a mistake. Most
// providers show the answer in a log, and some repeat the callback until the address is right.
func (s *Handler) unknownPath(ctx context.Context, w http.ResponseWriter, ch weir.Channel, t *channels.Type, path string) {
	s.Metrics.count(ch.Type, resultUnknownPath)
	path = readable(path)
	s.Logger.WarnContext(ctx, "callback rejected: unknown path", "channel", ch.Name, "type", ch.Type, "path", path)
	if !ch.Deleted {
		s.Index.astray(ch.Name, path)
	}
	detail := "not found: a " + ch.Type + " channel takes no callbacks"
	if list := t.CallbackPaths(); list != "" {
		detail = "not found: behind the secret, the address of a callback of a " + ch.Type + " channel ends in one of " + list
	}
	httpjson.WriteProblem(w, weir.Errorf(weir.CodeNotFound, "%s", detail))
}

// readable returns the beginning of a path that consists of plain words. Behind them, a person
// may have typed anything: the secret once more, which is longer than any word, a password, a
// phone number.
func readable(path string) string {
	const longest = 24
	words := strings.SplitN(path, "/", 4)
	for i, word := range words {
		if i == 3 || len(word) > longest || strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz-_.") != "" {
			return strings.Join(append(words[:i], "…"), "/")
		}
	}
	return path
}

// forged rejects a callback whose signature is wrong: the secret in its URL has
// leaked, or the settings or the public URL are not what the provider signs with. The log has the URL that the signature
// was compared with, as far as it may be known.
func (s *Handler) forged(ctx context.Context, w http.ResponseWriter, ch weir.Channel) {
	s.Logger.WarnContext(ctx, "callback rejected: wrong signature", "channel", ch.Name, "type", ch.Type,
		"url", s.Directory.PublicURL()+"/callbacks/"+ch.Name+"/…")
	s.Metrics.count(ch.Type, resultForged)
	httpjson.WriteProblem(w, weir.Errorf(weir.CodeForbidden, "the signature is wrong"))
}

// unavailable makes the provider retry, whatever the failure was.
func (s *Handler) unavailable(w http.ResponseWriter, typ string, err error) {
	s.Metrics.count(typ, resultUnavailable)
	out := &weir.Error{Code: weir.CodeUnavailable, Message: "try again later", Cause: err}
	if e, ok := errors.AsType[*weir.Error](err); ok {
		out.RetryAfter = e.RetryAfter
		if e.Code == weir.CodeDraining {
			out.Code = e.Code
		}
	}
	httpjson.WriteProblem(w, out)
}

// errIncomplete reports an incomplete body. The provider may send it again, so
// this does not reject the callback for good.
var errIncomplete = errors.New("the body did not arrive whole")

// readCallback reads the body, in whichever form gateways send it. What the
// request holds already is passed on without a copy.
func readCallback(w http.ResponseWriter, r *http.Request, now time.Time) (channels.Callback, error) {
	r.Header.Del("Cookie")
	r.Header.Del("Proxy-Authorization")
	c := channels.Callback{Method: r.Method, Path: r.PathValue("path"), Header: r.Header, Target: target(r), At: now}
	raw, err := httpjson.ReadAll(http.MaxBytesReader(w, r.Body, httpjson.MaxCallbackBody), r.ContentLength, httpjson.MaxCallbackBody)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge {
		return c, errIncomplete
	}
	if err != nil {
		return c, err
	}
	if r.URL.RawQuery != "" {
		c.Query = provider.Fields(r.URL.RawQuery)
	}
	if c.Body, err = provider.Unpack(raw, httpjson.MaxCallbackBody); err != nil {
		return c, err
	}
	c.Form, err = provider.Form(r.Header.Get("Content-Type"), c.Body)
	return c, err
}

// Tidy is a handler that receives callbacks without doubled slashes behind the secret, which
// people type and a mux does not route. What providers sign is the address as they called it.
func Tidy(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at := r.URL.Path; strings.Contains(at, "//") && strings.HasPrefix(at, Path) && r.URL.RawPath == "" {
			if parts := strings.SplitN(at, "/", 5); len(parts) == 5 && parts[3] != "" {
				parts[4] = strings.Join(strings.FieldsFunc(parts[4], func(c rune) bool { return c == '/' }), "/")
				r.URL.Path = strings.Join(parts, "/")
			}
		}
		h.ServeHTTP(w, r)
	})
}

// target returns the path and query of a callback as received, without scheme
// and host, which an old proxy may add, and without a path prefix.
func target(r *http.Request) string {
	at := strings.Index(r.RequestURI, Path)
	return r.RequestURI[max(at, 0):]
}

// Metrics are the metrics of callbacks.
type Metrics struct {
	callbacks *prometheus.CounterVec
	incoming  *prometheus.CounterVec
	nobody    *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	with := promauto.With(reg)
	return &Metrics{
		callbacks: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_callbacks_total",
			Help: "Callbacks of providers by result; a callback with several reports counts once for each.",
		}, []string{"type", "result"}),
		incoming: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_incoming_messages_total",
			Help: "Incoming messages, without duplicates.",
		}, []string{"channel"}),
		nobody: with.NewCounterVec(prometheus.CounterOpts{
			Name: "weir_opt_outs_without_number_total",
			Help: "Stop words of senders that no contact can be addressed to, which wait for a decision.",
		}, []string{"channel"}),
	}
}

// Prepare creates at 0 the series whose first increase may trigger an alert.
// The others are created on first use.
func (m *Metrics) Prepare(types []channels.Type) {
	for _, result := range []string{resultUnauthorised, resultUnavailable} {
		m.callbacks.WithLabelValues(typeNone, result)
	}
	for i := range types {
		for _, result := range results() {
			m.callbacks.WithLabelValues(types[i].Name, result)
		}
	}
}

func (m *Metrics) count(typ, result string) { m.callbacks.WithLabelValues(typ, result).Inc() }

// Forget deletes the series of a deleted channel.
func (m *Metrics) Forget(channel string) {
	m.incoming.DeleteLabelValues(channel)
	m.nobody.DeleteLabelValues(channel)
}

// Results of a callback, besides the verdicts on its reports.
const (
	resultUnauthorised = "unauthorised" // wrong secret or no such channel
	resultInvalid      = "invalid"      // not a valid request of this provider
	resultForged       = "forged"       // right secret, wrong signature
	resultUnknownPath  = "unknown_path" // right secret, and a path that the channel does not have
	resultDeleted      = "deleted"      // right secret of a deleted channel
	resultUnavailable  = "unavailable"  // the provider must retry
	resultIgnored      = "ignored"      // nothing in it concerns Weir
)

func results() []string {
	return []string{
		string(weir.Applied), string(weir.Duplicate), string(weir.Late), string(weir.UnknownAttempt),
		resultUnauthorised, resultInvalid, resultForged, resultUnknownPath, resultDeleted, resultUnavailable, resultIgnored,
	}
}

// typeNone is the type label of callbacks without a known channel.
const typeNone = "none"
