package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	mysql "github.com/go-sql-driver/mysql"

	"weir/persistence/dialect"
)

// Statements implements [dialect.Database].
func (d *Database) Statements() dialect.Statements {
	return dialect.Statements{
		HasTable:          "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
		Tables:            "SELECT LOWER(table_name) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
		UpdateRespondents: updateRespondents(),
		KeepContact:       " ON DUPLICATE KEY UPDATE id = contacts.id",
		KeepRespondent:    " ON DUPLICATE KEY UPDATE id = respondents.id",
		Add:               func(...string) string { return " ON DUPLICATE KEY UPDATE n = n + VALUES(n)" },
		Merge:             func(...string) string { return " ON DUPLICATE KEY UPDATE " },
		Fresh:             func(column string) string { return "VALUES(" + column + ")" },
		By:                func(string) string { return "" },
		ThroughKey:        " FORCE INDEX (PRIMARY)",
		Through:           func(index string) string { return " FORCE INDEX (" + index + ")" },
		ForShare:          " LOCK IN SHARE MODE",
		ForUpdate:         " FOR UPDATE",
		RowCount:          "ROW_COUNT()",
	}
}

func updateRespondents() string {
	columns := dialect.RespondentColumns()
	var from, set []string
	for i, c := range columns {
		kind := "BIGINT"
		switch c {
		case "attributes":
			kind = "LONGTEXT"
		case "disposition", "progress":
			kind = "VARCHAR(1000)"
		}
		from = append(from, fmt.Sprintf("%s %s PATH '$[%d]'", c, kind, i))
		switch {
		case c == "attributes":
			set = append(set, "r.attributes = COALESCE(j.attributes, r.attributes)")
		case i > slices.Index(columns, "was_rev"):
			set = append(set, "r."+c+" = j."+c)
		}
	}
	return "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (" + strings.Join(from, ", ") + ")) AS j STRAIGHT_JOIN respondents AS r ON r.id = j.id" +
		" SET " + strings.Join(set, ", ") + " WHERE r.survey_id = j.survey_id AND r.rev = j.was_rev AND r.status > 0"
}

// Classify implements [dialect.Database].
func (d *Database) Classify(err error) (dialect.Kind, string) {
	var none *noServerError
	var refused *refusal
	if errors.As(err, &none) || errors.As(err, &refused) {
		return dialect.Down, "server"
	}
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return connectionKind(err)
	}
	if e.Number == 1153 || strings.Contains(e.Message, "max_allowed_packet") { // a long bound parameter gives 1105
		return dialect.Fault, dialect.TooLong
	}
	switch e.Number {
	case 1213, 3101: // 3101: of group replication, a conflict with a write of another member
		return dialect.Again, "deadlock"
	case 1205:
		return dialect.Again, "lock_wait"
	case 1290, 1792, 1836:
		return dialect.Down, "read_only"
	case 1040, 1203:
		return dialect.Down, "connections"
	case 1021, 1114, 3, 28, 1026, 1030:
		return dialect.Down, "full"
	case 126, 127, 134, 145, 1035, 1194, 1195, 1712, 1812, 1877: // index, table or tablespace corrupt or missing
		return dialect.Down, dialect.Damaged
	case 1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 3169:
		return dialect.Down, "killed"
	case 1044, 1045, 1049, 1142, 1143, 1054, 1146, 1305:
		return dialect.Down, "schema"
	case 1047, 1180, 1181, 1182, 3100: // 3100: of group replication, this member cannot commit now
		return dialect.Down, "server"
	default:
		if e.Number >= 9000 {
			return dialect.Down, "proxy" // an error of ProxySQL itself, which reaches no server
		}
		return dialect.Fault, "refused"
	}
}

// connectionKind classifies errors that the server did not send.
func connectionKind(err error) (dialect.Kind, string) {
	var netErr net.Error
	switch {
	case errors.Is(err, mysql.ErrPktTooLarge):
		return dialect.Fault, dialect.TooLong
	case errors.As(err, &netErr) && netErr.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return dialect.Down, "timeout"
	case errors.As(err, &netErr), errors.Is(err, mysql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, mysql.ErrBusyBuffer),
		errors.Is(err, mysql.ErrMalformPkt), errors.Is(err, mysql.ErrPktSync), errors.Is(err, mysql.ErrPktSyncMul),
		errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		return dialect.Down, "connection"
	default:
		return dialect.Fault, "driver"
	}
}

// Duplicate implements [dialect.Database].
func (d *Database) Duplicate(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == 1062 || e.Number == 1586)
}
