package httpgateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
)

// Type returns this channel type for the table of types.
func Type() channels.Type {
	return channels.Type{
		Name: "http", Content: channels.Text, Guarded: true,
		Summary: "messages through any HTTP gateway, described by a template",
		Settings: []channels.Setting{
			{Key: settingTemplate, Kind: channels.Object, Place: true, Required: true, Help: "requests, answers, callbacks and states of the gateway; \"weir channel templates\" lists those that come with Weir and prints one to start from"},
			{Key: settingSecrets, Kind: channels.Object, Secret: true, Help: "an object of texts that the template calls {secret.NAME}"},
			{Key: settingValues, Kind: channels.Object, Help: "an object of texts that the template calls {value.NAME}"},
		},
		Check: func(s weir.Settings) []weir.FieldError {
			_, _, errs := parse(s)
			return errs
		},
		New: newDriver, Templates: offered(),
		Callbacks: []channels.CallbackPath{
			{Path: incomingPath, ByHand: "Messages from people"}, {Path: consentPath, ByHand: "Opt-outs, if the provider has an address for them"},
			{Path: reportPath}, {Path: reportPath + "/{attempt}"}, {Path: reportPath + "/{attempt}/{part}"},
		},
		SetUp: []string{
			"The template describes requests, answers and reports of the gateway; \"weir channel try --render\" shows the requests that it makes.",
			"What the template calls {value.NAME} and {secret.NAME} are entries of values and secrets.",
			outside,
		},
	}
}

// newDriver parses the template once more than Check: settings that an older release stored may
// not pass the checks of this one.
func newDriver(c channels.Config) (channels.Driver, error) {
	t, fixed, errs := parse(c.Settings)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %s", errs[0].Pointer, errs[0].Detail)
	}
	if c.HTTP == nil {
		return nil, errors.New("no HTTP client")
	}
	fixed.callback = c.CallbackURL
	return &driver{t: t, fixed: fixed, http: c.HTTP}, nil
}

// driver talks to one gateway. It has no state.
type driver struct {
	provider.NoCancel // a template does not describe it
	t                 *template
	fixed             content // what is the same for all contacts
	http              *http.Client
}

// content returns what placeholders stand for in a request about a message.
func (d *driver) content(a channels.Attempt, part int) *content {
	c := d.fixed
	// The instant is that of the request, not of the claim: earlier messages of the contact may
	// have taken seconds, and {seconds_left} must not promise them again.
	c.a, c.part, c.now = a, part, time.Now()
	return &c
}

// do makes a request. An error means that it cannot be written, and nothing was sent.
func (d *driver) do(ctx context.Context, q *request, c *content) (provider.Result, error) {
	out, err := q.render(c)
	if err != nil {
		return provider.Result{}, err
	}
	api := provider.API{HTTP: d.http, Base: out.URL}
	return api.Do(ctx, provider.Call{Method: out.Method, Header: out.Header, Body: out.Body}), nil
}

// Send requests the messages of a contact one after the other, and stops at the first
// one that the gateway did not certainly accept.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	if len(a.Messages) == 0 {
		return provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	}
	if d.t.perContact || len(a.Messages) == 1 {
		return d.sendOne(ctx, a, d.part(0))
	}
	last := channels.SendResult{}
	for i := range a.Messages {
		if last = d.sendOne(ctx, a, i); last.Status != channels.Accepted {
			return provider.Partly(i, len(a.Messages), last)
		}
	}
	last.ProviderRef = "" // it is of one message
	return last
}

// part returns the index of a message in requests and reports.
func (d *driver) part(i int) int {
	if d.t.perContact {
		return whole
	}
	return i
}

func (d *driver) sendOne(ctx context.Context, a channels.Attempt, part int) channels.SendResult {
	r, err := d.do(ctx, &d.t.send, d.content(a, part))
	if err != nil {
		return provider.Refused(weir.Failed, channels.MessageNotAcceptable)
	}
	return sent(d.t.answer, r)
}

// Query asks about each message, if the template says how. Messages that were certainly
// not sent are reported as failed.
func (d *driver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	// The reference holds how far Send came. The gateway is not asked here: it has no record of
	// the rest, and reports end the messages that it accepted.
	if p, ok := provider.ParseProgress(a.ProviderRef); ok && p.Of == len(a.Messages) && !d.t.perContact {
		out := channels.Answer{Status: channels.Underway, Silent: true, ProviderRef: a.ProviderRef, Reports: p.NotSent(a.ID, time.Now())}
		for i := 0; i < p.Accepted && d.t.completes(); i++ {
			out.Reports = append(out.Reports, weir.Report{Attempt: a.ID, Part: i, Outcome: weir.Completed, At: time.Now()})
		}
		return out
	}
	if d.t.ask == nil {
		return channels.Answer{Status: channels.CannotTell, Reason: "the template does not say how to ask about a message"}
	}
	if d.t.perContact {
		return d.askOne(ctx, a, whole)
	}
	var all channels.Answer
	absent := 0
	for i := range a.Messages {
		one := d.askOne(ctx, a, i)
		switch one.Status {
		// Reports of earlier messages are dropped with it; the next Query finds them again.
		case channels.QueryFailed, channels.CannotTell:
			return one
		case channels.Absent:
			// Weir dispatches a contact as a whole: while the gateway has one of its messages,
			// another dispatch would send that one twice.
			absent++
			all.Reports = append(all.Reports, weir.Report{Attempt: a.ID, Part: i, Outcome: weir.Failed, Reason: "not sent: the gateway does not have it", At: time.Now()})
		case channels.Underway:
			all.Status = channels.Underway
		default:
			all.Reports = append(all.Reports, one.Reports...)
		}
		if one.ProviderRef != "" {
			all.ProviderRef = one.ProviderRef
		}
	}
	switch {
	case absent == len(a.Messages):
		return channels.Answer{Status: channels.Absent}
	case all.Status == 0:
		all.Status = channels.Finished
	}
	return all
}

func (d *driver) askOne(ctx context.Context, a channels.Attempt, part int) channels.Answer {
	r, err := d.do(ctx, d.t.ask, d.content(a, part))
	if err != nil {
		return channels.Answer{Status: channels.CannotTell, Reason: err.Error()}
	}
	u, body := find(d.t.askAnswer, r)
	// An answer that no rule fits proves nothing, so it is never Absent.
	if u == nil {
		return r.AskFailed()
	}
	out := channels.Answer{Status: u.knowledge, ProviderRef: u.ref.text(body)}
	if u.state == nil {
		return out
	}
	m, known := d.t.states[u.state.text(body)]
	switch {
	case !known:
		return channels.Answer{Status: channels.QueryFailed, Reason: "the template does not list the gateway's state"}
	case m.outcome == "":
		out.Status = channels.Underway
	default:
		out.Status = channels.Finished
		out.Reports = []weir.Report{{Attempt: a.ID, Part: part, Outcome: m.outcome, Reason: m.reason, ProviderRef: out.ProviderRef, At: time.Now()}}
	}
	return out
}

// Prepare checks the gateway, if the template says how. There is nothing to set up.
func (d *driver) Prepare(ctx context.Context) error {
	if s := d.Status(ctx); s.Health != weir.Up {
		return fmt.Errorf("http: check: %s", s.Reason)
	}
	return nil
}

// Status makes the request check of the template: the answers that it lists mean that
// the gateway works; without a list, any 2xx. The rules for answers to send explain
// others.
func (d *driver) Status(ctx context.Context) channels.Status {
	if d.t.check == nil {
		return channels.Status{Health: weir.Up, Unchecked: true}
	}
	r, err := d.do(ctx, d.t.check, d.content(channels.Attempt{}, whole))
	switch {
	case err != nil:
		return channels.Status{Health: weir.Erring, Reason: err.Error()}
	case d.isUp(r):
		return channels.Status{Health: weir.Up}
	}
	if u, _ := find(d.t.answer, r); u != nil && u.result.Status == channels.NotSent && u.result.Reason != "" {
		return channels.Status{Health: weir.Erring, Reason: u.result.Reason}
	}
	return r.Erring()
}

func (d *driver) isUp(r provider.Result) bool {
	if d.t.up == nil {
		return r.OK()
	}
	u, _ := find(d.t.up, r)
	return u != nil
}

// ParseCallback interprets a report, a person's message or a person's consent. A state that the
// template does not list and a message that it leaves out are answered with success, so that the
// gateway does not repeat them.
func (d *driver) ParseCallback(c channels.Callback) (out channels.CallbackResult, err error) {
	if c.Method != http.MethodGet && c.Method != http.MethodPost {
		return out, errors.New("want GET or POST")
	}
	if err := d.t.callback.verify.check(&c); err != nil {
		return out, err
	}
	document := fieldsOf(&c)
	if out.Consents, err = d.t.consent.read(&c, document); err != nil {
		return channels.CallbackResult{}, err
	}
	switch path := strings.Split(c.Path, "/"); {
	case path[0] == reportPath:
		out.Reports, err = d.t.callback.reports(&c, path[1:], document, d.t.states)
	case c.Path == incomingPath:
		out.Incoming, err = d.t.incoming.read(&c, document)
	case c.Path != consentPath || d.t.consent == nil:
		err = channels.ErrPath
	}
	if err != nil {
		return channels.CallbackResult{}, err
	}
	if d.t.callback.plainBody != "" {
		out.ContentType, out.Body = "text/plain; charset=utf-8", []byte(d.t.callback.plainBody)
	}
	return out, nil
}
