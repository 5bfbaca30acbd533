package client

import "slices"

// What makes a POST safe to repeat is in its body: keys that the server knows
// again.

func (b ContactsBody) repeatable() bool {
	return !slices.ContainsFunc(b.Contacts, func(c ContactBody) bool { return c.Key == "" })
}

func (b HearingBody) repeatable() bool { return len(b.Messages) == 0 || b.Key != "" }

func (b SearchBody) repeatable() bool { return true }
