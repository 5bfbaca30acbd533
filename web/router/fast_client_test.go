package router_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net"
	"net/http"
	"strconv"
	"time"
)

// fastClient is a client on one connection of its own that uses little CPU: in a
// benchmark on one machine, client and server share the cores, so the client's cost
// lowers the server's result. It sends the same requests as any client, signs each
// one, and checks status, tag and ids of every response.
type fastClient struct {
	conn net.Conn
	in   *bufio.Reader
	host string
	mac  hash.Hash // over the access key, reset for each request
	now  func() time.Time

	second int64 // of date
	date   []byte
	out    []byte // the request
	text   []byte // the string to sign
	sum    []byte
	got    reply
}

// reply is the latest response.
type reply struct {
	status int
	tag    []byte
	body   []byte
}

func (r *rig) fastClient(address string) (*fastClient, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &fastClient{conn: conn, in: bufio.NewReaderSize(conn, 8<<10), host: address, mac: hmac.New(sha256.New, r.key), now: r.engine.now}, nil
}

// send sends a signed request and reads the response.
func (l *fastClient) send(method, target string, body []byte) error {
	if at := l.now(); at.Unix() != l.second {
		l.second, l.date = at.Unix(), at.UTC().AppendFormat(l.date[:0], http.TimeFormat)
	}
	digest := sha256.Sum256(body)
	var room [44]byte
	hashed := room[:]
	base64.StdEncoding.Encode(hashed, digest[:])
	l.text = append(append(append(l.text[:0], method...), '\n'), target...)
	l.text = append(append(append(l.text, '\n'), l.date...), ';')
	l.text = append(append(append(l.text, l.host...), ';'), hashed...)
	l.mac.Reset()
	l.mac.Write(l.text)
	l.sum = l.mac.Sum(l.sum[:0])

	b := append(append(append(append(l.out[:0], method...), ' '), target...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, l.host...), "\r\nX-Ms-Date: "...)
	b = append(append(b, l.date...), "\r\nX-Ms-Content-Sha256: "...)
	b = append(append(b, hashed...), "\r\nAuthorization: HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature="...)
	b = base64.StdEncoding.AppendEncode(b, l.sum)
	if len(body) > 0 {
		b = append(b, "\r\nContent-Type: application/merge-patch+json"...)
	}
	if method != http.MethodGet {
		b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), int64(len(body)), 10)
	}
	l.out = append(append(b, "\r\n\r\n"...), body...)
	if _, err := l.conn.Write(l.out); err != nil {
		return err
	}
	return l.receive()
}

// receive reads a response that has a Content-Length.
func (l *fastClient) receive() error {
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[:9]) != "HTTP/1.1 " {
		return fmt.Errorf("the answer begins with %q", line)
	}
	if l.got.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return err
	}
	l.got.tag = l.got.tag[:0]
	length := -1
	for {
		if line, err = l.in.ReadSlice('\n'); err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		case "Etag":
			l.got.tag = append(l.got.tag, value...)
		}
	}
	if length < 0 || length > l.in.Size() {
		return fmt.Errorf("an answer of %d bytes", length)
	}
	if l.got.body, err = l.in.Peek(length); err != nil {
		return err
	}
	_, err = l.in.Discard(length) // peeked bytes stay valid until the next read
	return err
}

// step sends a request and checks the status of the response.
func (l *fastClient) step(method, target string, body []byte, want int) error {
	if err := l.send(method, target, body); err != nil {
		return err
	}
	if l.got.status != want {
		return fmt.Errorf("%s %s: %d instead of %d: %s", method, target, l.got.status, want, l.got.body)
	}
	return nil
}

// tagged reports whether a response is the resource id: it has that id, and the
// same tag in the header and in the body, where JSON escapes the quotation marks.
func (l *fastClient) tagged(id string) bool {
	bare := bytes.Trim(l.got.tag, `"`)
	inside, _, _ := bytes.Cut(l.got.body, []byte(`","`))
	return len(bare) > 0 && string(inside) == `{"etag":"\"`+string(bare)+`\"` && string(l.member("id")) == id
}

// member returns the text of a member that occurs exactly once in the response,
// otherwise nil.
func (l *fastClient) member(name string) []byte {
	key := []byte(`"` + name + `":"`)
	_, after, _ := bytes.Cut(l.got.body, key)
	value, _, ok := bytes.Cut(after, []byte{'"'})
	if !ok || bytes.Contains(after, key) {
		return nil
	}
	return value
}

var (
	errNotTagged = errors.New("the answer lacks the id or the tag of the resource")
	errNotDone   = errors.New("the answer of an action is not {}")
)

// cycle is like caller.cycle.
func (l *fastClient) cycle(worker int, job string) error {
	name := "w" + strconv.Itoa(worker)
	w, j := "/routing/workers/"+name, "/routing/jobs/"+job
	body := `{"channelId":"chat","queueId":"q","requestedWorkerSelectors":[{"key":"Id","labelOperator":"equal","value":"` + name + `"}]}`
	if err := l.step("PATCH", j+suffix, []byte(body), 201); err != nil {
		return err
	}
	if !l.tagged(job) {
		return errNotTagged
	}
	if err := l.step("GET", w+suffix, nil, 200); err != nil {
		return err
	}
	offer := string(l.member("offerId"))
	if !l.tagged(name) || offer == "" || string(l.member("jobId")) != job {
		return fmt.Errorf("worker %d is %s; want one offer, of %s", worker, l.got.body, job)
	}
	if err := l.step("POST", w+"/offers/"+offer+":accept"+suffix, nil, 200); err != nil {
		return err
	}
	assignment := string(l.member("assignmentId"))
	if assignment == "" || string(l.member("jobId")) != job || string(l.member("workerId")) != name {
		return fmt.Errorf("worker %d accepted the offer of %s: %s", worker, job, l.got.body)
	}
	for _, action := range []string{":complete", ":close"} {
		if err := l.step("POST", j+"/assignments/"+assignment+action+suffix, nil, 200); err != nil {
			return err
		}
		if string(l.got.body) != "{}" {
			return errNotDone
		}
	}
	return nil
}
