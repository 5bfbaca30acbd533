package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"weir"
	"weir/web/api"
	"weir/web/auth"
)

// problem is an error response of the API.
type problem struct {
	Status int               `json:"status"`
	Detail string            `json:"detail"`
	Errors []weir.FieldError `json:"errors"`
	wait   string            // Retry-After
}

// Error returns the API's detail.
func (p *problem) Error() string { return p.Detail }

// routerError is an error in the format of the router's API.
type routerError struct {
	Message string `json:"message"`
	Details []struct {
		Message string `json:"message"`
	} `json:"details"`
}

// get reads a resource of the API.
func (v *visit) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return v.call(http.MethodGet, path, nil, into)
}

// call sends a request to the API with the rights of the session. body is sent as
// JSON; into, if not nil, receives the response.
func (v *visit) call(method, path string, body, into any) error {
	req, err := v.request(method, path, body)
	if err != nil {
		return err
	}
	res := &responseBuffer{header: http.Header{}}
	v.d.API.ServeHTTP(res, req)
	if err := req.Context().Err(); err != nil {
		return err
	}
	res.WriteHeader(http.StatusOK) // for a handler that has not
	if res.status >= http.StatusBadRequest {
		return problemOf(res)
	}
	if into == nil || res.status == http.StatusNoContent {
		return nil
	}
	if err := json.Unmarshal(res.body.Bytes(), into); err != nil {
		return fmt.Errorf("decode a response of the API: %w", err)
	}
	return nil
}

// forward lets the API answer the browser directly, for files too large to buffer
// in memory.
func (v *visit) forward(w http.ResponseWriter, path string) error {
	req, err := v.request(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	v.d.API.ServeHTTP(w, req)
	return nil
}

// request builds a request that the API treats as the browser's own.
func (v *visit) request(method, path string, body any) (*http.Request, error) {
	var r io.Reader = http.NoBody
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	ctx := v.r.Context()
	switch {
	case v.session:
		ctx = auth.WithSession(ctx)
	case v.token == "":
		ctx = auth.WithVisitor(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, r)
	if err != nil {
		return nil, err
	}
	// Host is set separately from the URL, because not every Host header is valid
	// in a URL.
	req.Host, req.RemoteAddr, req.RequestURI = v.r.Host, v.r.RemoteAddr, path
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	if v.id != "" {
		req.Header.Set(requestID, v.id)
	}
	if body != nil {
		kind := "application/json"
		if method == http.MethodPatch {
			kind = "application/merge-patch+json"
		}
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

func problemOf(res *responseBuffer) error {
	var said struct {
		problem
		Router *routerError `json:"error"`
	}
	_ = json.Unmarshal(res.body.Bytes(), &said) // an unreadable body leaves only the status
	p := &said.problem
	if e := said.Router; e != nil {
		p.Detail = e.Message
		for _, d := range e.Details {
			p.Errors = append(p.Errors, weir.FieldError{Detail: d.Message})
		}
	}
	p.Detail = cmp.Or(p.Detail, http.StatusText(res.status))
	p.Status, p.wait = res.status, res.header.Get("Retry-After")
	return p
}

// responseBuffer buffers a response of the API in memory.
type responseBuffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (h *responseBuffer) Header() http.Header { return h.header }

// WriteHeader implements http.ResponseWriter.
func (h *responseBuffer) WriteHeader(status int) {
	if h.status == 0 {
		h.status = status
	}
}

// Write implements http.ResponseWriter.
func (h *responseBuffer) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// statusOf returns the HTTP status of an error, and its problem.
func statusOf(err error) (int, *problem) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.Status, p
	}
	p := &problem{Status: http.StatusInternalServerError, Detail: "internal error; details are in the log"}
	switch code := weir.CodeOf(err); {
	case code == weir.CodeUnauthorised: // a session could not begin or end, here and in the next case
		p = &problem{Status: http.StatusUnauthorized}
	case code == weir.CodeUnavailable:
		p = &problem{Status: http.StatusServiceUnavailable, Detail: "the session could not be stored; try again", wait: "2"}
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded): // the browser disconnected, or it took too long
		p = &problem{Status: http.StatusServiceUnavailable, Detail: "the request timed out; try again", wait: "2"}
	}
	return p.Status, p
}

func titleOf(status int) string {
	switch status {
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusNotFound:
		return "Not found"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "Invalid request"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable:
		return "Unavailable"
	default:
		return "Internal error"
	}
}

// readIdentity reads the identity and scopes of the session.
func (v *visit) readIdentity() error {
	v.Who = api.WhoView{}
	return v.get("/v1/whoami", nil, &v.Who)
}
