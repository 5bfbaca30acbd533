package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"weir/persistence/dialect"

	mysql "github.com/go-sql-driver/mysql"
)

// parse converts an address to the driver's configuration. Errors do not contain
// the address, because it holds the password.
func parse(address string) (*mysql.Config, error) {
	address, query, _ := strings.Cut(address, "?")
	cfg := mysql.NewConfig()
	account := ""
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		account, address = address[:i], address[i+1:]
	}
	user, password, _ := strings.Cut(account, ":")
	var errU, errP error
	cfg.User, errU = url.PathUnescape(user)
	cfg.Passwd, errP = url.PathUnescape(password)
	if errU != nil || errP != nil {
		return nil, fmt.Errorf("mysql: user and password: a %% must be followed by two hexadecimal digits; write %%25 for a %% itself")
	}
	slash := strings.LastIndexByte(address, '/')
	if slash < 0 || slash == len(address)-1 {
		return nil, fmt.Errorf("mysql: the name of the database is missing; want mysql://user:password@host:3306/name")
	}
	host := address[:slash]
	cfg.DBName = address[slash+1:]
	switch path, isSocket := strings.CutPrefix(host, "unix("); {
	case isSocket && strings.HasSuffix(path, ")"):
		cfg.Net, cfg.Addr = "unix", strings.TrimSuffix(path, ")")
	case host == "" || strings.ContainsAny(host, "/()"):
		return nil, fmt.Errorf("mysql: the host is missing or malformed; want mysql://user:password@host:3306/name")
	default:
		hosts, err := splitHosts(host)
		if err != nil {
			return nil, err
		}
		cfg.Net, cfg.Addr = "tcp", strings.Join(hosts, ",")
	}
	if err := parameters(cfg, query); err != nil {
		return nil, err
	}
	settle(cfg)
	return cfg, nil
}

// splitHosts splits a list of servers, each with its port.
func splitHosts(list string) ([]string, error) {
	var hosts []string
	for host := range strings.SplitSeq(list, ",") {
		if host == "" || strings.HasPrefix(host, ":") {
			return nil, fmt.Errorf("mysql: a host is empty; want mysql://user:password@host1:3306,host2:3306/name")
		}
		if host = withPort(host); slices.Contains(hosts, host) {
			return nil, fmt.Errorf("mysql: the host %s is there twice", host)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "3306")
}

func parameters(cfg *mysql.Config, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("mysql: parameters: not a query string")
	}
	for key := range values {
		if key != "tls" {
			return fmt.Errorf("mysql: parameter %q is not one of ours; allowed: tls", key)
		}
	}
	switch v := values.Get("tls"); v {
	case "", "false", "true", "skip-verify", "preferred":
		cfg.TLSConfig = v
	default:
		return fmt.Errorf("mysql: tls=%q; allowed: true, false, skip-verify, preferred", v)
	}
	return nil
}

// settle fixes the settings that the store relies on.
func settle(cfg *mysql.Config) {
	cfg.Loc = time.UTC
	cfg.ParseTime = true // goose needs it to read its own table
	cfg.InterpolateParams = true
	cfg.RejectReadOnly = true
	cfg.Collation = "utf8mb4_bin"
	cfg.MaxAllowedPacket = 0 // ask the server
	cfg.Timeout = 5 * time.Second
	cfg.ReadTimeout = 30 * time.Second
	cfg.WriteTimeout = 30 * time.Second
}

// A stalled process with an open transaction keeps its row locks until the server
// ends its session. MariaDB limits how long a session may be idle within a
// transaction. MySQL limits idle sessions only, so there the pools close idle
// connections before the server does.
const (
	idleSettings = ", net_read_timeout = 10 /*M!100300 , idle_transaction_timeout = 3 */ /*!80000 , wait_timeout = 10 */"
	idleLimit    = 5 * time.Second // of a connection of the pools
)

// Database is one MySQL or MariaDB database.
type Database struct {
	log     *slog.Logger
	unix    bool
	servers *servers
	inspect atomic.Pointer[func(context.Context, dialect.ReadNumber) error]
	message atomic.Int64 // max bytes of a message of several statements, by the server of the writer's connection
	pools   dialect.Pools
}

// check verifies that the server and the session meet the store's requirements.
func (d *Database) check(ctx context.Context) error {
	var version, mode, zone string
	var wait, packet, allowed, ofAccount int
	err := d.pools.Read.QueryRowContext(ctx,
		"SELECT VERSION(), @@session.sql_mode, @@session.time_zone, @@session.innodb_lock_wait_timeout, @@session.max_allowed_packet, "+
			"@@global.max_connections, @@session.max_user_connections").
		Scan(&version, &mode, &zone, &wait, &packet, &allowed, &ofAccount)
	if err != nil {
		return fmt.Errorf("mysql: connect: %w", err)
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	if !strings.Contains(mode, "STRICT_ALL_TABLES") || zone != "+00:00" || wait != 3 {
		return fmt.Errorf("mysql: the session's settings did not take: sql_mode %q, time_zone %q, innodb_lock_wait_timeout %d", mode, zone, wait)
	}
	if err := d.checkPacket(packet); err != nil {
		return err
	}
	if most := fewest(allowed, ofAccount); most < maxConnections {
		d.log.Warn("the database server allows fewer connections than this process may open", "allowed", most, "needed", maxConnections)
	}
	if !strings.Contains(version, "MariaDB") {
		d.pools.Batch.SetConnMaxIdleTime(idleLimit)
		d.pools.Read.SetConnMaxIdleTime(idleLimit)
		d.pools.Lease.SetConnMaxIdleTime(idleLimit)
	}
	if err := d.checkRole(ctx); err != nil {
		return err
	}
	return d.checkIsolation(ctx)
}

// fewest returns how many connections an account may have; 0 stands for no limit of its own.
func fewest(server, account int) int {
	if account > 0 {
		return min(server, account)
	}
	return server
}

// Bounds of max_allowed_packet in bytes. Batches and contacts have up to 1 MiB before
// escaping, survey definitions several MiB.
const (
	minPacket    = 1 << 20
	neededPacket = 8 << 20
)

// checkPacket rejects a max_allowed_packet that ordinary batches exceed, and warns
// about one that the largest requests exceed.
func (d *Database) checkPacket(packet int) error {
	switch {
	case packet < minPacket:
		return fmt.Errorf("mysql: the server's max_allowed_packet is %d bytes; set it to %d or more (at least %d)", packet, neededPacket, minPacket)
	case packet < neededPacket:
		d.log.Warn("max_allowed_packet of the database server is too small for large requests, which get 503", "bytes", packet, "needed", neededPacket)
	}
	return nil
}

// checkRole rejects a server that cannot be used. From now on each connection is checked if
// the server is a member of a group.
func (d *Database) checkRole(ctx context.Context) error {
	c, err := d.pools.Read.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	f, err := factsOn(ctx, c)
	if err != nil {
		return err
	}
	if f.group != "" {
		d.servers.belong(f.group)
		d.servers.checked.Store(true)
	}
	if r := f.unusable(); r != nil {
		return r
	}
	return nil
}

// factsOn asks the server that a connection leads to.
func factsOn(ctx context.Context, c *sql.Conn) (f facts, err error) {
	err = c.Raw(func(inner any) (err error) {
		queryer, ok := inner.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("mysql: a connection of type %T cannot be asked", inner)
		}
		f, err = readFacts(ctx, queryer)
		return err
	})
	return f, err
}

func (d *Database) checkIsolation(ctx context.Context) error {
	var name, level string
	err := d.pools.Read.QueryRowContext(ctx,
		"SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')").Scan(&name, &level)
	if err != nil {
		return fmt.Errorf("mysql: isolation level: %w", err)
	}
	if level != "READ-COMMITTED" {
		return fmt.Errorf("mysql: the session's isolation level is %s, want READ-COMMITTED", level)
	}
	return nil
}

// checkVersion rejects servers that are too old, by their version string
// ("8.0.36", "10.11.6-MariaDB-…", "5.5.5-10.6.12-MariaDB").
func checkVersion(version string) error {
	for _, other := range []string{"TiDB", "Vitess"} {
		if strings.Contains(version, other) {
			return fmt.Errorf("mysql: the server is %s (%s), whose locks and transactions differ; MySQL 8.0 or MariaDB 10.6, or newer, is needed", other, version)
		}
	}
	product, major, minor := "MySQL", 8, 0
	v := version
	if strings.Contains(version, "MariaDB") {
		product, major, minor = "MariaDB", 10, 6
		v = strings.TrimPrefix(v, "5.5.5-")
	}
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 {
		return fmt.Errorf("mysql: the server's version %q cannot be read", version)
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(strings.TrimRight(parts[1], "-abcdefghijklmnopqrstuvwxyz"))
	if errA != nil || errB != nil {
		return fmt.Errorf("mysql: the server's version %q cannot be read", version)
	}
	if a < major || a == major && b < minor {
		return fmt.Errorf("mysql: the server is %s %s; %s %d.%d or newer is needed", product, version, product, major, minor)
	}
	return nil
}
