package daemon

import (
	"weir/channels"
	"weir/channels/all"
	"weir/routing"
	"weir/web"
)

// Description returns the OpenAPI 3.1 description of the API of a Weir with all parts.
func Description() ([]byte, error) {
	// The router is never called: it is needed only for the type of worker channels.
	types := all.Types(struct{ routing.Engine }{})
	return web.Description(channels.NewDirectory(types, "", nil))
}
