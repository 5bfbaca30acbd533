package questionnaire

import (
	"weir/surveys/questions"
)

// Forgotten returns the members that no form of a kind asks for or keeps.
func Forgotten() map[string][]string {
	languages := []questions.Language{{Code: "en"}, {Code: "es"}}
	out := map[string][]string{"frame": frameFields(languages).Mistakes(), "choice": choiceFields(questions.Choose, languages).Mistakes(), "one of several": choiceFields(questions.ChooseMany, languages).Mistakes()}
	all := questionFields("", languages)
	for _, k := range questions.Kinds() {
		all.Fields = append(all.Fields, questionFields(k, languages).Fields...)
	}
	out["question"] = all.Mistakes()
	return out
}
