package mysql_test

import (
	"log/slog"
	"strings"
	"testing"

	"weir"
	"weir/persistence"
	"weir/persistence/storetest"
	"weir/persistence/testmysql"
)

// Whatever a server says of character sets, texts are stored as they are.
func TestOpen_EveryTextIsStoredWhateverTheServersCharacterSet(t *testing.T) {
	t.Parallel()
	// MySQL 9 has no such option any more; then it is ignored.
	server := testmysql.Start(t, "--loose-skip-character-set-client-handshake", "--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci")
	const text = "☺ 😀 مرحبا 日本 ञ é 𝒳"
	s := storetest.Open(t, server.URL(t), persistence.Options{})
	id, _ := storetest.OpenChannel(t, s, "a")
	got, err := s.Accept(t.Context(), id, []weir.Spec{{To: "+15550001", Messages: []string{text}}})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := s.Contact(t.Context(), got[0].Contact.Ref)
	if err != nil || len(c.Messages) != 1 || c.Messages[0] != text {
		t.Errorf("%q (%v)", c.Messages, err)
	}
}

// A server that cannot be used as it is configured is refused at the start, in one line that
// says what to set.
func TestOpen_RefusesAServerThatCannotWork(t *testing.T) {
	t.Parallel()
	try := func(t *testing.T, at, want string) {
		t.Helper()
		db, err := persistence.OpenDatabase(t.Context(), at, slog.New(slog.DiscardHandler))
		if err == nil {
			_ = db.Close()
		}
		switch {
		case want == "" && err == nil:
			storetest.Migrate(t, at)
		case err == nil || want == "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n"):
			t.Errorf("%v, want %q", err, want)
		}
	}
	t.Run("when it is initialized", func(t *testing.T) {
		t.Parallel()
		try(t, testmysql.Start(t, "--innodb-page-size=4k").URL(t), "innodb_page_size = 4096")
	})
	t.Run("while it runs", func(t *testing.T) {
		t.Parallel()
		server := testmysql.Start(t, "--log-bin")
		admin, err := persistence.OpenDatabase(t.Context(), server.URL(t), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = admin.Close() }()
		at := server.URL(t)
		for _, c := range []struct {
			variable, value, usual string
			want                   string // empty: it can be used
		}{
			{"binlog_format", "'STATEMENT'", "'ROW'", "binlog_format = STATEMENT"},
			{"binlog_format", "'MIXED'", "'ROW'", ""},
			{"read_only", "ON", "OFF", "read_only = ON"},
		} {
			for _, step := range []struct{ value, want string }{{c.value, c.want}, {c.usual, ""}} {
				if _, err := admin.Pools().Write.ExecContext(t.Context(), "SET GLOBAL "+c.variable+" = "+step.value); err != nil {
					t.Fatal(err)
				}
				try(t, at, step.want)
			}
		}
	})
}
