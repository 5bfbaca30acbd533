package weir

import "context"

// Looker finds out what other processes have left for this one, with one
// statement, so that it can be asked often.
type Looker interface {
	// Look lists the inbox as [Inbox] does, and, if they are asked for, the
	// orphans as [Leaser] does. Whoever waits for events or tokens of other
	// processes is told by it.
	Look(ctx context.Context, limit int, orphans bool) (Look, error)
}

// Look is what a look has found.
type Look struct {
	Items   []InboxItem
	Orphans []ChannelID
	News    bool // there are events or tokens that the look before did not see
}
