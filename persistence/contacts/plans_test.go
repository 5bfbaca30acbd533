package contacts_test

import (
	"testing"

	"weir"
	"weir/persistence"
	"weir/persistence/plantest"
)

func contactStatements() plantest.Contacts {
	return func(s *persistence.Store, channel weir.ChannelID, lane weir.Lane, waiting weir.ContactID) []plantest.Statement {
		return s.Statements(channel, lane, waiting)
	}
}

func deadLetterStatements() *plantest.DeadLetters {
	return &plantest.DeadLetters{Bounded: (*persistence.Store).DeadStatements, Counting: (*persistence.Store).CountStatements}
}

func TestPlans_UseIndexesOnSQLite(t *testing.T)              { contactStatements().SQLite(t) }
func TestPlans_UseIndexesOnMySQL(t *testing.T)               { contactStatements().MySQL(t) }
func TestPlans_OfDeadLettersUseIndexesOnSQLite(t *testing.T) { deadLetterStatements().SQLite(t) }
func TestPlans_OfDeadLettersUseIndexesOnMySQL(t *testing.T)  { deadLetterStatements().MySQL(t) }
