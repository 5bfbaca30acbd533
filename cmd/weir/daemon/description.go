package daemon

import (
	"weir/channels"
	"weir/channels/all"
	"weir/routing"
	"weir/web"
)

// Description describes the API of a Weir that has every part, in OpenAPI 3.1.
func Description() ([]byte, error) {
	// Nobody asks this router anything: there have to be channels to people.
	types := all.Types(struct{ routing.Engine }{})
	return web.Description(channels.NewDirectory(types, "", nil))
}
