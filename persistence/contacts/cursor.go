package contacts

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"weir"
)

// cursor is where a list goes on: behind this row. State is 0 in a list in
// the order of ids. A list from the newest on that spans channels has Channel 0.
type cursor struct {
	Channel int64 `json:"c"`
	State   int8  `json:"s,omitempty"`
	Lane    int64 `json:"l,omitempty"`
	Pos     int64 `json:"p,omitempty"`
	ID      int64 `json:"i"`
	Newest  bool  `json:"n,omitempty"`
	Ends    bool  `json:"e,omitempty"` // in the order of the ends, over channels
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // integers always encode
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what String wrote, for a list by the same states.
func parseCursor(text string, f *weir.ContactFilter) (cursor, error) {
	var c cursor
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	byState, spans := byState(f), (f.Newest || byEnds(f)) && f.Channel == 0
	if err != nil || c.Channel < 0 || (c.Channel == 0) != spans || c.String() != text || f.Channel != 0 && c.Channel != int64(f.Channel) ||
		c.Newest != f.Newest || c.Ends != byEnds(f) || byState != slices.Contains(f.States, weir.State(c.State)) {
		return cursor{}, notOfThisList()
	}
	return c, nil
}

// byState reports whether a list goes through the queue index, state by state. One
// that is bounded by acceptance goes through ids, which hold the instant; one that
// is bounded by the end goes through the index, which has that.
func byState(f *weir.ContactFilter) bool {
	return len(f.States) > 0 && f.Key == "" && len(f.To) == 0 && (f.Since.IsZero() && f.Until.IsZero() || finished(f))
}

// finished reports whether a filter bounds when contacts finished.
func finished(f *weir.ContactFilter) bool {
	return !f.FinishedSince.IsZero() || !f.FinishedUntil.IsZero() || !f.FinishedAfter.IsZero()
}

// byEnds reports whether a list is in the order of the ends over all channels.
func byEnds(f *weir.ContactFilter) bool {
	return !f.FinishedAfter.IsZero() && !f.Newest && f.Key == "" && len(f.To) == 0
}

func notOfThisList() error {
	return &weir.Error{
		Code: weir.CodeInvalid, Message: "the cursor is not of this list",
		Fields: []weir.FieldError{{Pointer: "/cursor", Code: "format", Detail: "must be the next_cursor of a list with the same filter"}},
	}
}
