package simulator

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// flow defines what an answered call does. The zero flow is a stored one, whose
// content is unknown.
type flow struct {
	url      string
	inline   string
	isInline bool
}

// maxSteps bounds the documents that one call fetches, so that a document that
// redirects to itself ends.
const maxSteps = 100

// invalid reports whether Verboice would refuse to dial with this flow. A POST
// without a body makes an empty flow, which is invalid.
func (f flow) invalid() bool {
	if !f.isInline {
		return false
	}
	_, err := parseTwiML([]byte(f.inline))
	return err != nil
}

// element is a TwiML verb.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// attributes lists the verbs that Verboice knows, with their attributes.
func attributes(verb string) (_ []string, known bool) {
	switch verb {
	case "Response", "Play", "Hangup":
		return nil, true
	case "Say":
		return []string{"language"}, true
	case "Pause":
		return []string{"length"}, true
	case "Redirect":
		return []string{"method"}, true
	case "Gather":
		return []string{"numDigits", "timeout", "finishOnKey", "action", "method"}, true
	case "Record":
		return []string{"timeout", "finishOnKey", "action", "method"}, true
	case "Dial":
		return []string{"channel", "callerId", "successfulAfter"}, true
	}
	return nil, false
}

var errInvalidFlow = errors.New("Invalid Flow") //nolint:staticcheck // as Verboice spells it

// parseTwiML parses a document. Unknown verbs and attributes are errors,
// because they crash Verboice's parser.
func parseTwiML(body []byte) ([]element, error) {
	var root element
	if err := xml.NewDecoder(bytes.NewReader(body)).Decode(&root); err != nil {
		return nil, errInvalidFlow
	}
	if root.XMLName.Local != "Response" {
		return nil, errInvalidFlow
	}
	if err := checkElement(root); err != nil {
		return nil, err
	}
	return root.Children, nil
}

func checkElement(e element) error {
	allowed, known := attributes(e.XMLName.Local)
	if !known {
		return fmt.Errorf("unknown element %s", e.XMLName.Local)
	}
	for _, a := range e.Attrs {
		if !slices.Contains(allowed, a.Name.Local) {
			return fmt.Errorf("unknown attribute %s of %s", a.Name.Local, e.XMLName.Local)
		}
	}
	for _, child := range e.Children {
		if err := checkElement(child); err != nil {
			return err
		}
	}
	return nil
}

// request is the next step of a flow.
type request struct {
	target string
	method string
	digits string
}

// run executes the flow until it hangs up or has nothing left to do. It keys in
// digits at each Gather.
func (f flow) run(ctx context.Context, client *http.Client, id int64, digits string) error {
	base := &url.URL{}
	elements, err := parseTwiML([]byte(f.inline))
	next := request{target: f.url, method: http.MethodPost}
	if f.isInline {
		if err != nil {
			return err
		}
		var goesOn bool
		if next, goesOn = play(elements, digits); !goesOn {
			return nil
		}
	}
	for range maxSteps {
		if elements, base, err = fetch(ctx, client, base, next, id); err != nil {
			return err
		}
		var goesOn bool
		if next, goesOn = play(elements, digits); !goesOn {
			return nil
		}
	}
	return errors.New("the flow does not end")
}

// play executes a document up to the first verb that leads to another document.
func play(elements []element, digits string) (next request, goesOn bool) {
	for _, e := range elements {
		switch e.XMLName.Local {
		case "Hangup":
			return request{}, false
		case "Redirect":
			return request{target: strings.TrimSpace(e.Text), method: e.attr("method")}, true
		case "Gather": // without digits it falls through to the next element
			if digits != "" {
				return request{target: e.attr("action"), method: e.attr("method"), digits: digits}, true
			}
		}
	}
	return request{}, false
}

// fetch gets the next document. It ignores the response status.
func fetch(ctx context.Context, client *http.Client, base *url.URL, next request, id int64) ([]element, *url.URL, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	target, err := base.Parse(next.target)
	if err != nil || target.Host == "" {
		return nil, base, errors.New("the flow's address is wrong")
	}
	parameters := url.Values{"CallSid": {strconv.FormatInt(id, 10)}}
	if next.digits != "" {
		parameters.Set("Digits", next.digits)
	}
	method, body := http.MethodPost, parameters.Encode()
	if strings.EqualFold(next.method, http.MethodGet) {
		asked := *target
		asked.RawQuery = parameters.Encode() // the parameters replace the query
		target, method, body = &asked, http.MethodGet, ""
	}
	r, err := http.NewRequestWithContext(ctx, method, target.String(), strings.NewReader(body))
	if err != nil {
		return nil, base, errors.New("the flow's address is wrong")
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, base, errors.New("the flow cannot be fetched")
	}
	defer func() { _ = response.Body.Close() }()
	document, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, base, errors.New("the flow cannot be fetched")
	}
	elements, err := parseTwiML(document)
	return elements, target, err
}
