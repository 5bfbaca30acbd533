package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// provider is a run's client of the stub.
type provider struct{ url string }

// reset clears the stub, and announces the next run.
func (p provider) reset(ctx context.Context, e expectation) error {
	return p.do(ctx, http.MethodPost, "/reset", e, nil)
}

// mark begins the timeline of arrivals.
func (p provider) mark(ctx context.Context) error {
	return p.do(ctx, http.MethodPost, "/mark", nil, nil)
}

func (p provider) figures(ctx context.Context) (f seenByProvider, err error) {
	return f, p.do(ctx, http.MethodGet, "/figures", nil, &f)
}

// arrived returns the contacts in the order of their arrival.
func (p provider) arrived(ctx context.Context) (ids []int, err error) {
	return ids, p.do(ctx, http.MethodGet, "/arrived", nil, &ids)
}

func (p provider) do(ctx context.Context, method, path string, in, out any) error {
	return p.doAs(ctx, "", method, path, in, out)
}

// announce sets the address at the provider to which an application's acks go.
func (p provider) announce(ctx context.Context, application, ack string) error {
	return p.doAs(ctx, application, http.MethodPut, "/api/applications/me", map[string]any{"delivery_ack": map[string]string{"method": "post", "url": ack}}, nil)
}

// doAs makes a request as an application.
func (p provider) doAs(ctx context.Context, application, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, body)
	if err != nil {
		return err
	}
	if application != "" {
		r.SetBasicAuth(account+"/"+application, "secret")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("the provider: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider answers %s", answer.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(out)
}
