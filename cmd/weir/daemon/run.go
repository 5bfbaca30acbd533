package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"weir/internal/failpoint"
	"weir/persistence/database"
)

// Limit is the maximum time that a daemon takes to stop. Steps that each take their own limit
// are cut short.
const Limit = 25 * time.Second

const (
	quietLimit    = 18 * time.Second       // for contacts that are on their way to a provider
	serveLimit    = 2 * time.Second        // for requests in progress
	handOverLimit = 2 * time.Second        // for rounds of surveys and groups of the router
	passLimit     = 10 * time.Second       // for requests that wait for the next owner, and are passed on
	leaveLimit    = 18 * time.Second       // for requests that a standby is passing on
	noticeTime    = time.Second            // that a process which others replace listens after it is not ready: what the system has accepted when it stops is reset
	closingTime   = 250 * time.Millisecond // ... and at least, in which the connections that balancers keep are used once more
)

// Run builds a daemon and runs it until ctx ends.
func Run(ctx context.Context, o Options) error {
	d, err := New(ctx, o)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // canceled while standing by: there is nothing to drain
	}
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// Run serves until ctx ends, then drains and closes the daemon. It returns nil
// after an orderly shutdown.
func (d *Daemon) Run(ctx context.Context) error {
	broken := make(chan error, 1)
	// Requests are answered while the channels resume, because providers report at any time.
	go func() { broken <- d.serve() }()
	d.log.Info("listening", append(d.startFields, "address", d.Addr())...)

	if !d.parts.store.Owns() {
		d.notify("READY=1")
		if err := d.standByUntil(ctx, broken); err != nil || ctx.Err() != nil {
			return errors.Join(err, d.leave(context.WithoutCancel(ctx)))
		}
	}
	err := d.parts.resume(ctx)
	d.takeOver.reached(phaseResume)
	failpoint.Hit("own.loaded")
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("resume: %w", err)
	} else {
		d.notify("READY=1")
		err = d.wait(ctx, broken)
	}
	if errors.Is(err, errLost) { // there is nothing to drain
		return errors.Join(err, d.Close(context.WithoutCancel(ctx)))
	}
	return errors.Join(err, d.stop(context.WithoutCancel(ctx)))
}

// standByUntil stands by until this process owns the database, or ctx ends.
func (d *Daemon) standByUntil(ctx context.Context, broken <-chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		err := d.standBy(ctx)
		if ctx.Err() != nil && !d.parts.store.Owns() {
			err = nil // it was told to end
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case err := <-broken:
		cancel(err)
		return errors.Join(fmt.Errorf("HTTP server: %w", err), <-ended)
	}
}

// leave ends a standby: it takes no more connections, and finishes the requests that it is
// passing on.
func (d *Daemon) leave(ctx context.Context) error {
	d.notify("STOPPING=1")
	d.draining.Store(true)
	d.ending.Store(true)
	d.log.Info("leaving", "owner", d.parts.store.Owns())
	stop := d.follow(ctx) // what it passes on is for the next owner, once there is another
	database.Pause(ctx, noticeTime)
	d.peers.forwarder.EndStreams()
	err := runWithin(ctx, leaveLimit, "HTTP server", d.shutDown)
	stop()
	return errors.Join(err, d.Close(ctx))
}

// follow looks who owns the database, for the requests that wait, until it is stopped.
func (d *Daemon) follow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.parts.store.Follow(ctx) })
	return func() { cancel(); following.Wait() }
}

// serve answers requests until the server stops.
func (d *Daemon) serve() error {
	if d.server.TLSConfig != nil {
		return d.server.ServeTLS(d.listener, "", "")
	}
	return d.server.Serve(d.listener)
}

// errLost ends a daemon that has lost its database, so that whatever it writes is refused.
var errLost = errors.New("the supervisor has to restart this process")

// wait returns nil once ctx ends, or the error that keeps the daemon from serving.
func (d *Daemon) wait(ctx context.Context, broken <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-broken:
		return fmt.Errorf("HTTP server: %w", err)
	case <-d.parts.store.Lost():
		if err := d.parts.store.Missing(); err != nil {
			return fmt.Errorf("database: %w; %w", err, errLost)
		}
		return fmt.Errorf("another process owns the database now; %w", errLost)
	}
}

// stop stops the daemon in two phases. First it gets quiet: nothing is claimed, and
// everything else goes on, until no contact is on its way to a provider. Then it hands over:
// it accepts no more requests, finishes running ones, ends its components and releases the
// database.
func (d *Daemon) stop(ctx context.Context) error {
	d.notify("STOPPING=1")
	start := time.Now()
	d.draining.Store(true)
	d.log.Info("draining")
	all, cancel := context.WithDeadline(ctx, start.Add(Limit-closeLimit))
	defer cancel()
	err := d.drain(all, start)
	err = errors.Join(err, d.Close(ctx))
	if err != nil {
		d.log.Error("shutdown incomplete", "took", time.Since(start), "error", err)
		return err
	}
	d.log.Info("stopped", "took", time.Since(start))
	return nil
}

// drain ends the work of the owner, in two phases; see stop.
func (d *Daemon) drain(ctx context.Context, start time.Time) error {
	err := runWithin(ctx, quietLimit, "drain", d.parts.channels.Quiet)
	failpoint.Hit("hand.quiet")
	d.ending.Store(true)
	if d.peers.hasSuccessor() {
		return errors.Join(err, d.handToHeir(ctx, start))
	}
	return errors.Join(err,
		runWithin(ctx, serveLimit, "HTTP server", d.shutDown),
		runWithin(ctx, serveLimit, "requests of peers", d.finishPeers),
		runWithin(ctx, handOverLimit, "hand-over", d.parts.handOver),
	)
}

// finishPeers lets the requests finish that other processes have passed on.
func (d *Daemon) finishPeers(ctx context.Context) error {
	if d.peers == nil {
		return nil
	}
	d.peers.server.Refuse()
	return d.board.stop(ctx)
}

// handToHeir hands the database to another process: new requests wait, running ones finish,
// and are passed on once the other owns the database.
// It listens for long enough after drained that balancers notice, and after that they use
// none of the connections that they keep; see [Daemon.closing].
func (d *Daemon) handToHeir(ctx context.Context, drained time.Time) error {
	err := errors.Join(
		runWithin(ctx, serveLimit, "requests", d.finishPeers),
		runWithin(ctx, handOverLimit, "hand-over", d.parts.handOver),
		runWithin(ctx, closeLimit, "components", d.owner.run),
		runWithin(ctx, closeLimit, "release", d.parts.store.Release),
	)
	d.peers.server.Released()
	defer d.follow(ctx)()
	database.Pause(ctx, max(closingTime, time.Until(drained.Add(noticeTime))))
	return errors.Join(err, runWithin(ctx, passLimit, "requests held", d.shutDown))
}

// shutDown takes no more connections, and lets requests in progress finish.
func (d *Daemon) shutDown(ctx context.Context) error {
	_ = d.listener.Close() // Shutdown closes it again
	d.connections.AwaitFirst(ctx)
	err := d.server.Shutdown(ctx)
	switch {
	case errors.Is(err, http.ErrServerClosed), errors.Is(err, net.ErrClosed):
		return nil
	case errors.Is(err, context.DeadlineExceeded): // a client with a slow upload is not our failure
		d.log.Warn("requests aborted at the end of the drain")
		return d.server.Close()
	default:
		return err
	}
}

func runWithin(ctx context.Context, limit time.Duration, name string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return cleanup{name, do}.run(ctx)
}

// notify reports the state of the process to systemd (sd_notify), if it runs under
// systemd. If systemd cannot be reached, the daemon still runs.
func (d *Daemon) notify(state string) {
	if d.notifySocket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", d.notifySocket)
	if err != nil {
		d.log.Warn("sd_notify failed", "state", state, "error", err)
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write([]byte(state))
}
