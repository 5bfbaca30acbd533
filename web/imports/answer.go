package imports

import (
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"weir"
	"weir/api"
	"weir/surveys/respondents"
	"weir/web/auth"
	"weir/web/httpjson"
	"weir/web/route"
)

// Counts is the header of an answer that is a file of refused rows: the figures of the answer, as JSON.
const Counts = "Weir-Import"

// ColumnsOf returns columns for an answer, with what is wrong with them and their first values.
// Without pii, numbers are masked; values of the field number are masked whatever they are.
func ColumnsOf(columns []Column, wrong []weir.FieldError, values [][]string, pii bool, number string) []api.ImportColumn {
	mask := auth.MaskText
	if pii {
		mask = func(text string) string { return text }
	}
	list := make([]api.ImportColumn, len(columns))
	for n, c := range columns {
		list[n] = api.ImportColumn{Header: mask(c.Header), Field: mask(c.Field)}
		for _, value := range values[n] {
			if c.Field == number && !pii {
				value = auth.MaskNumber(value)
			}
			list[n].Values = append(list[n].Values, mask(value))
		}
		for _, e := range wrong {
			if e.Pointer == "/columns/"+strconv.Itoa(n) {
				list[n].Wrong = e.Detail
			}
		}
	}
	return list
}

// FirstValues reads the first values of columns that are not understood.
func (t *Table) FirstValues() [][]string {
	values := make([][]string, len(t.Columns))
	for range FirstValues {
		cells, err := t.Cells()
		if err != nil {
			break
		}
		for i := range min(len(values), len(cells)) {
			values[i] = append(values[i], cells[i])
		}
	}
	return values
}

// CheckHeader refuses a file with other columns than the one that the parameter header is of; see [Sum].
func CheckHeader(want string, headers []string) []weir.FieldError {
	if want == "" || want == Sum(headers) {
		return nil
	}
	return []weir.FieldError{{Pointer: "/header", Code: "changed", Detail: "the file has other columns than the one of the dry run"}}
}

// Listed returns the first reasons for an answer.
func Listed(reasons []respondents.RowError) []respondents.RowError {
	if reasons == nil {
		return []respondents.RowError{}
	}
	return reasons
}

// Ready returns the check of an import before each batch: it ends with the process, and with what
// admits its client.
func Ready(c *route.Call, ending func() bool) func() error {
	return func() error {
		if ending != nil && ending() {
			return route.ErrDraining()
		}
		if !c.Principal.StillAdmitted() {
			return auth.ErrWrongToken()
		}
		return nil
	}
}

// EndOf returns the error of an import that ended early, for the client.
func EndOf(c *route.Call, err error) error {
	if known := weir.CodeOf(err); known != weir.CodeInternal {
		return err
	}
	if cause := c.Err(); cause != nil {
		return &weir.Error{Code: weir.CodeUnavailable, Message: "the import was ended; send the file again to continue", Cause: cause}
	}
	return route.ReadError(err)
}

// accepts reports whether the answer may have a media type that the request names.
func accepts(r *http.Request, kind string) bool {
	for item := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if got, _, err := mime.ParseMediaType(item); err == nil && got == kind {
			return true
		}
	}
	return false
}

// KeepRefused returns a keeper of the refused rows of a file if the answer is to have them, which
// the caller closes; nil: it is not.
func KeepRefused(r *http.Request, of *Table) (*Refused, error) {
	if !accepts(r, MixedType) && !accepts(r, route.CSVType) && !accepts(r, route.NDJSONType) {
		return nil, nil //nolint:nilnil // none is wanted
	}
	refused, err := NewRefused(of)
	if err != nil {
		return nil, &weir.Error{Code: weir.CodeUnavailable, Message: "there is no room for a temporary file of rejected rows", Cause: err}
	}
	return refused, nil
}

// Answer writes what came of a file that was read to its end: told, with the refused rows if the
// request asks for them. figures are those of told, for the header [Counts].
func Answer(w http.ResponseWriter, r *http.Request, p *route.Deadlines, refused *Refused, told, figures any) error {
	if refused == nil {
		httpjson.WriteJSON(w, http.StatusOK, told)
		return nil
	}
	if accepts(r, MixedType) {
		return writeMixed(w, p, refused, told)
	}
	raw, _ := json.Marshal(figures) // numbers cannot fail
	w.Header().Set(Counts, string(raw))
	w.Header().Set("Content-Type", refused.mediaType())
	w.WriteHeader(http.StatusOK)
	_, err := refused.WriteTo(p)
	return abortOn(err)
}

// writeMixed writes an answer and the refused rows as parts of one body.
func writeMixed(w http.ResponseWriter, p *route.Deadlines, refused *Refused, told any) error {
	parts := multipart.NewWriter(p)
	w.Header().Set("Content-Type", MixedType+"; boundary="+parts.Boundary())
	w.WriteHeader(http.StatusOK)
	part, err := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {httpjson.JSONType}})
	if err == nil {
		err = json.NewEncoder(part).Encode(told)
	}
	if err == nil && refused.Kept > 0 {
		part, err = parts.CreatePart(textproto.MIMEHeader{"Content-Type": {refused.mediaType()}})
		if err == nil {
			_, err = refused.WriteTo(part)
		}
	}
	if err == nil {
		err = parts.Close()
	}
	return abortOn(err)
}

// mediaType returns the media type of the file.
func (r *Refused) mediaType() string {
	if r.Format == respondents.NDJSON {
		return route.NDJSONType
	}
	return route.CSVType + "; charset=utf-8"
}

// abortOn aborts the connection after an error: an answer that began must not look whole.
func abortOn(err error) error {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}
