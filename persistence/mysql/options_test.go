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
	server := testmysql.Start(t, "--skip-character-set-client-handshake", "--character-set-server=utf8mb3", "--collation-server=utf8mb3_general_ci")
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
	for _, c := range []struct {
		name    string
		options []string
		want    string // empty: it can be used
	}{
		{"rows in the binary log", []string{"--log-bin", "--binlog-format=ROW"}, ""},
		{"small pages", []string{"--innodb-page-size=4k"}, "innodb_page_size = 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := testmysql.Start(t, c.options...).URL(t)
			db, err := persistence.OpenDatabase(t.Context(), at, slog.New(slog.DiscardHandler))
			if err == nil {
				_ = db.Close()
			}
			if c.want == "" && err == nil {
				storetest.Migrate(t, at)
				return
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
