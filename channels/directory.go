package channels

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"weir"
	"weir/internal/httponce"
	"weir/internal/outbound"
)

// Directory holds the channel types and keeps one driver for each channel. It
// is safe for concurrent use.
type Directory struct {
	types     []Type
	publicURL string
	transport func(weir.Channel) http.RoundTripper
	guard     outbound.Policy // of guarded types

	mu      sync.Mutex
	drivers map[weir.ChannelID]cached
}

type cached struct {
	version int64
	driver  Driver
	client  *http.Client
}

// NewDirectory returns a directory over a table of types. publicURL is where
// providers reach this program. transport may be nil: then each channel has
// connections of its own and keeps at most 256 of them idle.
func NewDirectory(types []Type, publicURL string, transport func(weir.Channel) http.RoundTripper) *Directory {
	return &Directory{
		types: types, publicURL: strings.TrimRight(publicURL, "/"), transport: transport,
		drivers: map[weir.ChannelID]cached{},
	}
}

// Guard sets which addresses channels of guarded types may call. Without it, these are
// public addresses over https.
func (d *Directory) Guard(p outbound.Policy) { d.guard = p }

// transportOf returns the transport of a channel.
func (d *Directory) transportOf(c weir.Channel, guarded bool) http.RoundTripper {
	switch {
	case d.transport != nil:
		return d.transport(c)
	case guarded:
		return d.guard.Transport()
	}
	return ownTransport()
}

// PublicURL returns where providers reach this program, without a trailing slash.
func (d *Directory) PublicURL() string { return d.publicURL }

// Types lists the channel types in the order of the table.
func (d *Directory) Types() []Type { return d.types }

// Type returns a channel type by name.
func (d *Directory) Type(name string) (*Type, bool) {
	for i := range d.types {
		if d.types[i].Name == name {
			return &d.types[i], true
		}
	}
	return nil, false
}

// Driver returns the driver of a channel as it is configured now.
func (d *Directory) Driver(c weir.Channel) (Driver, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	have, ok := d.drivers[c.ID]
	if ok && have.version >= c.Version { // a caller's copy of the row may be old
		return have.driver, nil
	}
	t, known := d.Type(c.Type)
	if !known {
		return nil, fmt.Errorf("channel %s: this program has no channel type %q", c.Name, c.Type)
	}
	client := have.client
	if client == nil {
		client = &http.Client{Transport: d.transportOf(c, t.Guarded), CheckRedirect: refuseRedirect}
	}
	driver, err := t.New(Config{Settings: c.Settings, CallbackURL: d.CallbackURL(c), HTTP: client})
	if err != nil {
		return nil, fmt.Errorf("channel %s: %w", c.Name, err)
	}
	d.drivers[c.ID] = cached{c.Version, driver, client}
	return driver, nil
}

// Status asks the provider once, with the settings of a channel that need not exist. Nothing of it
// is kept: neither the driver nor a connection.
func (d *Directory) Status(ctx context.Context, c weir.Channel) (Status, error) {
	t, known := d.Type(c.Type)
	if !known {
		return Status{}, fmt.Errorf("this program has no channel type %q", c.Type)
	}
	client := &http.Client{Transport: d.transportOf(c, t.Guarded), CheckRedirect: refuseRedirect}
	if d.transport == nil { // otherwise it may be shared
		defer client.CloseIdleConnections()
	}
	driver, err := t.New(Config{Settings: c.Settings, CallbackURL: d.CallbackURL(c), HTTP: client})
	if err != nil {
		return Status{}, err
	}
	return driver.Status(ctx), nil
}

// Forget drops the driver of a channel and closes its idle connections.
func (d *Directory) Forget(id weir.ChannelID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if have, ok := d.drivers[id]; ok {
		have.client.CloseIdleConnections()
		delete(d.drivers, id)
	}
}

// Close drops every driver.
func (d *Directory) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, have := range d.drivers {
		have.client.CloseIdleConnections()
		delete(d.drivers, id)
	}
}

// CallbackURL returns the base of a channel's callbacks. It holds the channel's
// secret and must not be logged.
func (d *Directory) CallbackURL(c weir.Channel) string {
	return d.publicURL + "/callbacks/" + c.Name + "/" + c.Secret
}

// refuseRedirect keeps credentials and repeated sends from following a provider's
// redirect to another place: a redirect is handled like any other answer.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ownTransport gives a channel its own connections, so that trouble with one
// provider does not affect other channels.
func ownTransport() http.RoundTripper {
	return httponce.New(httponce.Options{Proxy: http.ProxyFromEnvironment})
}
