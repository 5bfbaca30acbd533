// Package all holds the table of channel types. It is the only place that
// lists them: a new type is a folder and a line here.
package all

import (
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/verboice"
)

// Types is the table, in the order in which people see it.
func Types() []channels.Type {
	return []channels.Type{
		verboice.Type(),
		nuntium.Type(),
	}
}
