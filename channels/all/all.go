// Package all holds the table of channel types. It is the only place that
// lists them: a new type is a folder and a line here.
package all

import (
	"weir/channels"
	"weir/channels/nuntium"
	"weir/channels/verboice"
	"weir/channels/workers"
	"weir/routing"
)

// Types is the table, in the order in which people see it. Without a router
// there are no channels to workers.
func Types(router routing.Engine) []channels.Type {
	types := []channels.Type{
		verboice.Type(),
		nuntium.Type(),
	}
	if router != nil {
		types = append(types, workers.Type(router))
	}
	return types
}
