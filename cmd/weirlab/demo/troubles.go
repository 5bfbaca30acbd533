package demo

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"weir/cmd/weirlab/machine"
)

// standstill is how long the owner stands still: longer than its lease.
const standstill = 10 * time.Second

// troubles are the steps in which processes end, stand still or join, one after the other.
func (s *demonstration) troubles() []func(context.Context) error {
	return []func(context.Context) error{s.killOwner, s.endOwner, s.killStandby, s.addProcess, s.stopOwner}
}

// killOwner kills the owner like kill -9, and starts it again when another has taken over.
func (s *demonstration) killOwner(ctx context.Context) error {
	owner, epoch := s.cluster.owner()
	s.settled += owner.api.settled(ctx)
	pid := owner.Cmd.Process.Pid
	s.cluster.ending(epoch, "killed")
	began := time.Now()
	owner.Kill()
	s.say("kill -9 %d: process %d, the owner, is dead, with %s in flight. The standbys hold requests and callbacks until its lease has expired.",
		pid, owner.number, plural(s.inFlight(), "slot", "slots"))
	if err := s.successor(ctx, epoch, began); err != nil {
		return err
	}
	return s.again(ctx, owner)
}

// endOwner stops the owner with SIGTERM, as an upgrade does.
func (s *demonstration) endOwner(ctx context.Context) error {
	owner, epoch := s.cluster.owner()
	s.settled += owner.api.settled(ctx)
	s.say("SIGTERM to process %d, the owner: it claims nothing more, waits for its requests to the providers, and releases the database.", owner.number)
	s.cluster.ending(epoch, "SIGTERM")
	began, stopped := time.Now(), make(chan struct{})
	go func() {
		defer close(stopped)
		owner.Stop()
	}()
	err := s.successor(ctx, epoch, began)
	<-stopped
	if err != nil {
		return err
	}
	s.say("Process %d has ended after %.2f s.", owner.number, time.Since(began).Seconds())
	return s.again(ctx, owner)
}

// killStandby kills a standby, which holds nothing but requests.
func (s *demonstration) killStandby(ctx context.Context) error {
	m := s.cluster.standby()
	if m == nil {
		return errNoStandby
	}
	pid := m.Cmd.Process.Pid
	m.Kill()
	before, began := s.sent(), time.Now()
	s.say("kill -9 %d: process %d, a standby, is dead. The balancer gives its share to the others.", pid, m.number)
	if err := s.until(ctx, ownerLimit, func() bool { return s.sent() > before || s.idle() }); err != nil {
		return fmt.Errorf("nothing was dispatched after a standby was killed: %w", err)
	}
	s.say("The next contact was dispatched after %.2f s.", time.Since(began).Seconds())
	return s.again(ctx, m)
}

// addProcess adds a process.
func (s *demonstration) addProcess(ctx context.Context) error {
	began := time.Now()
	m, err := s.cluster.add(ctx)
	if err != nil {
		return err
	}
	s.say("Process %d is added: a standby that passes requests on after %.2f s (process id %d).", m.number, time.Since(began).Seconds(), m.Cmd.Process.Pid)
	return nil
}

// stopOwner lets the owner stand still for longer than its lease. When it wakes it is the
// owner no longer, and has to notice that before it sends anything.
func (s *demonstration) stopOwner(ctx context.Context) error {
	owner, epoch := s.cluster.owner()
	s.settled += owner.api.settled(ctx)
	s.cluster.ending(epoch, "stood still")
	began := time.Now()
	if err := owner.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	s.say("SIGSTOP to process %d, the owner: it stands still for %.0f s, as on a machine that swaps or is moved.", owner.number, standstill.Seconds())
	if err := s.successor(ctx, epoch, began); err != nil {
		return err
	}
	if err := s.until(ctx, standstill+time.Second, func() bool { return time.Since(began) >= standstill }); err != nil {
		return err
	}
	if err := owner.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	woken := time.Now()
	if err := s.until(ctx, wakeLimit, func() bool { return s.cluster.fallen() == owner }); err != nil {
		return fmt.Errorf("process %d goes on although another process owns the database: %w", owner.number, err)
	}
	if code := owner.Cmd.ProcessState.ExitCode(); code != 1 {
		return fmt.Errorf("process %d lost the database and ended with %d; want 1", owner.number, code)
	}
	s.say("SIGCONT: process %d finds that it owns the database no longer, and exits after %.2f s.", owner.number, time.Since(woken).Seconds())
	return s.again(ctx, owner)
}

// successor waits until another process owns the database and dispatches, and reports how
// long that took.
func (s *demonstration) successor(ctx context.Context, epoch int64, began time.Time) error {
	s.down = true
	defer func() { s.down = false }()
	next, later := s.cluster.owner()
	err := s.until(ctx, ownerLimit, func() bool {
		next, later = s.cluster.owner()
		return later > epoch
	})
	if err != nil {
		return fmt.Errorf("no other process owns the database: %w", err)
	}
	took, before := time.Since(began), s.sent()
	if err := s.until(ctx, ownerLimit, func() bool { return s.sent() > before || s.idle() }); err != nil {
		return fmt.Errorf("process %d owns the database and dispatches nothing: %w", next.number, err)
	}
	s.say("Process %d owns the database after %.2f s (epoch %d), and has dispatched %.2f s later.", next.number, took.Seconds(), later, (time.Since(began) - took).Seconds())
	return nil
}

// again starts a process that has ended, as its supervisor does.
func (s *demonstration) again(ctx context.Context, m *member) error {
	began := time.Now()
	if err := m.Start(ctx, readyLimit); err != nil {
		return fmt.Errorf("process %d: %w", m.number, err)
	}
	s.say("Process %d is started again, a standby after %.2f s (process id %d).", m.number, time.Since(began).Seconds(), m.Cmd.Process.Pid)
	return nil
}

// until waits until a condition holds. A terminal shows the surveys and channels meanwhile.
func (s *demonstration) until(ctx context.Context, limit time.Duration, holds func() bool) error {
	var drawn time.Time
	for end := time.Now().Add(limit); !holds(); {
		now := time.Now()
		if now.After(end) {
			return fmt.Errorf("waited %s", limit)
		}
		if s.view.terminal && now.Sub(drawn) > drawEvery {
			s.view.draw(now, s.gauges())
			drawn = now
		}
		if !machine.Sleep(ctx, 5*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// sent returns how many calls and messages the providers were given.
func (s *demonstration) sent() (n int) {
	for _, st := range s.stages {
		n += st.provider.tally.Line(st.provider.line).Sent
	}
	return n
}

// inFlight returns how many calls and messages the providers have in flight.
func (s *demonstration) inFlight() (n int) {
	for _, st := range s.stages {
		n += st.provider.tally.Line(st.provider.line).Active
	}
	return n
}

// idle reports whether nothing is left to dispatch, as of the last poll.
func (s *demonstration) idle() bool {
	for _, sv := range s.surveys {
		if sv.finishedRespondents() < len(sv.people) {
			return false
		}
	}
	return true
}

// tend starts processes again that have ended by themselves, such as an owner that has lost
// the database on a machine that is too busy to renew the lease.
func (s *demonstration) tend(ctx context.Context) error {
	for m := s.cluster.fallen(); m != nil; m = s.cluster.fallen() {
		s.say("Process %d has ended by itself: %s.", m.number, m.Cmd.ProcessState)
		if err := s.again(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
