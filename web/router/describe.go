package router

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"net/http"
)

// The description is a file because the protocol is frozen: clients of Azure define it.
// Tests compare it with the routes, with the members that requests may have, and with
// every response.
//
//go:embed openapi.json
var description []byte

// Description returns the OpenAPI 3.1 description of the API. server is the prefix
// of its paths; empty: none.
func Description(server string) ([]byte, error) {
	if server == "" {
		return description, nil
	}
	url, err := json.Marshal(server)
	return bytes.Replace(description, []byte(`"url": "/"`), append([]byte(`"url": `), url...), 1), err
}

// Described serves the description of the API; see [Description].
func Described(server string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := Description(server)
		if err != nil {
			writeFault(w, r.URL.EscapedPath(), err)
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(text) // the client may have disconnected
	})
}
