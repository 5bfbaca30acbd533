package peers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/web/forward"
)

// Process is a start of the program on a database.
type Process struct {
	Start       int64  `json:"start"`
	Address     string `json:"address"` // of its listener for peers
	Fingerprint string `json:"-"`       // of its certificate
	Version     string `json:"version"`
	Schema      int64  `json:"schema"` // the newest step that it knows
	// Digests are digests of the settings that have to agree, by name.
	Digests map[string]string `json:"digests,omitempty"`
	// Hindered is why a standby could not take the database; empty: it could.
	Hindered string `json:"hindered,omitempty"`
}

// Differing lists the settings that have to agree and differ between this process and
// another.
func (p Process) Differing(digests map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, p.Digests)
	maps.Copy(all, digests)
	maps.DeleteFunc(all, func(name, _ string) bool { return p.Digests[name] == digests[name] })
	return slices.Sorted(maps.Keys(all))
}

// KeysDigest is the setting whose "digest" lists the ids of the keys of addresses, separated by
// commas.
const KeysDigest = "WEIR_PEOPLE_KEY"

// lacksKey returns why a process could not take the database over from this one, because it lacks
// one of its keys and would exit at once; empty: it has all of them, or is too old to report its
// keys.
func (p Process) lacksKey(other Process) string {
	theirs, said := other.Digests[KeysDigest]
	for id := range strings.SplitSeq(p.Digests[KeysDigest], ",") {
		if said && id != "" && !slices.Contains(strings.Split(theirs, ","), id) {
			return KeysDigest + " lacks the key " + id + " of people, which the owner has; without it the process ends when it takes the database"
		}
	}
	return ""
}

// reply is what the owner answers to a standby's heartbeat.
type reply struct {
	Epoch     int64             `json:"epoch"`
	Successor int64             `json:"successor"`         // start number; 0: none
	Released  bool              `json:"released"`          // the database is free
	Digests   map[string]string `json:"digests,omitempty"` // as in [Process]
}

// Standby is a process that sends heartbeats to the owner.
type Standby struct {
	Process
	Seen time.Time // of the last heartbeat
	// Needs is the step of the schema that a program has to know to own the database; 0: this
	// one knows it.
	Needs int64
	// Differing are the settings that have to agree with the owner's, and do not.
	Differing []string
	// Unreachable says why the owner could not connect to it; empty: it could.
	Unreachable string
	checked     time.Time
}

// Intervals of peers.
const (
	heartbeatEvery = time.Second            // the answer to a heartbeat waits for so long, unless there is news
	retryEvery     = 250 * time.Millisecond // between two that are not answered
	heartbeatTime  = 3 * time.Second        // for one in all; an owner that takes longer is not reached
	goneAfter      = 3 * time.Second        // after the last heartbeat of a standby
	checkEvery     = time.Minute            // the owner connects back to each standby
	warnAfter      = 2 * time.Second        // of an owner that is not reached: a change of owners is none
	warnEvery      = time.Minute
	maxHeartbeat   = 4 << 10 // bytes
	maxStandbys    = 100
)

// Successor is the start number of the process that is to own the database next: of those
// that the owner reaches, and that are alive, the one with the newest version; of these
// the oldest. One that it does not reach, or that has a hindrance, comes last; one that is too
// old for the schema is none. 0: there is none.
func Successor(list []Standby, now time.Time) int64 {
	list = slices.DeleteFunc(Living(list, now), func(s Standby) bool { return s.Needs != 0 })
	if len(list) == 0 {
		return 0
	}
	return slices.MinFunc(list, func(a, b Standby) int {
		return cmp.Or(
			cmp.Compare(boolean(a.last()), boolean(b.last())),
			-CompareVersions(a.Version, b.Version),
			cmp.Compare(a.Start, b.Start),
		)
	}).Start
}

// last reports whether the standby is one of the last to own the database.
func (s Standby) last() bool { return s.Unreachable != "" || s.Hindered != "" }

// Living returns the standbys whose last heartbeat is recent.
func Living(list []Standby, now time.Time) []Standby {
	return slices.DeleteFunc(slices.Clone(list), func(s Standby) bool { return now.Sub(s.Seen) > goneAfter })
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CompareVersions compares two versions of the program by their numbers, and two that Go made of
// commits (v0.0.0-20261129180720-90658fa1cc57) by when those were made. One without numbers is that
// of a build from a working tree, and the newest.
func CompareVersions(a, b string) int {
	if c := slices.Compare(numbers(a), numbers(b)); c != 0 {
		return c
	}
	commits := regexp.MustCompile(`[-.](\d{14})-[0-9a-f]{12}\b`)
	if x, y := commits.FindStringSubmatch(a), commits.FindStringSubmatch(b); x != nil && y != nil {
		return strings.Compare(x[1], y[1])
	}
	return 0
}

func numbers(version string) []int {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return []int{1 << 30}
		}
		list = append(list, n)
	}
	return list
}

// heartbeat answers a standby: at once if there is news, otherwise after a second.
func (s *Server) heartbeat(w http.ResponseWriter, r *http.Request) {
	var from Process
	if err := json.NewDecoder(io.LimitReader(r.Body, maxHeartbeat)).Decode(&from); err != nil {
		http.Error(w, "a heartbeat is a JSON object", http.StatusBadRequest)
		return
	}
	from.Fingerprint, _ = of(*r.TLS)
	epoch, released := s.note(from)
	if epoch == 0 {
		refuse(w)
		return
	}
	timer := time.NewTimer(heartbeatEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-released:
	case <-r.Context().Done(): // it has ended, or the connection has
		s.forget(from.Start)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.reply(epoch)) // a standby that has gone is not an error
}

// note remembers a standby, and returns the epoch of this ownership, 0 if there is none, and
// a channel that is closed at its release.
func (s *Server) note(from Process) (epoch int64, released <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch == 0 {
		return 0, nil
	}
	now := time.Now()
	known := s.standbys[from.Start]
	if known == nil {
		if len(s.standbys) >= maxStandbys {
			for start, one := range s.standbys {
				if now.Sub(one.Seen) > goneAfter {
					delete(s.standbys, start)
				}
			}
		}
		known = &Standby{}
		s.standbys[from.Start] = known
		s.o.Logger.Info("standby joined", "start", from.Start, "address", from.Address, "version", from.Version)
		if known.Differing = s.o.Self.Differing(from.Digests); len(known.Differing) > 0 {
			s.o.Logger.Warn("a standby has other settings, which have to be the same in all processes of a database", "differing", known.Differing, "start", from.Start, "address", from.Address)
		}
	}
	known.Process, known.Seen, known.Needs = from, now, 0
	known.Hindered = cmp.Or(from.Hindered, s.o.Self.lacksKey(from))
	if from.Schema < s.needs {
		known.Needs = s.needs
	}
	if now.Sub(known.checked) > checkEvery {
		known.checked = now
		go s.connectBack(from)
	}
	return s.epoch, s.released
}

// forget forgets a standby, until its next heartbeat.
func (s *Server) forget(start int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.standbys, start)
}

// connectBack tries whether a standby can be reached, in case that it becomes the owner.
func (s *Server) connectBack(p Process) {
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatTime)
	defer cancel()
	why := ""
	c, err := dial(ctx, s.o.Identity.Client(p.Fingerprint), p.Address)
	if err != nil {
		why = err.Error()
		s.o.Logger.Warn("a standby sends heartbeats, and cannot be reached at the address that it gives; is WEIR_PEER_ADDR right, and its port open?", "start", p.Start, "address", p.Address, "error", err)
	} else {
		_ = c.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.standbys[p.Start]; known != nil {
		known.Unreachable = why
	}
}

func (s *Server) reply(epoch int64) reply {
	list := s.Standbys()
	s.mu.Lock()
	defer s.mu.Unlock()
	return reply{Epoch: epoch, Successor: Successor(list, time.Now()), Released: s.epoch != epoch, Digests: s.o.Self.Digests}
}

// Standbys lists the processes that have sent heartbeats to this one as the owner, the oldest
// first.
func (s *Server) Standbys() []Standby {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Standby, 0, len(s.standbys))
	for _, one := range s.standbys {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Standby) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// Heartbeat reports this process to the owner once a second.
type Heartbeat struct {
	Self       func() Process
	Owners     forward.Owners
	Transports forward.Transports
	// Succeed is called with the start number of the successor, Poke when the database is free.
	Succeed func(start int64)
	Poke    func()
	Logger  Logger

	reach reach
}

// Run sends heartbeats until ctx ends.
func (h *Heartbeat) Run(ctx context.Context) {
	var failing, warned time.Time // since when it is not reached; the latest warning
	for ctx.Err() == nil {
		o, changed := h.Owners.Owner()
		if o.Epoch == 0 {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		begin := time.Now()
		answer, err := h.send(ctx, o)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.Owners.Refused(o)
			if failing.IsZero() {
				failing = time.Now()
			}
			if time.Since(failing) > warnAfter && time.Since(warned) > warnEvery {
				warned = time.Now()
				h.Logger.Warn("the owner of the database cannot be reached", "address", o.Address, "error", err)
			}
			wait(ctx, changed, retryEvery-time.Since(begin))
		default:
			if differing := h.Self().Differing(answer.Digests); h.reach.reached(time.Now(), answer.Epoch) && len(differing) > 0 {
				h.Logger.Warn("the owner of the database has other settings, which have to be the same in all processes of a database", "differing", differing, "address", o.Address)
			}
			failing, warned = time.Time{}, time.Time{}
			h.Succeed(answer.Successor)
			if answer.Released {
				h.Poke()
				wait(ctx, changed, heartbeatEvery)
			}
		}
	}
}

func wait(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(max(most, 10*time.Millisecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}

// send sends one heartbeat.
func (h *Heartbeat) send(ctx context.Context, o forward.Owner) (answer reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatTime)
	defer cancel()
	self, err := json.Marshal(h.Self())
	if err != nil {
		return answer, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+o.Address+"/", bytes.NewReader(self))
	if err != nil {
		return answer, err
	}
	r.Header.Set(forward.PeerHeader, forward.PeerHeartbeat)
	got, err := h.Transports.To(o).RoundTrip(r)
	if err != nil {
		return answer, err
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("it answers %s", got.Status)
	}
	err = json.NewDecoder(io.LimitReader(got.Body, maxHeartbeat)).Decode(&answer)
	return answer, err
}

// Reached returns when the owner answered last.
func (h *Heartbeat) Reached() time.Time { return h.reach.last() }

// Checked reports whether the owner has tried to connect to it.
func (s Standby) Checked() bool { return !s.checked.IsZero() }
