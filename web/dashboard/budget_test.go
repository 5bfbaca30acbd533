package dashboard_test

import (
	"net/http"
	"testing"

	"weir/api"
)

// Scenario 345.
func TestBudget_IsSetCheckedAndShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, surveyScope)
	r.survey("flu", 3)
	b := r.login(surveyScope)
	b.get("/surveys/flu").want(200).hasNot(`id="budget"`)
	form := b.get("/surveys/flu/edit").want(200).has(`id="budget_money"`).formOf()
	form.Set("budget_money", "12,50")
	b.post("/surveys/flu/edit", form).want(http.StatusUnprocessableEntity).has(`id="budget_money-wrong"`, `id="budget_currency-wrong"`, `value="12,50"`)
	form.Set("budget_money", "12.5")
	form.Set("budget_currency", "USD")
	b.post("/surveys/flu/edit", form).want(http.StatusSeeOther)
	b.get("/surveys/flu/edit").want(200).has(`value="12.5"`, `value="USD"`)
	b.get("/surveys/flu/launch").want(200).has("<dt>Budget</dt><dd>12.50 of 12.50 USD are left</dd>", "would be refused", "has no price in USD")
	r.api("PUT", "/v1/prices/texts", `{"currency":"USD","per_attempt":"0.4"}`, nil)
	b.get("/surveys/flu/launch").want(200).has("<dt>Budget</dt><dd>12.50 of 12.50 USD are left, which pays for about 31 attempts at 0.40 USD</dd>").hasNot("would be refused")
	b.post("/surveys/flu/launch", nil).want(http.StatusSeeOther)
	b.get("/surveys/flu").want(200).has(`<div id="budget"><dt>Spent / budget</dt><dd>0.00 / 12.50 USD</dd></div>`)
	form = b.get("/surveys/flu/edit").want(200).formOf()
	form.Set("budget_money", "")
	form.Set("budget_currency", "")
	b.post("/surveys/flu/edit", form).want(http.StatusSeeOther)
	var s api.SurveyView
	if r.api("GET", "/v1/surveys/flu", "", &s); s.Budget != nil {
		t.Errorf("its budget was removed: %+v", s.Budget)
	}
	b.get("/surveys/flu").want(200).hasNot(`id="budget"`)
}
