package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/client"
	"weir/cmd/weirlab/balancer"
	"weir/cmd/weirlab/machine"
	"weir/internal/mariadb"
)

// cluster is several processes of Weir on a private database server, behind a balancer.
type cluster struct {
	folder   string
	program  string
	env      []string // of every process
	token    string
	server   *mariadb.Server
	balancer *balancer.Balancer
	members  []*member

	watching context.Context // of the watchers, which begin with their processes
	halt     context.CancelFunc
	watchers sync.WaitGroup

	mu      sync.Mutex
	tenures []tenure
	ended   map[int64]ending // by epoch: what was done to an owner
}

// member is one process, at the same address whenever it is started.
type member struct {
	*machine.Server
	number int
	api    *api // of this process alone
}

// tenure is a time during which a process owned the database.
type tenure struct {
	process  int
	epoch    int64 // grows with each owner
	from, to time.Time
	end      string
}

// ending is how and when an ownership ended.
type ending struct {
	at  time.Time
	how string
}

const (
	ownerEvery = 20 * time.Millisecond
	ownerLimit = 30 * time.Second // until another process owns the database
	wakeLimit  = 25 * time.Second // until an owner that stood still has noticed that it is none
)

// newCluster starts the database server and the balancer, and creates the database. No
// process runs yet.
func newCluster(ctx context.Context, o Options, folder, token string, env []string) (_ *cluster, err error) {
	c := &cluster{folder: folder, program: o.Program, token: token, ended: map[int64]ending{}}
	c.watching, c.halt = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	data := filepath.Join(folder, "my")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if c.server, err = mariadb.Start(ctx, data, mariadb.Small()); err != nil {
		return nil, fmt.Errorf("start a database server: %w", err)
	}
	url, err := mariadb.CreateDatabase(ctx, c.server.Address(), "weir")
	if err != nil {
		return nil, err
	}
	if c.balancer, err = balancer.Start(ctx); err != nil {
		return nil, err
	}
	c.env = append([]string{"DATABASE_URL=" + url, "PUBLIC_URL=" + c.balancer.URL}, env...)
	return c, nil
}

// add starts another process and gives it its share of the requests.
func (c *cluster) add(ctx context.Context) (*member, error) {
	m := &member{number: len(c.members) + 1}
	folder := filepath.Join(c.folder, strconv.Itoa(m.number))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	var err error
	if m.Server, err = machine.NewServer(ctx, c.program, folder, c.env...); err != nil {
		return nil, err
	}
	if m.api, err = newAPI(m.URL, c.token); err != nil {
		return nil, err
	}
	c.members = append(c.members, m)
	if err := m.Start(ctx, readyLimit); err != nil {
		return nil, fmt.Errorf("process %d: %w", m.number, err)
	}
	c.balancer.Add(strings.TrimPrefix(m.URL, "http://"))
	c.watchers.Go(func() { c.watch(c.watching, m) })
	return m, nil
}

// watch records when a process owns the database.
func (c *cluster) watch(ctx context.Context, m *member) {
	owned := false
	for machine.Sleep(ctx, ownerEvery) {
		owns := m.owns(ctx)
		if owns && !owned {
			if epoch := m.epoch(ctx); epoch > 0 {
				c.began(m.number, epoch, time.Now())
			} else {
				owns = false // asked again
			}
		}
		owned = owns
	}
}

// began records that a process owns the database. An earlier owner that has not noticed yet
// that it is none has a lower epoch.
func (c *cluster) began(process int, epoch int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.tenures); n > 0 {
		last := &c.tenures[n-1]
		if epoch <= last.epoch {
			return
		}
		end, known := c.ended[last.epoch]
		if !known {
			end = ending{now, "lost it"}
		}
		last.to, last.end = end.at, end.how
	}
	c.tenures = append(c.tenures, tenure{process: process, epoch: epoch, from: now})
}

// owner returns the process that owned the database last, and its epoch; 0: none did yet.
func (c *cluster) owner() (m *member, epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tenures) == 0 {
		return nil, 0
	}
	last := c.tenures[len(c.tenures)-1]
	return c.members[last.process-1], last.epoch
}

// awaitOwner waits until a process owns the database.
func (c *cluster) awaitOwner(ctx context.Context) (*member, error) {
	ctx, cancel := context.WithTimeout(ctx, ownerLimit)
	defer cancel()
	for {
		if m, _ := c.owner(); m != nil {
			return m, nil
		}
		if !machine.Sleep(ctx, ownerEvery) {
			return nil, fmt.Errorf("no process owns the database: %w", ctx.Err())
		}
	}
}

// ending records what is being done to the owner.
func (c *cluster) ending(epoch int64, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[epoch] = ending{time.Now(), how}
}

// standby returns a running process that does not own the database.
func (c *cluster) standby() *member {
	owner, _ := c.owner()
	i := slices.IndexFunc(c.members, func(m *member) bool { return m != owner && m.Cmd != nil })
	if i < 0 {
		return nil
	}
	return c.members[i]
}

// fallen returns a process that has ended by itself.
func (c *cluster) fallen() *member {
	for _, m := range c.members {
		if m.Cmd == nil {
			continue
		}
		select {
		case <-m.Ended:
			return m
		default:
		}
	}
	return nil
}

// settled returns how many contacts the reconcilers of all running processes have reconciled.
func (c *cluster) settled(ctx context.Context) (n int) {
	for _, m := range c.members {
		if m.Cmd != nil {
			n += m.api.settled(ctx)
		}
	}
	return n
}

// stop ends all processes, the owner last, so that nobody takes the database over.
func (c *cluster) stop() {
	owner, epoch := c.owner()
	for _, m := range c.members {
		if m != owner {
			m.Stop()
		}
	}
	if owner != nil {
		c.ending(epoch, "the end")
		owner.Stop()
	}
}

// close takes everything down that still runs. It may be called after stop, and again.
func (c *cluster) close() {
	c.halt()
	c.watchers.Wait()
	for _, m := range c.members {
		m.Kill()
		m.api.Close()
	}
	if c.balancer != nil {
		c.balancer.End()
	}
	if c.server != nil {
		c.server.Kill()
		c.server = nil
	}
	_ = os.RemoveAll(filepath.Join(c.folder, "my"))
}

// owns reports whether a process is ready as the owner of the database.
func (m *member) owns(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := m.api.Raw(ctx, client.Request{Method: http.MethodGet, Path: "/readyz/owner"})
	return err == nil
}

// epoch returns the number of a process's ownership; 0: it has not owned the database, or
// does not answer.
func (m *member) epoch(ctx context.Context) int64 {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	text, err := m.api.Raw(ctx, client.Request{Method: http.MethodGet, Path: "/metrics"})
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "weir_owner_epoch "); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return int64(n)
		}
	}
	return 0
}

// tenureTable lists who owned the database when, in seconds since the beginning.
func tenureTable(tenures []tenure, ended map[int64]ending, began time.Time) []string {
	rows := [][]string{{"process", "until", "epoch", "from", "to", "without an owner before"}}
	at := func(t time.Time) string { return fmt.Sprintf("%.1f s", t.Sub(began).Seconds()) }
	for i, t := range tenures {
		if end, known := ended[t.epoch]; known {
			t.to, t.end = end.at, end.how
		}
		gap := ""
		if i > 0 {
			gap = fmt.Sprintf("%.2f s", max(0, t.from.Sub(tenures[i-1].to).Seconds()))
		}
		rows = append(rows, []string{strconv.Itoa(t.process), t.end, strconv.FormatInt(t.epoch, 10), at(t.from), at(t.to), gap})
	}
	return table(rows, 2)
}

// owners lists who owned the database when.
func (c *cluster) owners(began time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tenureTable(c.tenures, c.ended, began)
}

// errNoStandby reports that a step needs a standby, and none runs.
var errNoStandby = errors.New("no standby is running")
