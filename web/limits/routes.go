// Package limits holds the routes of limits that channels share, of prices, and of what was spent.
package limits

import (
	"slices"
	"time"

	"weir/limits"
	webapi "weir/web/api"
	"weir/web/route"
)

// Options are the parts of Weir that the routes use.
type Options struct {
	Store    limits.Store
	Channels webapi.ChannelReader
	Now      func() time.Time
}

// Routes returns the route table.
func Routes(o Options) []*route.Route {
	bounds := &limitRoutes{o.Store, o.Store, o.Channels}
	prices := &priceRoutes{o.Store, o.Store, o.Channels, o.Now}
	return slices.Concat(bounds.table(), prices.table())
}
