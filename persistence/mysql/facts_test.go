package mysql

import (
	"maps"
	"strings"
	"testing"
)

// groupVariables are those of the primary of a group of three.
func groupVariables() map[string]string {
	return map[string]string{
		"version": "8.4.3", "read_only": "OFF", "super_read_only": "OFF", "innodb_read_only": "OFF", "server_uuid": "a",
		"group_replication_group_name": "g1", "group_replication_single_primary_mode": "ON", "group_replication_consistency": "BEFORE_ON_PRIMARY_FAILOVER",
	}
}

func TestFacts_ReportUnusableServers(t *testing.T) {
	t.Parallel()
	members := func(list ...string) (all []groupMember) {
		for i, text := range list {
			state, role, _ := strings.Cut(text, " ")
			all = append(all, groupMember{string(rune('a' + i)), state, role})
		}
		return all
	}
	well := members("ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY")
	for name, c := range map[string]struct {
		change  map[string]string
		members []groupMember
		denied  string
		want    string // a part of the reason; empty: the server is used
		lasting bool
	}{
		"primary":                            {members: well},
		"primary that lost one member":       {members: members("ONLINE PRIMARY", "ONLINE SECONDARY", "UNREACHABLE SECONDARY")},
		"primary while others catch up":      {members: members("ONLINE PRIMARY", "RECOVERING SECONDARY", "RECOVERING SECONDARY")},
		"alone in its group":                 {members: members("ONLINE PRIMARY")},
		"secondary":                          {members: members("ONLINE SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"), change: map[string]string{"super_read_only": "ON"}, want: "not the PRIMARY"},
		"cut off":                            {members: members("ONLINE PRIMARY", "UNREACHABLE SECONDARY", "UNREACHABLE SECONDARY"), want: "sees 1 of the 3"},
		"half of two":                        {members: members("ONLINE PRIMARY", "UNREACHABLE SECONDARY"), want: "sees 1 of the 2"},
		"expelled":                           {members: members("ERROR "), want: "not ONLINE in its group, but ERROR"},
		"group not started":                  {members: []groupMember{{"", "OFFLINE", ""}}, want: "not ONLINE"},
		"no members":                         {want: "not ONLINE in its group, but unknown"},
		"primary that is read-only":          {members: well, change: map[string]string{"super_read_only": "ON"}, want: "super_read_only = ON"},
		"several primaries":                  {members: well, change: map[string]string{"group_replication_single_primary_mode": "OFF"}, want: "several primaries", lasting: true},
		"stale reads after a fail-over":      {members: well, change: map[string]string{"group_replication_consistency": "EVENTUAL"}, want: "set BEFORE_ON_PRIMARY_FAILOVER", lasting: true},
		"stricter: BEFORE":                   {members: well, change: map[string]string{"group_replication_consistency": "BEFORE"}},
		"stricter: AFTER":                    {members: well, change: map[string]string{"group_replication_consistency": "AFTER"}},
		"stricter: BEFORE_AND_AFTER":         {members: well, change: map[string]string{"group_replication_consistency": "BEFORE_AND_AFTER"}},
		"members may not be read":            {denied: "'weir'@'%'", want: "GRANT SELECT ON performance_schema.replication_group_members TO 'weir'@'%'", lasting: true},
		"in no group":                        {change: map[string]string{"group_replication_group_name": "", "group_replication_consistency": "EVENTUAL"}},
		"replica":                            {change: map[string]string{"group_replication_group_name": "", "read_only": "ON"}, want: "read_only = ON"},
		"replica of MariaDB 12":              {change: map[string]string{"group_replication_group_name": "", "version": "12.0.2-MariaDB", "read_only": "NO_LOCK_NO_ADMIN"}, want: "read_only = NO_LOCK_NO_ADMIN"},
		"reader of Aurora":                   {change: map[string]string{"group_replication_group_name": "", "innodb_read_only": "ON"}, want: "innodb_read_only"},
		"statements in the binary log":       {members: well, change: map[string]string{"log_bin": "ON", "binlog_format": "STATEMENT"}, want: "set ROW or MIXED", lasting: true},
		"statements, and no binary log":      {members: well, change: map[string]string{"log_bin": "OFF", "binlog_format": "STATEMENT"}},
		"Galera":                             {change: map[string]string{"wsrep_on": "ON"}, want: "Galera", lasting: true},
		"no Galera":                          {members: well, change: map[string]string{"wsrep_on": "OFF"}},
		"TiDB":                               {change: map[string]string{"version": "8.0.11-TiDB-v8.5.6"}, want: "TiDB", lasting: true},
		"Vitess":                             {change: map[string]string{"version": "8.0.30-Vitess"}, want: "Vitess", lasting: true},
		"too old":                            {change: map[string]string{"version": "5.7.44"}, want: "newer is needed", lasting: true},
		"plugin loaded, several primaries":   {change: map[string]string{"group_replication_group_name": "", "group_replication_single_primary_mode": "OFF"}, want: "several primaries", lasting: true},
		"plugin loaded, not part of a group": {change: map[string]string{"group_replication_group_name": ""}},
	} {
		variables := groupVariables()
		maps.Copy(variables, c.change)
		f := factsOf(variables)
		f.members, f.denied = c.members, c.denied
		r := f.unusable()
		switch {
		case (r == nil) != (c.want == ""), r != nil && !strings.Contains(r.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, r, c.want)
		case r != nil && (r.lasting != c.lasting || (f.unfit() != nil) != c.lasting):
			t.Errorf("%s: %v, lasting %v, unfit %v", name, r, r.lasting, f.unfit())
		case r != nil && strings.Contains(r.Error(), "\n"):
			t.Errorf("%s: more than one line: %v", name, r)
		}
	}
}

func TestFacts_ReportServersOfSeveralDatabases(t *testing.T) {
	t.Parallel()
	primary, replica := facts{}, facts{readOnly: "read_only = ON"}
	one, two := facts{group: "g1"}, facts{group: "g2", readOnly: "super_read_only = ON"}
	for name, c := range map[string]struct {
		all  []facts
		want string
	}{
		"primary and replicas": {[]facts{replica, primary, replica}, ""},
		"replicas only":        {[]facts{replica, replica}, ""},
		"two primaries":        {[]facts{primary, replica, primary}, "a and c can both be written"},
		"one group":            {[]facts{one, one, one}, ""},
		"two groups":           {[]facts{one, two}, "a and b are not servers of one database: one is in the group g1, one is in the group g2"},
		"group and no group":   {[]facts{one, replica}, "one is in the group g1, one is in no group"},
	} {
		all, addresses := map[string]facts{}, []string{}
		for i, f := range c.all {
			addresses = append(addresses, string(rune('a'+i)))
			all[addresses[i]] = f
		}
		r := disagreement(append(addresses, "one that did not answer"), all)
		if (r == nil) != (c.want == "") || r != nil && !strings.Contains(r.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, r, c.want)
		}
	}
}
