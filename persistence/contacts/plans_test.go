package contacts_test

import (
	"testing"

	"weir"
	"weir/persistence"
	"weir/persistence/plantest"
)

func contactStatements() plantest.Contacts {
	return func(s *persistence.Store, channel weir.ChannelID, lane weir.Lane, waiting weir.ContactID) []plantest.Statement {
		return append(s.Statements(channel, lane, waiting), plantest.Statement{Name: "open channels", Text: s.OpenChannelsSQL()})
	}
}

func deadLetterStatements() *plantest.DeadLetters {
	return &plantest.DeadLetters{Bounded: (*persistence.Store).DeadStatements, Counting: (*persistence.Store).CountStatements}
}

func TestPlansSQLite(t *testing.T)              { contactStatements().SQLite(t) }
func TestPlansMySQL(t *testing.T)               { contactStatements().MySQL(t) }
func TestPlansOfDeadLettersSQLite(t *testing.T) { deadLetterStatements().SQLite(t) }
func TestPlansOfDeadLettersMySQL(t *testing.T)  { deadLetterStatements().MySQL(t) }
