package provider_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/channels/provider"
)

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// Fields are the same in every form in which gateways send them.
func TestForm_IsReadInEveryForm(t *testing.T) {
	t.Parallel()
	const boundary = "multipart/form-data; boundary=x"
	part := func(header, value string) string {
		return "--x\r\nContent-Disposition: form-data; " + header + "\r\n\r\n" + value + "\r\n"
	}
	for name, c := range map[string]struct {
		kind, body string
		want       url.Values // nil: it is no form
	}{
		"form":                        {"application/x-www-form-urlencoded; charset=utf-8", "from=1&text=a+b%21", url.Values{"from": {"1"}, "text": {"a b!"}}},
		"parameter that is malformed": {"application/x-www-form-urlencoded; charset", "from=1", url.Values{"from": {"1"}}},
		"byte order mark":             {"application/x-www-form-urlencoded", "\ufefffrom=1", url.Values{"from": {"1"}}},
		"raw percent":                 {"application/x-www-form-urlencoded", "text=100%&text=5%zz&text=%4&text=%21%", url.Values{"text": {"100%", "5%zz", "%4", "!%"}}},
		"raw semicolon":               {"application/x-www-form-urlencoded", "text=yes;+no&from=1", url.Values{"text": {"yes; no"}, "from": {"1"}}},
		"unlabeled":                   {"", "from=1&text=a", url.Values{"from": {"1"}, "text": {"a"}}},
		"unlabeled JSON":              {"", ` {"text": "a=b"}`, nil},
		"unlabeled XML":               {"", `<a b="c"/>`, nil},
		"empty":                       {"", "", nil},
		"blank":                       {"", "  ", nil},
		"JSON":                        {"application/json", `{"a":"b=c"}`, nil},
		"multipart":                   {boundary, part(`name="from"`, "1") + part(`name="text"`, "a & b%") + part(`name="f"; filename="f"`, "x") + "--x--\r\n", url.Values{"from": {"1"}, "text": {"a & b%"}}},
	} {
		got, err := provider.Form(c.kind, []byte(c.body))
		if d := cmp.Diff(c.want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, d)
		}
	}
	if got, err := provider.Form(boundary, []byte(part(`name="from"`, "1"))); err == nil {
		t.Errorf("a form that was cut off: %v", got)
	}
}

func FuzzForm(f *testing.F) {
	f.Add("application/x-www-form-urlencoded", "text=a%2&b;c=%zz&&=")
	f.Add("", "\ufeffa=b")
	f.Add("multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n")
	f.Fuzz(func(t *testing.T, kind, text string) {
		_, _ = provider.Form(kind, []byte(text))
		if want, err := url.ParseQuery(text); err == nil && cmp.Diff(want, provider.Fields(text)) != "" {
			t.Errorf("%q: %v, want %v", text, provider.Fields(text), want)
		}
		plain := strings.NewReplacer("&", "", "+", "", "=", "", "%", "").Replace(text)
		if got := provider.Fields("a=%&text=" + plain + "%").Get("text"); got != plain+"%" {
			t.Errorf("%q, want %q", got, plain+"%")
		}
		if got, err := provider.Unpack(packed(text), int64(len(text))); err != nil || string(got) != text {
			t.Errorf("%q (%v), want %q", got, err, text)
		}
		_, _ = provider.Unpack([]byte(text), 100)
		_, _ = provider.Unpack(append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00"), text...), 100)
	})
}

// An answer is read whether its server compresses it, labels it, or begins it with a byte order mark.
func TestDo_ReadsAnswersInEveryForm(t *testing.T) {
	t.Parallel()
	const text = `{"id": 17}`
	whole := string(packed(text))
	for name, c := range map[string]struct {
		header, body, want string
		err                bool
	}{
		"plain":               {"", text, text, false},
		"byte order mark":     {"", "\ufeff" + text, text, false},
		"gzip":                {"Content-Encoding: gzip\r\n", whole, text, false},
		"gzip, not labeled":   {"", whole, text, false},
		"gzip, only labeled":  {"Content-Encoding: gzip\r\n", text, text, false},
		"gzip and mark":       {"Content-Encoding: gzip\r\n", string(packed("\ufeff" + text)), text, false},
		"gzip, cut off":       {"Content-Encoding: gzip\r\n", whole[:len(whole)-4], text, true},
		"gzip of a big thing": {"Content-Encoding: gzip\r\n", string(packed(strings.Repeat("a", 1000))), strings.Repeat("a", 100), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(_ int, conn net.Conn) bool {
				_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n" + c.header + "\r\n" + c.body))
				return true
			})
			client := &http.Client{Transport: transport()}
			defer client.CloseIdleConnections()
			target, _ := url.Parse(s.url)
			request, err := provider.NewRequest(http.MethodGet, target, nil, provider.Credentials{})
			if err != nil {
				t.Fatal(err)
			}
			got := provider.Do(t.Context(), client, request, 100)
			if string(got.Body) != c.want || (got.Err != nil) != c.err || got.Delivery != provider.Answered {
				t.Errorf("%q (%v), want %q", got.Body, got.Err, c.want)
			}
			if name == "gzip of a big thing" && !errors.Is(got.Err, provider.ErrBodyTooLarge) {
				t.Error(got.Err)
			}
		})
	}
}
