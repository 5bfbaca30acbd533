package simulation

import (
	"encoding/json"
	"net/http"
)

// ControlPath is where a simulator has its control interface.
const ControlPath = "/_simulator/"

// control returns the HTTP control interface that every simulator has, under
// [ControlPath]:
//
//	GET  records        {"lines":[LineReport…]}
//	GET  keys?line=L    {"keys":[KeyReport…]}
//	GET  faults         {"rules":["status=503@send:0.1",…]}
//	POST faults         the same document replaces the rules; 400 {"error":…} changes nothing
//	POST reset          clears all counts and, through reset, everything that
//	                    the simulator is doing
func control(tally *Tally, faults *Faults, reset func()) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ControlPath+"records", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"lines": tally.Snapshot()})
	})
	mux.HandleFunc("GET "+ControlPath+"keys", func(w http.ResponseWriter, r *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"keys": tally.Keys(r.FormValue("line"))})
	})
	mux.HandleFunc("GET "+ControlPath+"faults", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, rulesDocument{faults.Rules()})
	})
	mux.HandleFunc("POST "+ControlPath+"faults", func(w http.ResponseWriter, r *http.Request) {
		var document rulesDocument
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&document)
		if err == nil {
			err = faults.Set(document.Rules...)
		}
		if err != nil {
			WriteJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		WriteJSON(w, http.StatusOK, rulesDocument{faults.Rules()})
	})
	mux.HandleFunc("POST "+ControlPath+"reset", func(w http.ResponseWriter, _ *http.Request) {
		reset()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

type rulesDocument struct {
	Rules []string `json:"rules"`
}

// WriteJSON answers with a JSON document. It ignores a client that is gone.
func WriteJSON(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}
