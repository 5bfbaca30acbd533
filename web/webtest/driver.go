package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"weir"
	"weir/channels"
)

// driver reads callbacks of an invented provider:
//
//	status/{attempt}/{outcome}  a report
//	incoming?guid=&from=&body=  a message, with a response body of its own
//	ping                        nothing
//	form                        a POSTed form with attempt and outcome
//	signed/{attempt}/{outcome}  a report whose X-Signature is the URL and the body
//	check?challenge=            answered with the challenge
//	headers                     answered with the headers
//	panic
//
// At the path /slow of its base_url it never answers; it refuses other tokens than the canary.
type driver struct {
	channels.Driver
	settings weir.Settings
}

func (d driver) Status(ctx context.Context) channels.Status {
	if u, _ := url.Parse(d.settings["base_url"].(string)); u.Path == "/slow" {
		<-ctx.Done()
		return channels.Status{Health: weir.Erring, Reason: "timeout"}
	}
	if d.settings["token"] != ProviderCanary {
		return channels.Status{Health: weir.Erring, Reason: "credentials refused"}
	}
	return channels.Status{Health: weir.Up, Unchecked: d.settings["channel"] == "unchecked"}
}

func (driver) ParseCallback(c channels.Callback) (channels.CallbackResult, error) {
	parts := strings.Split(c.Path, "/")
	switch parts[0] {
	case "status":
		if len(parts) == 3 {
			return report(parts[1], parts[2], c.At)
		}
	case "form":
		if c.Form == nil {
			return channels.CallbackResult{}, errors.New("want a form")
		}
		return report(c.Form.Get("attempt"), c.Form.Get("outcome"), c.At)
	case "incoming":
		in := weir.Incoming{GUID: c.Query.Get("guid"), From: c.Query.Get("from"), Body: c.Query.Get("body"), ReceivedAt: c.At}
		return channels.CallbackResult{Incoming: []weir.Incoming{in}, ContentType: "application/json", Body: []byte("[]")}, nil
	case "consent":
		said := channels.Consent{Address: c.Query.Get("from"), Refused: c.Query.Get("refused") == "true", ID: c.Query.Get("id"), At: c.At}
		return channels.CallbackResult{Consents: []channels.Consent{said}}, nil
	case "ping":
		return channels.CallbackResult{}, nil
	case "signed": // status/{attempt}/{outcome} below it, signed over everything that providers sign
		if c.Header.Get("X-Signature") != c.URL()+" "+string(c.Body) {
			return channels.CallbackResult{}, fmt.Errorf("wanted %s: %w", c.URL(), channels.ErrForged)
		}
		return report(parts[1], parts[2], c.At)
	case "check":
		return channels.CallbackResult{ContentType: "text/plain", Body: []byte(c.Query.Get("challenge"))}, nil
	case "headers":
		return channels.CallbackResult{ContentType: "text/plain", Body: fmt.Append(nil, c.Header)}, nil
	case "panic":
		panic("the driver broke")
	}
	return channels.CallbackResult{}, fmt.Errorf("what is %s %s? %w", c.Path, c.Query, channels.ErrPath)
}

func report(attempt, outcome string, at time.Time) (channels.CallbackResult, error) {
	ref, err := weir.ParseAttemptRef(attempt)
	if err != nil {
		return channels.CallbackResult{}, err
	}
	return channels.CallbackResult{Reports: []weir.Report{{Attempt: ref, Part: weir.WholeContact, Outcome: weir.Outcome(outcome), At: at}}}, nil
}

func Table() []channels.Type {
	settings := []channels.Setting{
		{Key: "base_url", Kind: channels.URL, Required: true, Place: true, Help: "where the provider is"},
		{Key: "token", Kind: channels.String, Required: true, Secret: true, Help: "our token there"},
		{Key: "channel", Kind: channels.String, Help: "the provider's channel"},
	}
	made := func(c channels.Config) (channels.Driver, error) {
		if u, _ := url.Parse(c.Settings["base_url"].(string)); u.Path == "/broken" {
			return nil, errors.New("no driver for these settings")
		}
		return driver{settings: c.Settings}, nil
	}
	var paths []channels.CallbackPath
	for _, path := range []string{"status/{attempt}/{outcome}", "incoming", "consent", "ping", "form", "signed/{attempt}/{outcome}", "check", "headers", "panic"} {
		paths = append(paths, channels.CallbackPath{Path: path})
	}
	paths[1].ByHand = "Messages from people"
	return []channels.Type{
		{Name: "texts", Content: channels.Text, Summary: "made-up texts", Settings: settings, Callbacks: paths, New: made},
		{Name: "voice", Content: channels.Voice, Summary: "made-up calls", Settings: settings, Callbacks: paths, New: made},
		{Name: "chats", Content: channels.Text, Summary: "made-up chats", Settings: settings, Callbacks: paths, New: made, Address: chatAddress},
		{Name: "people", Content: channels.Any, Summary: "made-up people", Settings: settings, Callbacks: paths, New: made},
	}
}

// chatAddress takes chat:NAME in any case.
func chatAddress(to string) (string, error) {
	if to = strings.ToLower(to); strings.HasPrefix(to, "chat:") {
		return to, nil
	}
	return "", errors.New("must begin with 'chat:'")
}
