package mariadb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Group is a group of MySQL servers that replicate with each other, in single-primary mode.
// MariaDB has none.
type Group struct {
	Servers []*Server
}

// groupName is the name of every private group; each has ports of its own.
const groupName = "6f1d2c5e-7d0a-4c39-9f0b-2a51b7c0d9e4"

// member is what a server has to know of its group.
type member struct {
	id    int // from 1 on
	port  int // for the others
	seeds []string
}

func (m *member) options() []string {
	if m == nil {
		return []string{"--performance-schema=OFF", "--skip-log-bin"}
	}
	option := func(name string, value any) string { return fmt.Sprint("--group-replication-", name, "=", value) }
	return []string{
		"--performance-schema=ON", "--performance-schema-instrument=%=OFF", fmt.Sprint("--server-id=", m.id), "--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
		"--report-host=127.0.0.1", "--plugin-load-add=group_replication.so",
		option("group-name", groupName), option("local-address", fmt.Sprint("127.0.0.1:", m.port)), option("group-seeds", strings.Join(m.seeds, ",")),
		option("start-on-boot", "OFF"), option("single-primary-mode", "ON"), option("consistency", "BEFORE_ON_PRIMARY_FAILOVER"),
		option("recovery-get-public-key", "ON"), option("message-cache-size", 128<<20),
		// One that was expelled stays readable, so that its state can be asked for.
		option("exit-state-action", "READ_ONLY"),
	}
}

// groupTries is how often a group is begun whose ports others take.
const groupTries = 3

// StartGroup runs a group of servers below dir, which must be empty. The servers listen on the ports
// for each other only as they join, seconds after these were chosen.
func StartGroup(ctx context.Context, dir func() (string, error), count int, sizes Sizes) (*Group, error) {
	for try := 1; ; try++ {
		g, err := startGroup(ctx, dir, count, sizes)
		if err == nil || try == groupTries || !strings.Contains(err.Error(), "Port already in use") {
			return g, err
		}
	}
}

func startGroup(ctx context.Context, dir func() (string, error), count int, sizes Sizes) (*Group, error) {
	path, err := program(ctx)
	if err != nil {
		return nil, err
	}
	g := &Group{}
	var seeds []string
	for i := range count {
		folder, err := dir()
		if err != nil {
			return nil, err
		}
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, fmt.Sprint("127.0.0.1:", port))
		g.Servers = append(g.Servers, &Server{dir: folder, sizes: sizes, program: path, member: &member{id: i + 1, port: port}})
	}
	errs := make([]error, count)
	var started sync.WaitGroup
	for i, s := range g.Servers {
		s.member.seeds = seeds
		started.Go(func() { errs[i] = s.begin(ctx) })
	}
	started.Wait()
	for _, err := range errs {
		if err != nil {
			g.Kill()
			return nil, err
		}
	}
	for i, s := range g.Servers {
		if err := s.Join(ctx, i == 0); err != nil {
			g.Kill()
			return nil, fmt.Errorf("member %d of the group: %w\n%s", i+1, err, s.logTail())
		}
	}
	return g, nil
}

// Kill ends all servers with SIGKILL.
func (g *Group) Kill() {
	for _, s := range g.Servers {
		if s.cmd != nil {
			s.Kill()
		}
	}
}

// Hosts returns HOST:PORT of each server, separated by commas.
func (g *Group) Hosts() string {
	var hosts []string
	for _, s := range g.Servers {
		hosts = append(hosts, s.Host())
	}
	return strings.Join(hosts, ",")
}

// Host returns HOST:PORT of the server.
func (s *Server) Host() string { return fmt.Sprint("127.0.0.1:", s.port) }

// Join makes a running server a member of its group, or begins the group with it.
func (s *Server) Join(ctx context.Context, first bool) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	db, err := Open(s.Address())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	statements := []string{fmt.Sprintf("START GROUP_REPLICATION USER = '%s', PASSWORD = '%s'", user, password)}
	if first {
		statements = []string{"SET GLOBAL group_replication_bootstrap_group = ON", statements[0], "SET GLOBAL group_replication_bootstrap_group = OFF"}
	}
	for _, text := range statements {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return s.awaitState(ctx, db, "ONLINE")
}

func (s *Server) awaitState(ctx context.Context, db *sql.DB, want string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		state := ""
		err := db.QueryRowContext(ctx, "SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid").Scan(&state)
		if err == nil && state == want {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("its state is %q, not %s: %w", state, want, ctx.Err())
		}
	}
}

// Primary returns the member that is the primary for a majority, itself among them; nil: there
// is none.
func (g *Group) Primary(ctx context.Context) *Server {
	votes := map[string]int{}
	uuids := map[string]*Server{}
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, s := range g.Servers {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			db, err := Open(s.Address())
			if err != nil {
				return
			}
			defer func() { _ = db.Close() }()
			var self, primary string
			err = db.QueryRowContext(ctx, "SELECT @@server_uuid, member_id FROM performance_schema.replication_group_members WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE'").Scan(&self, &primary)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			votes[primary]++
			uuids[self] = s
		})
	}
	asked.Wait()
	for uuid, n := range votes {
		if s := uuids[uuid]; s != nil && 2*n > len(g.Servers) {
			return s
		}
	}
	return nil
}
