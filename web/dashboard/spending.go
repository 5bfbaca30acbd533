package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weir/people"
	"weir/web/dashboard/locale"
	peopleapi "weir/web/people"
)

const (
	spendingPath = "/spending"
	pricesPath   = "/prices"

	sumDays          = 30 // of what was spent and skipped, today the last
	maxSpendingReads = 50 // pages of the API, of 1000 sums of a day each
	maxSpendingRows  = 500
)

// spendingData is the data of the page of what was spent.
type spendingData struct {
	Days   int
	Rows   []spendingRow
	Totals []string // one of each currency
	More   int      // rows that are not shown
	Cut    bool     // there are more sums than were read
	Limits []limitView
	Prices []priceView
	Free   []string // channels without a price
	Others bool     // there are more channels than were read
}

// spendingRow is what was spent over a channel for a survey.
type spendingRow struct {
	Channel, Survey, Currency string // Channel, empty: it was deleted; Survey, empty: none
	amount                    people.Money
}

// Amount returns the amount as the API writes it.
func (r spendingRow) Amount() string { return r.amount.String() }

// priceView is the price of a channel.
type priceView struct{ peopleapi.PriceView }

// Reserves returns the minutes of a call that its claim reserves.
func (p priceView) Reserves(l *locale.Locale) string {
	if p.PerMinute == "" {
		return noLimit
	}
	return l.Number(max(1, p.Minutes))
}

func priceEditLink(channel string) string {
	return pricesPath + "/" + url.PathEscape(channel) + "/edit"
}

// spendingCrumbs returns the crumbs of the page of what was spent, and those below it.
func spendingCrumbs(l *locale.Locale, more ...crumb) []crumb {
	list := []crumb{{Text: l.T("Shared limits"), Link: limitsPath}, {Text: l.T("Spending"), Link: spendingPath}}
	if len(more) == 0 {
		list[1].Link = ""
	}
	return append(list, more...)
}

func loadSpending(v *visit) (*content, error) {
	d := &spendingData{Days: sumDays}
	if err := d.readSums(v.caller); err != nil {
		return nil, err
	}
	if v.MayAll(readers()...) {
		limits, err := readLimits(v.caller)
		if err != nil {
			return nil, err
		}
		d.Limits = slices.DeleteFunc(limits, func(l limitView) bool { return len(l.Money(v.Locale)) == 0 })
	}
	if err := d.readPrices(v.caller); err != nil {
		return nil, err
	}
	return &content{title: v.T("Spending"), crumbs: spendingCrumbs(v.Locale), data: d}, nil
}

// readSums reads what was spent, and adds it up over the days.
func (d *spendingData) readSums(c *caller) error {
	sums, totals := map[spendingRow]people.Money{}, map[string]people.Money{}
	query := url.Values{"days": {strconv.Itoa(sumDays)}, "limit": {"1000"}}
	for range maxSpendingReads {
		var page peopleapi.SpendingList
		if err := c.get("/v1/spending", query, &page); err != nil {
			return err
		}
		for _, x := range page.Spending {
			amount, err := people.ParseMoney(x.Amount)
			if err != nil {
				return fmt.Errorf("add up what was spent: %w", err)
			}
			sums[spendingRow{Channel: x.Channel, Survey: x.Survey, Currency: x.Currency}] += amount
			totals[x.Currency] += amount
		}
		if d.Cut = page.NextCursor != ""; !d.Cut {
			break
		}
		query.Set("cursor", page.NextCursor)
	}
	for row, amount := range sums {
		row.amount = amount
		d.Rows = append(d.Rows, row)
	}
	slices.SortFunc(d.Rows, func(a, b spendingRow) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Survey, b.Survey), cmp.Compare(a.Currency, b.Currency))
	})
	if d.More = max(0, len(d.Rows)-maxSpendingRows); d.More > 0 {
		d.Rows = d.Rows[:maxSpendingRows]
	}
	for currency, amount := range totals {
		d.Totals = append(d.Totals, c.Amount(amount.String())+" "+currency)
	}
	slices.SortFunc(d.Totals, func(a, b string) int { return cmp.Compare(a[len(a)-3:], b[len(b)-3:]) })
	return nil
}

// readPrices reads the prices, and which channels have none.
func (d *spendingData) readPrices(c *caller) error {
	var all peopleapi.PriceList
	if err := c.get("/v1/prices", nil, &all); err != nil {
		return err
	}
	priced := map[string]bool{}
	for i := range all.Prices {
		d.Prices = append(d.Prices, priceView{all.Prices[i]})
		priced[all.Prices[i].Channel] = true
	}
	list, more, err := readChannels(c)
	if err != nil {
		return err
	}
	for i := range list {
		if name := list[i].Channel; !priced[name] {
			d.Free = append(d.Free, name)
		}
	}
	d.Others = more
	return nil
}

// readPrice reads the price of a channel. found is false if the channel has none.
func readPrice(c *caller, channel string) (p peopleapi.PriceView, found bool, err error) {
	err = c.get(apiPath("v1", "prices", channel), nil, &p)
	if status, _ := statusOf(err); err != nil && status == http.StatusNotFound {
		_, err = readChannel(c, channel)
		return peopleapi.PriceView{}, false, err
	}
	return p, err == nil, err
}

// priceForm is the form that sets the price of a channel, as it was filled in. The names of its
// fields are those of the API.
type priceForm struct {
	Channel                                              string
	Set                                                  bool // the channel has a price
	Currency, PerAttempt, PerSegment, PerMinute, Minutes string
	Mistakes                                             map[string]string // by field
	Problem                                              *problem          // an error of the API that is about no field

	prefixes []people.PrefixPrice // the form keeps them
}

// Prefixes returns how many prefixes have prices of their own.
func (f *priceForm) Prefixes() int { return len(f.prefixes) }

func (f *priceForm) content(l *locale.Locale) *content {
	return &content{title: l.T("Price of channel %s", f.Channel), crumbs: spendingCrumbs(l, crumb{Text: l.T("Price of %s", f.Channel)}), data: f}
}

func editPrice(v *visit) (*content, error) {
	channel := v.r.PathValue("channel")
	p, found, err := readPrice(v.caller, channel)
	if err != nil {
		return nil, err
	}
	f := &priceForm{Channel: channel, Set: found, Currency: p.Currency, PerAttempt: p.PerAttempt, PerSegment: p.PerSegment, PerMinute: p.PerMinute, prefixes: p.Prefixes}
	if p.Minutes > 0 {
		f.Minutes = strconv.Itoa(p.Minutes)
	}
	return f.content(v.Locale), nil
}

// body returns the price for the API, which reports what is missing.
func (f *priceForm) body() map[string]any {
	body := filled("currency", f.Currency, "per_attempt", f.PerAttempt, "per_segment", f.PerSegment, "per_minute", f.PerMinute, "minutes", f.Minutes)
	if n, err := strconv.Atoi(f.Minutes); err == nil {
		body["minutes"] = n
	}
	if len(f.prefixes) > 0 {
		body["prefixes"] = f.prefixes
	}
	return body
}

// place shows the errors of the API beside the fields that they are about.
func (f *priceForm) place(l *locale.Locale, p *problem) {
	rest := *p
	rest.Errors = nil
	for _, e := range p.Errors {
		field := strings.TrimPrefix(e.Pointer, "/")
		switch field {
		case "":
			if e.Code == "required" {
				field, e.Detail = "per_attempt", l.T("enter at least one of the three amounts")
			}
		case "currency", "per_attempt", "per_segment", "per_minute", "minutes":
		default:
			field = ""
		}
		switch {
		case field == "":
			rest.Errors = append(rest.Errors, e)
		case f.Mistakes[field] == "":
			f.Mistakes[field] = asSentence(e.Detail)
		}
	}
	if len(f.Mistakes) == 0 || len(rest.Errors) > 0 {
		f.Problem = &rest
	}
}

// changePrice sets the price, or shows the form again with every mistake. The prefixes are those
// that the price has by now.
func changePrice(v *visit) (*content, error) {
	field := func(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }
	f := &priceForm{
		Channel: v.r.PathValue("channel"), Currency: strings.ToUpper(field("currency")), PerAttempt: field("per_attempt"),
		PerSegment: field("per_segment"), PerMinute: field("per_minute"), Minutes: field("minutes"), Mistakes: map[string]string{},
	}
	before, found, err := readPrice(v.caller, f.Channel)
	if err != nil {
		return nil, err
	}
	f.Set, f.prefixes = found, before.Prefixes
	c := f.content(v.Locale)
	err = v.call(http.MethodPut, apiPath("v1", "prices", f.Channel), f.body(), nil)
	if err == nil {
		c.to = spendingPath
		c.flash = &flash{Text: v.T("The price of channel %s is saved. It counts for every later claim.", f.Channel)}
		return c, nil
	}
	status, p := statusOf(err)
	if status != http.StatusUnprocessableEntity && status != http.StatusBadRequest && status != http.StatusConflict {
		return nil, err
	}
	f.place(v.Locale, p)
	c.status, c.flash = status, &flash{Bad: true, Text: v.T("Nothing was saved. Correct the marked fields of the form.")}
	if len(f.Mistakes) == 0 {
		c.flash.Text = v.T("Nothing was saved.")
	}
	return c, nil
}

func askDeletePrice(v *visit) (*question, error) {
	channel := v.r.PathValue("channel")
	var p peopleapi.PriceView
	if err := v.get(apiPath("v1", "prices", channel), nil, &p); err != nil {
		return nil, err
	}
	facts := []fact{{v.T("Currency"), p.Currency}}
	for _, x := range []fact{{v.T("An attempt"), p.PerAttempt}, {v.T("A segment"), p.PerSegment}, {v.T("A minute"), p.PerMinute}} {
		if x.Value != "" {
			facts = append(facts, fact{x.Name, v.Amount(x.Value)})
		}
	}
	if n := len(p.Prefixes); n > 0 {
		facts = append(facts, fact{v.T("Prefixes"), v.Number(n)})
	}
	return &question{
		title: v.T("Delete the price of channel %s", channel), Button: v.T("Delete"), Danger: true, back: priceEditLink(channel),
		crumbs: spendingCrumbs(v.Locale, crumb{Text: v.T("Price of %s", channel), Link: priceEditLink(channel)}, crumb{Text: v.T("Delete")}),
		Text:   v.T("Later contacts over the channel cost nothing. What was spent stays counted."), Facts: facts,
	}, nil
}

func deletePrice(v *visit) (*done, error) {
	channel := v.r.PathValue("channel")
	err := v.call(http.MethodDelete, apiPath("v1", "prices", channel), nil, nil)
	return &done{text: v.T("The price of channel %s is deleted.", channel), to: spendingPath}, err
}
