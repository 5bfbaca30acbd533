// Package all is the table of channel types. Adding a type is its folder and
// one line here.
package all

import (
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/verboice"
)

// Types lists every channel type of this program.
func Types() []channels.Type {
	return []channels.Type{
		verboice.Type(),
		nuntium.Type(),
	}
}
