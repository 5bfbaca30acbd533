package people

import (
	"errors"
	"slices"
	"strings"

	"weir/surveys/respondents"
)

// columnNames are the columns that the flags name.
type columnNames struct {
	address, status, at, words string
	given                      func(flag string) bool // an empty name on the command line: there is no such column
}

// columns are the columns of a list, by their number; -1: there is none.
type columns struct {
	names                      []string // as in the file
	address, status, at, words int
	yes                        string // the status of a value such as true; empty: such values are invalid
}

// Names of columns that are found without a flag, as [respondents.PlainHeader] returns them; of several, the
// first one counts. A date of a person's record is none of a refusal, so that "created" is
// not among them.

func addressNames() []string {
	return []string{"to", "phone", "phonenumber", "number", "msisdn", "optedoutnumber", "destinationphonenumber", "recipient", "mobile", "mobilenumber", "telephone", "contactid", "address"}
}

func atNames() []string {
	return []string{"at", "optedouttimestamp", "optedoutat", "optedoutdate", "optoutat", "optoutdate", "optouttimestamp", "dateoptedout", "dateofconsent", "timestamp", "datetime", "date"}
}

func statusNames() []string {
	return []string{"status", "consent", "consentstatus", "optinstatus", "optoutstatus", "optedout", "optout", "optedin", "optin", "subscribed", "unsubscribed"}
}

// columnError says that the columns of a list are not known.
type columnError struct{ text string }

// Error implements error.
func (e *columnError) Error() string { return e.text }

// findColumns finds the columns of a list. Its errors quote no name of the file: without a
// header, the first line has a person's number.
func findColumns(names []string, wanted columnNames) (columns, error) {
	out := columns{names: make([]string, len(names))}
	plainNames := make([]string, len(names))
	for i, name := range names {
		out.names[i], plainNames[i] = strings.TrimSpace(name), respondents.PlainHeader(name)
	}
	var err error
	find := func(flag, name string, known []string) int {
		i, wrong := out.find(plainNames, flag, name, wanted.given(flag), known)
		err = errors.Join(err, wrong)
		return i
	}
	out.address = find("address", wanted.address, addressNames())
	out.at = find("at", wanted.at, atNames())
	out.words = find("words", wanted.words, []string{"words"})
	out.status = find("status", wanted.status, nil)
	switch {
	case err != nil:
		return out, err
	case out.address < 0:
		return out, &columnError{"no column of addresses is found: the first line must name the columns, one of them phone; --address names another one"}
	case plainNames[out.address] == "to" && slices.Contains(plainNames, "from") && !wanted.given("address"):
		// Of a message that a person sent, the number of the person is in from.
		return out, &columnError{"the list has the columns from and to; --address says which one has the people"}
	case !wanted.given("status") && slices.ContainsFunc(statusNames(), func(s string) bool { return slices.Contains(plainNames, s) }):
		return out, &columnError{"the list has a column that may say who refused and who gave consent; --status names it, and with --status \"\" every row is a refusal"}
	case out.status >= 0:
		out.yes = meansYes(plainNames[out.status])
	}
	return out, nil
}

// find returns the number of a column that a flag names, or else of the first one that is
// known.
func (c *columns) find(plainNames []string, flag, name string, asked bool, known []string) (int, error) {
	if asked {
		if name == "" {
			return -1, nil
		}
		known = []string{respondents.PlainHeader(name)}
		if i := slices.IndexFunc(c.names, func(n string) bool { return strings.EqualFold(n, strings.TrimSpace(name)) }); i >= 0 {
			return i, nil // two columns may differ in signs alone
		}
	}
	for _, k := range known {
		i := slices.Index(plainNames, k)
		if i < 0 {
			continue
		}
		if slices.Contains(plainNames[i+1:], k) {
			return -1, &columnError{"the list has two columns that --" + flag + " could mean"}
		}
		return i, nil
	}
	if asked {
		return -1, &columnError{"--" + flag + " names no column of the list"}
	}
	return -1, nil
}

// meansYes returns the status of true in a column: of opted_out it is another than of
// opted_in. Empty: its name does not say.
func meansYes(column string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(column, p) })
	}
	switch {
	case has("optedout", "optout", "unsubscribe", "refus", "donotcontact", "donotcall", "dnc"):
		return refused
	case has("optedin", "optin", "subscribe", "consent", "given"):
		return given
	}
	return ""
}

// statusOf returns the status that a value says. ok is false if the value is invalid. A
// person who has not opted out has not said anything: no status.
func (c *columns) statusOf(value string) (status string, ok bool) {
	switch respondents.PlainHeader(value) {
	case "refused", "optedout", "optout", "unsubscribed":
		return refused, true
	case "given", "optedin", "optin", "reoptin", "subscribed":
		return given, true
	case "true", "yes", "1":
		return c.yes, c.yes != ""
	case "false", "no", "0":
		if c.yes == given {
			return refused, true
		}
		return "", c.yes != ""
	}
	return "", false
}

// allowedStatus is the reason of a row without a valid status.
func (c *columns) allowedStatus() string {
	if c.yes == "" {
		return "must be refused or given (or opted out, opted in)"
	}
	return "must be refused or given (or opted out, opted in, true, false)"
}

// used returns the names of the columns that are read, by what they mean.
func (c *columns) used() map[string]string {
	out := map[string]string{}
	for meaning, i := range map[string]int{"address": c.address, "status": c.status, "at": c.at, "words": c.words} {
		if i >= 0 {
			out[meaning] = c.names[i]
		}
	}
	return out
}

// text says which columns are read.
func (c *columns) text() string {
	var b strings.Builder
	b.WriteString("  addresses are in " + c.names[c.address])
	for _, x := range []struct {
		column        int
		what, missing string
	}{
		{c.status, "refused or given in ", "every row is a refusal"}, {c.at, "instants in ", "all are of now"}, {c.words, "words in ", "no words"},
	} {
		if x.column < 0 {
			b.WriteString(", " + x.missing)
		} else {
			b.WriteString(", " + x.what + c.names[x.column])
		}
	}
	return b.String() + "\n"
}
