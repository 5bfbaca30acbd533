package dashboard

import (
	"net/http"

	"weir/surveys"
	"weir/web"
)

// surveyQuestion builds the common part of the questions about a survey. Without
// statistics, all counts in stats are 0.
func surveyQuestion(v *visit, title, button string) (s web.SurveyView, stats *web.StatsView, q *question, err error) {
	if s, err = v.survey(); err != nil {
		return s, nil, nil, err
	}
	if stats, err = v.surveyStats(s.Survey); err != nil {
		return s, nil, nil, err
	}
	q = &question{title: title + " " + s.Survey, Button: button, back: surveyLink(s.Survey), crumbs: surveyCrumbs(s.Survey, crumb{Text: button})}
	if stats == nil {
		return s, &web.StatsView{}, q, nil
	}
	q.Facts = []fact{{"Respondents", number(stats.Respondents)}}
	return s, stats, q, nil
}

func askLaunch(v *visit) (*question, error) {
	s, stats, q, err := surveyQuestion(v, "Launch survey", "Launch")
	if err != nil {
		return nil, err
	}
	q.Text = "From now on its respondents are contacted whenever its windows are open. Its channels, arms and words cannot be changed any more."
	if stats.Respondents == 0 {
		q.Text = "Nobody is in it yet. Import respondents first: weir survey import people.csv " + s.Survey
	}
	for _, mode := range surveys.Modes() {
		if m, ok := s.Modes[mode]; ok {
			q.Facts = append(q.Facts, fact{"Over " + string(mode), "channel " + m.Channel})
		}
	}
	if schedule, wrong := s.Schedule.Compile(); len(wrong) == 0 {
		q.Facts = append(q.Facts, fact{"Window", calendarOf(s.Schedule, schedule, v.Now()).Next})
	}
	return q, nil
}

func askPauseSurvey(v *visit) (*question, error) {
	_, stats, q, err := surveyQuestion(v, "Pause survey", "Pause")
	if err == nil {
		q.Text = "Nobody is started and nobody is tried again until it is resumed. What waits for its turn is taken back; what is out goes on, and answers are taken."
		q.Facts = append(q.Facts, fact{"Active now", number(stats.Statuses[surveys.Active])})
	}
	return q, err
}

func askResumeSurvey(v *visit) (*question, error) {
	_, stats, q, err := surveyQuestion(v, "Resume survey", "Resume")
	if err == nil {
		q.Text = "It goes on where it stopped, as soon as its window is open."
		q.Facts = append(q.Facts, fact{"Not started yet", number(stats.Statuses[surveys.Pending])}, fact{"Active", number(stats.Statuses[surveys.Active])})
	}
	return q, err
}

func askStop(v *visit) (*question, error) {
	_, stats, q, err := surveyQuestion(v, "Stop survey", "Stop")
	if err == nil {
		active, pending := stats.Statuses[surveys.Active], stats.Statuses[surveys.Pending]
		q.Danger = true
		q.Text = "It cannot be taken up again. What waits for its turn is withdrawn, providers are asked to drop what they have, and everybody who is not over ends as canceled. Results stay."
		q.Facts = append(q.Facts, fact{"Will be canceled", number(active + pending)}, fact{"Of them being contacted now", number(active)})
	}
	return q, err
}

// take applies a step to a survey. Errors of a launch, such as respondents without
// a required attribute, are listed above the question.
func take(step surveys.Step, became string) func(*visit) (*done, error) {
	return func(v *visit) (*done, error) {
		name := v.r.PathValue("name")
		var s web.SurveyView
		err := v.call(http.MethodPost, apiPath("v1", "surveys", name)+":"+string(step), nil, &s)
		text := "Survey " + name + " " + became + "."
		for _, w := range s.Warnings {
			text += " Warning: " + w.Detail + "."
		}
		return &done{text: text, to: surveyLink(name)}, err
	}
}

// surveyFile forwards a file from the API to the browser.
func surveyFile(file string) handler {
	return func(v *visit, w http.ResponseWriter) error {
		if _, err := v.survey(); err != nil {
			return err // rendered as a page
		}
		return v.forward(w, apiPath("v1", "surveys", v.r.PathValue("name"), file))
	}
}
