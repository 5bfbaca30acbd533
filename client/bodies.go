package client

import "slices"

// A POST is safe to repeat if its body contains keys by which the server
// recognizes the repetition.

func (b ContactsBody) repeatable() bool {
	return !slices.ContainsFunc(b.Contacts, func(c ContactBody) bool { return c.Key == "" })
}

func (b HearingBody) repeatable() bool { return len(b.Messages) == 0 || b.Key != "" }

func (b SearchBody) repeatable() bool { return true }
