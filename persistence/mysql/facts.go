package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	mysql "github.com/go-sql-driver/mysql"
)

// facts are what a server reports about its role.
type facts struct {
	version     string
	readOnly    string // the variable that keeps writes away; empty: none does
	galera      bool
	multi       bool   // group replication with several primaries
	group       string // the name of its group; empty: it is in none
	consistency string // group_replication_consistency
	uuid        string
	members     []groupMember // of the group, as this server sees them
	denied      string        // the account that may not read them; empty: it may
	pageSize    string        // innodb_page_size
	statements  bool          // the binary log holds statements only (binlog_format = STATEMENT)
}

// groupMember is a row of performance_schema.replication_group_members.
type groupMember struct{ uuid, state, role string }

// refusal is the reason why a server is not used.
type refusal struct {
	reason string
	// lasting is set if only an operator can change it.
	lasting bool
}

func (r *refusal) Error() string { return "mysql: " + r.reason }

func lasting(format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...), lasting: true}
}

func passing(format string, args ...any) *refusal {
	return &refusal{reason: fmt.Sprintf(format, args...)}
}

const wantOneWriter = "Weir needs a server whose data has one writer: a plain server, with replicas if you like, or a group in single-primary mode"

// unfit returns why a server can never be used as it is configured; nil: it can.
func (f facts) unfit() *refusal {
	if err := checkVersion(f.version); err != nil {
		return lasting("%s", strings.TrimPrefix(err.Error(), "mysql: "))
	}
	switch {
	// The lease and claims are guarded by row locks, which a cluster with several writers
	// does not enforce against writes of another server, and it may answer COMMIT after it
	// rolled the transaction back.
	case f.galera:
		return lasting("the server is a Galera node (wsrep_on = ON), where committed contacts can be lost and one process can take another's channels; " + wantOneWriter)
	case f.multi:
		return lasting("the server's group replication has several primaries (group_replication_single_primary_mode = OFF), where one process can take another's channels; " + wantOneWriter)
	case slices.Contains([]string{"4096"}, f.pageSize):
		return lasting("the server has innodb_page_size = %s, and the indexes of Weir need larger pages; that is set when a server is initialized", f.pageSize)
	case f.statements:
		return lasting("the server writes statements to its binary log (binlog_format = STATEMENT), and refuses those of Weir, whose transactions are READ COMMITTED; set ROW or MIXED")
	case f.group == "":
		return nil
	case f.denied != "":
		return lasting("the account may not read the members of the server's group; run: GRANT SELECT ON performance_schema.replication_group_members TO %s", f.denied)
	// A new primary has to apply what the former one committed before it answers: with
	// EVENTUAL Weir could read there that a commit is missing, and repeat it. Each other
	// value includes that: BEFORE_ON_PRIMARY_FAILOVER asks for no more, BEFORE, AFTER and
	// BEFORE_AND_AFTER cost each transaction a wait for other members.
	case strings.EqualFold(f.consistency, "EVENTUAL"):
		return lasting("the server's group has group_replication_consistency = EVENTUAL, with which a new primary answers before it has applied what the former one committed; " +
			"set BEFORE_ON_PRIMARY_FAILOVER on every member")
	}
	return nil
}

// unusable returns why a server cannot be used now; nil: it can.
func (f facts) unusable() *refusal {
	if r := f.unfit(); r != nil {
		return r
	}
	if f.group != "" {
		if r := f.outOfGroup(); r != nil {
			return r
		}
	}
	if f.readOnly != "" {
		return passing("the server is read-only (%s), and Weir has to write; name a server that takes writes", f.readOnly)
	}
	return nil
}

// outOfGroup returns why a member is not its group's primary, as far as it can see. A primary
// that was cut off still takes itself for one, and takes statements, but no COMMIT
// returns: it does not see a majority.
func (f facts) outOfGroup() *refusal {
	var self groupMember
	seen := 0
	for _, m := range f.members {
		if m.uuid == f.uuid {
			self = m
		}
		// A member that catches up has a vote, too.
		if m.state == "ONLINE" || m.state == "RECOVERING" {
			seen++
		}
	}
	switch {
	case self.state != "ONLINE":
		return passing("the server is not ONLINE in its group, but %s", orNone(self.state))
	case self.role != "PRIMARY":
		return passing("the server is not the PRIMARY of its group, but %s", orNone(self.role))
	case 2*seen <= len(f.members):
		return passing("the server sees %d of the %d members of its group, which is no majority", seen, len(f.members))
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// disagreement returns why servers with these facts, by their addresses, are not servers of
// one database; nil: they may be.
func disagreement(addresses []string, all map[string]facts) *refusal {
	first, writable := "", ""
	for _, address := range addresses {
		f, ok := all[address]
		switch {
		case !ok:
			continue
		case first == "":
			first = address
		case f.group != all[first].group:
			return lasting("%s and %s are not servers of one database: %s, %s", first, address, groupOf(all[first]), groupOf(f))
		}
		if f.group == "" && f.readOnly == "" {
			if writable != "" {
				return lasting("%s and %s can both be written, and are not of one group: a replica needs read_only = ON", writable, address)
			}
			writable = address
		}
	}
	return nil
}

func groupOf(f facts) string {
	if f.group == "" {
		return "one is in no group"
	}
	return "one is in the group " + f.group
}

// asks reads what a server answers to a query, as text.
func asks(ctx context.Context, c driver.QueryerContext, text string) (rows [][]string, err error) {
	answer, err := c.QueryContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Close() }()
	values := make([]driver.Value, len(answer.Columns()))
	for {
		switch err := answer.Next(values); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		}
		row := make([]string, len(values))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
			case []byte:
				row[i] = string(v)
			default:
				row[i] = fmt.Sprint(v)
			}
		}
		rows = append(rows, row)
	}
}

// readFacts asks a server for its role: one query, and another one of a member of a group.
func readFacts(ctx context.Context, c driver.QueryerContext) (f facts, err error) {
	rows, err := asks(ctx, c, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'read_only', 'super_read_only', 'innodb_read_only', 'innodb_page_size', 'log_bin', 'binlog_format', 'wsrep_on', 'server_uuid', "+
		"'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency')")
	if err != nil {
		return f, fmt.Errorf("mysql: read the server's variables: %w", err)
	}
	variables := map[string]string{}
	for _, row := range rows {
		variables[strings.ToLower(row[0])] = row[1]
	}
	f = factsOf(variables)
	if f.group == "" {
		return f, nil
	}
	rows, err = asks(ctx, c, "SELECT member_id, member_state, member_role FROM performance_schema.replication_group_members")
	var refused *mysql.MySQLError
	if errors.As(err, &refused) && (refused.Number == 1142 || refused.Number == 1044) {
		account, err := asks(ctx, c, "SELECT CURRENT_USER()")
		if err != nil {
			return f, err
		}
		user, host, _ := strings.Cut(account[0][0], "@")
		f.denied = fmt.Sprintf("'%s'@'%s'", user, host)
		return f, nil
	}
	for _, row := range rows {
		f.members = append(f.members, groupMember{row[0], row[1], row[2]})
	}
	return f, err
}

// factsOf converts the variables of a server. Newer MariaDB has more than two values of
// read_only.
func factsOf(variables map[string]string) facts {
	is := func(name string) bool {
		v := variables[name]
		return v != "" && v != "0" && !strings.EqualFold(v, "OFF")
	}
	f := facts{
		version: variables["version"], galera: is("wsrep_on"), uuid: variables["server_uuid"],
		pageSize: variables["innodb_page_size"], statements: is("log_bin") && strings.EqualFold(variables["binlog_format"], "STATEMENT"),
		multi: strings.EqualFold(variables["group_replication_single_primary_mode"], "OFF"),
		group: variables["group_replication_group_name"], consistency: variables["group_replication_consistency"],
	}
	for _, name := range []string{"read_only", "super_read_only", "innodb_read_only"} {
		if is(name) && f.readOnly == "" {
			f.readOnly = name + " = " + variables[name]
		}
	}
	return f
}
