package web

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/internal/deadline"
)

const (
	callbackRoute     = "/callbacks/{channel}/{secret}/{path...}"
	callbackRouteBare = "/callbacks/{channel}/{secret}"
	// callbackTime bounds the work for one callback.
	callbackTime = 20 * time.Second
)

// Results of a callback beside the verdicts on its reports.
const (
	resultUnauthorised = "unauthorised" // wrong secret or no such channel
	resultInvalid      = "invalid"      // not a request that this provider makes
	resultDeleted      = "deleted"      // right secret of a channel that is gone
	resultUnavailable  = "unavailable"  // the provider has to come again
	resultIgnored      = "ignored"      // nothing in it that concerns us
)

func callbackResults() []string {
	return []string{
		string(weir.Applied), string(weir.Duplicate), string(weir.Late), string(weir.NotOurs), string(weir.Forwarded),
		resultUnauthorised, resultInvalid, resultDeleted, resultUnavailable, resultIgnored,
	}
}

// typeNone is the type label of callbacks whose channel is not known.
const typeNone = "none"

// callback takes one request of a provider. What it is answered decides what
// the provider does next: Nuntium drops an ack for good on 400, repeats it on
// anything but 2xx, 3xx and 400, and sends a body as a text to the person. So
// 400 is for what can never be understood, 503 for every trouble of ours, and
// there is no body but the driver's.
func (s *service) callback(w http.ResponseWriter, r *http.Request) {
	s.callbackAt(w, r, callbackPlace{r.PathValue("channel"), r.PathValue("secret"), r.PathValue("path")})
}

// callbackPlace is what the path of a callback says.
type callbackPlace struct{ channel, secret, path string }

// usualCallback reads the path of a callback whose address is as we gave it, as
// the mux would. Among all requests they are the most, and the mux takes its time
// for their three names.
func usualCallback(r *http.Request) (callbackPlace, bool) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/callbacks/")
	if !ok || r.Method != http.MethodPost && r.Method != http.MethodGet || r.URL.RawPath != "" || strings.Contains(rest, "//") || strings.Contains(rest, "/.") {
		return callbackPlace{}, false
	}
	var p callbackPlace
	p.channel, rest, _ = strings.Cut(rest, "/")
	p.secret, p.path, ok = strings.Cut(rest, "/")
	return p, ok && p.channel != "" && p.channel[0] != '.' && p.secret != ""
}

// dispatch leads requests to their handlers.
func (s *service) dispatch(w http.ResponseWriter, r *http.Request) {
	if place, ok := usualCallback(r); ok {
		r.Pattern = "POST " + callbackRoute
		if r.Method == http.MethodGet {
			r.Pattern = "GET " + callbackRoute
		}
		matched(w)
		s.callbackAt(w, r, place)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *service) callbackAt(w http.ResponseWriter, r *http.Request, place callbackPlace) {
	if r.Method == http.MethodHead { // which the mux takes for GET
		w.Header().Set("Allow", "GET, POST")
		writeProblem(w, weir.Errorf(weir.CodeMethod, "a callback is a GET or a POST"))
		return
	}
	// A provider may hang up at once; what it said counts nevertheless.
	ctx := deadline.In(context.WithoutCancel(r.Context()), callbackTime)
	defer ctx.End()
	ch, ok, err := s.callbacks.find(ctx, place.channel, place.secret)
	switch {
	case err != nil:
		s.callbackUnavailable(w, typeNone, err)
	case !ok:
		s.Metrics.callback(typeNone, resultUnauthorised)
		writeProblem(w, weir.Errorf(weir.CodeNotFound, "there is nothing here"))
	default:
		s.channelCallback(ctx, w, r, ch, place.path)
	}
}

// channelCallback takes a callback whose secret was right.
func (s *service) channelCallback(ctx context.Context, w http.ResponseWriter, r *http.Request, ch weir.Channel, path string) {
	driver, err := s.Directory.Driver(ch)
	if err != nil {
		s.callbackUnavailable(w, ch.Type, err)
		return
	}
	c, err := readCallback(w, r, path, s.Now())
	if errors.Is(err, errCutShort) {
		s.callbackUnavailable(w, ch.Type, err)
		return
	}
	var reading channels.Reading
	if err == nil {
		reading, err = driver.Read(c)
	}
	if err != nil && ch.Deleted {
		s.Metrics.callback(ch.Type, resultDeleted)
		w.WriteHeader(http.StatusOK)
		return
	}
	if err != nil {
		s.callbackInvalid(ctx, w, ch)
		return
	}
	results, err := s.takeReading(ctx, ch, reading)
	if weir.CodeOf(err) == weir.CodeInvalid { // it cannot be stored, now or ever
		s.callbackInvalid(ctx, w, ch)
		return
	}
	if err != nil {
		s.callbackUnavailable(w, ch.Type, err)
		return
	}
	for _, result := range results {
		s.Metrics.callback(ch.Type, result)
	}
	if reading.ContentType != "" {
		w.Header().Set("Content-Type", reading.ContentType)
		_, _ = w.Write(reading.Body) // a provider that left is no concern of ours
		return
	}
	w.WriteHeader(http.StatusOK)
}

// takeReading makes durable what a callback said. It tells what came of each
// part of it.
func (s *service) takeReading(ctx context.Context, ch weir.Channel, reading channels.Reading) ([]string, error) {
	var results []string
	for _, report := range reading.Reports {
		result, err := s.takeReport(ctx, ch, report)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	for _, m := range reading.Incoming {
		result, err := s.takeIncoming(ctx, ch, m)
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

// takeReport hands a report to the broker of the channel that it is about: the
// one at whose address it arrived, or one of the same account.
func (s *service) takeReport(ctx context.Context, ch weir.Channel, report weir.Report) (string, error) {
	about, ok := ch, true
	if report.Attempt.Channel != ch.ID {
		var err error
		if about, ok, err = s.siblings.byID(ctx, ch, report.Attempt.Channel); err != nil {
			return "", err
		}
	}
	switch {
	case !ok: // the secret of one channel says nothing about another's contacts
		return string(weir.NotOurs), nil
	case about.Deleted:
		return resultDeleted, nil
	}
	verdicts, err := s.Broker.Report(ctx, about.ID, []weir.Report{report})
	if weir.CodeOf(err) == weir.CodeNotFound { // since it was looked up
		return resultDeleted, nil
	}
	if err != nil {
		return "", err
	}
	return string(verdicts[0]), nil
}

func (s *service) takeIncoming(ctx context.Context, ch weir.Channel, m weir.Incoming) (string, error) {
	to, err := s.siblings.byLine(ctx, ch, m.Line)
	if err != nil {
		return "", err
	}
	if to.Deleted {
		return resultDeleted, nil
	}
	duplicate, err := s.Store.Receive(ctx, to.ID, m)
	if err != nil {
		return "", err
	}
	if !duplicate {
		s.Metrics.incoming.WithLabelValues(to.Name).Inc()
	}
	// Also of a duplicate: the first time may have ended before this.
	if s.Surveys != nil {
		if err := s.Surveys.Incoming(ctx, to.ID, m); err != nil {
			return "", err
		}
	}
	if duplicate {
		return string(weir.Duplicate), nil
	}
	return string(weir.Applied), nil
}

// callbackInvalid refuses a callback for good. What is wrong with it may quote
// a number or a text, and stays out of the log.
func (s *service) callbackInvalid(ctx context.Context, w http.ResponseWriter, ch weir.Channel) {
	s.Logger.WarnContext(ctx, "callback refused: not a request that this provider makes", "channel", ch.Name, "type", ch.Type)
	s.Metrics.callback(ch.Type, resultInvalid)
	writeProblem(w, &malformed{"this is not a callback of a " + ch.Type + " channel"})
}

// callbackUnavailable makes the provider come again, whatever went wrong here.
func (s *service) callbackUnavailable(w http.ResponseWriter, typ string, err error) {
	s.Metrics.callback(typ, resultUnavailable)
	out := &weir.Error{Code: weir.CodeUnavailable, Message: "try again later", Cause: err}
	if e, ok := errors.AsType[*weir.Error](err); ok {
		out.RetryAfter = e.RetryAfter
		if e.Code == weir.CodeDraining {
			out.Code = e.Code
		}
	}
	writeProblem(w, out)
}

const formType = "application/x-www-form-urlencoded"

// errCutShort is a body that did not arrive whole. The provider may well send
// it again, so it is no reason to refuse the callback for good.
var errCutShort = errors.New("the body did not arrive whole")

// readCallback reads the body, as a form if it says that it is one.
func readCallback(w http.ResponseWriter, r *http.Request, path string, now time.Time) (channels.Callback, error) {
	c := channels.Callback{Method: r.Method, Path: path, At: now}
	raw, err := readAll(http.MaxBytesReader(w, r.Body, mostCallbackBody), r.ContentLength, mostCallbackBody)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge {
		return c, errCutShort
	}
	if err != nil {
		return c, err
	}
	if r.URL.RawQuery != "" {
		if c.Query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			return c, err
		}
	}
	contentType := r.Header.Get("Content-Type")
	if contentType != formType {
		contentType, _, _ = mime.ParseMediaType(contentType)
	}
	if contentType != formType {
		c.Body = raw
		return c, nil
	}
	c.Form, err = url.ParseQuery(string(raw))
	return c, err
}
