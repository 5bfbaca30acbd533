package conformance

import (
	"slices"
	"testing"
)

// topic is a part of the suite.
type topic struct {
	name string
	run  func(*testing.T, Backend)
}

func storeTopics() []topic {
	return []topic{
		{"accept", testAccept},
		{"accept is all or nothing", testAcceptRefusals},
		{"an acceptance larger than a statement", testLargeAcceptance},
		{"accept and claim", testAcceptClaimed},
		{"an acceptance that is left to its caller", testUnsubmittedAcceptance},
		{"a claimed contact outlives its process", testClaimedOutlivesItsProcess},
		{"transitions", testTransitions},
		{"staleness", testStaleness},
		{"coalescing", testCoalescing},
		{"queue", testQueue},
		{"counts under any history", testHistories},
		{"incarnations", testIncarnations},
		{"one owner", testOneOwner},
		{"a former owner", testFormerOwner},
		{"an owner that cannot write", testStuckOwner},
		{"a database that lacks commits", testMissingCommits},
		{"an owner that does not answer", testDeafOwner},
		{"a clock that went back", testClockWentBack},
		{"the answer to taking it is lost", testLostAnswerToTaking},
		{"a program that is too old", testProgramTooOld},
		{"deleting channels", testDelete},
		{"paging", testPaging},
		{"newest first", testNewest},
		{"contacts by reference", testByRef},
		{"lists under any history", testListHistories},
		{"lists after a restart", testListAfterRestart},
		{"contacts in flight by their claim", testInFlightOrder},
		{"purge", testPurge},
		{"erase", testErase},
		{"dead letters", testDeadLetters},
		{"dead letters that are none any more", testDeadEnds},
		{"figures of channels", testFigures},
		{"what waits in very many channels", testBacklogs},
		{"one guilty request", testGuilty},
		{"closing", testClosing},
		{"a channel with nothing but a claim", testOpenByClaim},
		{"a change of a channel", testChannelChange},
		{"incoming", testIncoming},
		{"contacts and messages of an address", testAddresses},
		{"channels", testChannels},
		{"brakes", testBrakes},
		{"contacts accepted between two instants", testAcceptedBetween},
		{"identifiers", testIdentifiers},
		{"events", testEvents},
		{"events that are refused", testEventsRefused},
		{"order of events", testEventOrder},
		{"events of some types", testEventsOf},
		{"events of contacts", testContactEvents},
		{"events of messages", testMessageEvents},
		{"enabling events of contacts", testContactEventsEnabled},
		{"purge of events", testPurgeEvents},
		{"receivers of events", testReceivers},
		{"webhooks", testWebhooks},
		{"webhooks and the events of contacts", testWebhooksEnableContactEvents},
		{"too many webhooks", testMostWebhooks},
		{"tries of webhooks", testTries},
		{"replays of webhooks", testReplays},
		{"many replays", testManyReplays},
		{"webhooks that Weir disables", testWebhookDisabled},
		{"the journal of the router", testJournal},
		{"snapshots of the router", testSnapshots},
		{"tokens", testTokens},
		{"tokens beside a running process", testTokensBeside},
		{"too many tokens", testMostTokens},
		{"sessions", testSessions},
		{"audit", testAudit},
		{"minutes", testMinutes},
	}
}

// surveyTopics are those of contacts and messages of surveys.
func surveyTopics() []topic {
	return []topic{
		{"respondents' contacts", testFor},
		{"outbox", testOutbox},
		{"outbox of replies", testReplyOutbox},
		{"replies claimed with their turns", testClaimedReplies},
		{"replies to who has refused", testRefusedReplies},
		{"outbox of messages", testIncomingOutbox},
		{"messages of one batch", testMessagesOfOneBatch},
		{"events of surveys", testSurveyEvents},
		{"surveys at once", testSurveysAtOnce},
		{"of surveys", func(t *testing.T, b Backend) {
			RunSurveys(t, func(t testing.TB) SurveyStores { return surveysOf(t, b) })
		}},
	}
}

// Run checks that a store keeps every promise of package weir's interfaces, or those of some topics.
func Run(t *testing.T, b Backend, only ...string) {
	left := len(only)
	for _, topic := range slices.Concat(peopleTopics(), purposeTopics(), messageTopics(), storeTopics(), surveyTopics()) {
		if len(only) > 0 && !slices.Contains(only, topic.name) {
			continue
		}
		left--
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			topic.run(t, b)
		})
	}
	if left > 0 {
		t.Errorf("there are no %d topics of %q", left, only)
	}
}
