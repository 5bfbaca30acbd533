package daemon

import (
	"context"

	"weir"
)

// Channel reads a channel by name, for programs that embed a daemon.
func (d *Daemon) Channel(ctx context.Context, name string) (weir.Channel, error) {
	return d.parts.store.Channel(ctx, name)
}

// Accept accepts contacts without HTTP. They are durable when it returns.
func (d *Daemon) Accept(ctx context.Context, ch weir.Channel, specs []weir.Spec) ([]weir.Accepted, error) {
	return d.parts.channels.Accept(ctx, ch, specs)
}
