package nuntium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir"
	"weir/channels"
	"weir/channels/provider"
	"weir/internal/plainjson"
)

const (
	jsonType    = "application/json"
	tokenHeader = "X-Nuntium-Token" //nolint:gosec // the name of a header
	maxToken    = 36
	// maxPages bounds a query. Nuntium returns 50 messages a page.
	maxPages = 40
	// maxList is the max size of an answer, in bytes.
	maxList = 16 << 20
)

// Send dispatches all messages of a contact in one request.
func (d *driver) Send(ctx context.Context, a channels.Attempt) channels.SendResult {
	body, err := d.batch(a)
	if err != nil {
		return provider.Refused(weir.Failed, err.Error())
	}
	r := d.send.Post(ctx, body, maxList)
	if r.Delivery == provider.Answered && r.Status/100 == 2 && isNuntiumResponse(r) {
		return channels.SendResult{Status: channels.Accepted, ProviderRef: tokenInForce(r.Header, a.ID.Ref)}
	}
	return r.Sent()
}

// isNuntiumResponse distinguishes the answer to an accepted batch from the page of
// some other server: Nuntium returns a token and no text. A proxy may strip the
// token.
func isNuntiumResponse(r provider.Result) bool {
	return r.Header.Get(tokenHeader) != "" || len(bytes.TrimSpace(r.Body)) == 0
}

// tokenInForce returns the token under which Nuntium has the batch. It is ours
// unless an application changes it.
func tokenInForce(h http.Header, ref weir.Ref) string {
	if t := h.Get(tokenHeader); t != "" && len(t) <= maxToken {
		return t
	}
	return tokenOf(ref)
}

// Query queries what Nuntium has of a contact, under our own token.
func (d *driver) Query(ctx context.Context, a channels.Attempt) channels.Answer {
	list, failed := d.list(ctx, tokenOf(a.ID.Ref))
	if failed != nil {
		return *failed
	}
	return judge(d.final, a.ID.Ref, max(1, len(a.Messages)), list, time.Now())
}

// list reads every page of a query. If that fails, it returns the answer to give.
func (d *driver) list(ctx context.Context, token string) ([]listed, *channels.Answer) {
	var all []listed
	for page := 1; page <= maxPages; page++ {
		path, query := d.listPath(token, page)
		r := d.api.Do(ctx, provider.Call{Method: http.MethodGet, Path: path, Query: query})
		if !r.OK() {
			failed := r.AskFailed()
			return nil, &failed
		}
		some, err := readList(r.Body)
		if err != nil {
			return nil, &channels.Answer{Status: channels.QueryFailed, Reason: err.Error()}
		}
		all = append(all, some...)
		// get_ao.json, the query with a password, has no pages.
		if d.token == "" || !hasNext(r.Header) {
			return all, nil
		}
	}
	return nil, &channels.Answer{Status: channels.QueryFailed, Reason: "the provider lists too many messages"}
}

// sendPath returns where batches are posted. A password belongs to an application
// and works for the application's own paths; a token works for the API.
func (s *settings) sendPath() (path []string, query url.Values) {
	if s.token == "" {
		return []string{s.account, s.application, "send_ao.json"}, nil
	}
	return []string{"api", "ao_messages.json"}, url.Values{"account": {s.account}}
}

func (d *driver) listPath(token string, page int) (path []string, query url.Values) {
	if d.token == "" {
		return []string{d.account, d.application, "get_ao.json"}, url.Values{"token": {token}}
	}
	query = url.Values{"account": {d.account}, "token": {token}}
	if page > 1 {
		query.Set("page", strconv.Itoa(page))
	}
	return []string{"api", "ao_messages.json"}, query
}

// hasNext reports whether a Link header (RFC 8288) announces a next page. Its
// address is not used: behind a proxy it may name another host, and the
// credentials must not be sent there.
func hasNext(h http.Header) bool {
	for _, value := range h.Values("Link") {
		for link := range strings.SplitSeq(value, ",") {
			_, parameters, _ := strings.Cut(link, ">")
			for p := range strings.SplitSeq(parameters, ";") {
				name, rel, _ := strings.Cut(strings.TrimSpace(p), "=")
				if strings.EqualFold(strings.TrimSpace(name), "rel") && strings.Contains(" "+strings.Trim(rel, `" `)+" ", " next ") {
					return true
				}
			}
		}
	}
	return false
}

const (
	protocol      = "sms://"
	guidAttribute = "weir_guid"
)

// tokenOf returns the token that the messages of a contact share.
func tokenOf(r weir.Ref) string { return r.String() }

// guidOf returns the guid of one message of a contact, given the contact's token.
func guidOf(token string, part int) string { return token + "." + strconv.Itoa(part) }

// parseGUID parses the output of guidOf. ok is false for any other text,
// including a second spelling of the same guid.
func parseGUID(s string) (_ weir.Ref, part int, ok bool) {
	contact, index, found := strings.Cut(s, ".")
	if !found {
		return weir.Ref{}, 0, false
	}
	ref, err := weir.ParseRef(contact)
	if err != nil {
		return weir.Ref{}, 0, false
	}
	part, ok = provider.ParsePart(index)
	return ref, part, ok
}

// batch returns the request body that dispatches a contact, with its messages in
// order.
func (s *settings) batch(a channels.Attempt) ([]byte, error) {
	to, err := address(a.To)
	if err != nil {
		return nil, err
	}
	if len(a.Messages) == 0 {
		return nil, errors.New("no message")
	}
	from := ""
	if s.from != "" {
		if from, err = address(s.from); err != nil {
			return nil, fmt.Errorf("the setting from: %w", err)
		}
	}
	token := tokenOf(a.ID.Ref)
	room := 2
	for _, body := range a.Messages {
		room += len(body) + len(to) + len(from) + 3*len(token) + len(s.channel) + 128
	}
	out := append(make([]byte, 0, room), '[')
	for i, body := range a.Messages {
		if i > 0 {
			out = append(out, ',')
		}
		out = s.message(out, from, to, body, token, guidOf(token, i))
	}
	return append(out, ']'), nil
}

// message appends one element of the batch. Nuntium treats every key that it does
// not know as a custom attribute, which it stores and echoes.
func (s *settings) message(out []byte, from, to, body, token, guid string) []byte {
	out = append(out, '{')
	if from != "" {
		out = append(plainjson.AppendText(append(out, `"from":`...), from), ',')
	}
	out = plainjson.AppendText(append(out, `"to":`...), to)
	out = plainjson.AppendText(append(out, `,"body":`...), body)
	out = plainjson.AppendText(append(out, `,"guid":`...), guid)
	out = plainjson.AppendText(append(out, `,"token":`...), token)
	out = plainjson.AppendText(append(out, `,"channel":`...), s.channel)
	out = plainjson.AppendText(append(out, `,"`+guidAttribute+`":`...), guid)
	return append(out, '}')
}

// address returns a phone number in the form that Nuntium requires. The error does
// not repeat the number.
func address(number string) (string, error) {
	digits, ok := provider.Number(strings.TrimPrefix(strings.TrimSpace(number), protocol))
	if !ok {
		return "", errors.New("the address is not a phone number")
	}
	return protocol + strings.TrimPrefix(digits, "+"), nil
}
