package people_test

import (
	"strings"
	"testing"

	"weir/people"
)

func TestIsReaction_QuotesAnotherMessage(t *testing.T) {
	t.Parallel()
	const question = "Is the clinic open?\nReply STOP to end, or do not call “us”."
	for form, want := range map[string]bool{
		"Liked “#”": true, "Loved \"#\"": true, "Disliked “#”": true, "Laughed at “#”": true, "Emphasized “#”": true, "Emphasised “#”": true, "Questioned “#”": true,
		"Removed a heart from “#”": true, "Removed an exclamation from “#”": true, "Reacted 👍 to “#”": true, "Removed 👍🏽 from “#”": true, "Reacted ❤️ to “#”": true, "Reacted ‼️ to \"#\"": true,
		"Le gustó “#”": true, "Le encantó “#”": true, "Le dio risa “#”": true, "Exclamó por “#”": true, "Dudó sobre “#”": true, "👍 a “#”": true, "Reagiu com ❤️ a “#”": true,
		"A aimé « # »": true, "A réagi avec 😂 à « # »": true, "\u200a\u200b👍\u200b à \"\u200a#\u200a\"\u200a": true, " liked “#” ": true,

		"": false, "#": false, "“#”": false, "Liked": false, "Liked it": false, "I liked “#” a lot": false, "Liked “#” but it was closed": false, "👍": false, "👍 yes": false, "He said “#”": false,
		"Liked #": false, "Not liked “#”": false, "Yes 👍 and thanks for “#” and more": false,
	} {
		for _, quoted := range []string{question, "Q?", "a long one that is cut short…"} {
			message := strings.Replace(form, "#", quoted, 1)
			if got := people.IsReaction(message); got != want {
				t.Errorf("%q is a reaction: %v", message, got)
			}
			if says, _ := people.DefaultWords().Find(message); want && says != "" {
				t.Errorf("the reaction %q says %s", message, says)
			}
		}
	}
}
