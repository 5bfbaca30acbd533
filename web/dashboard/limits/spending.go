package limits

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"weir"
	"weir/api"
	"weir/limits"
	"weir/web/dashboard/choices"
	"weir/web/dashboard/form"
	"weir/web/dashboard/locale"
	"weir/web/dashboard/page"
)

const (
	spendingPath = "/spending"
	pricesPath   = "/prices"

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
	Limits []View
	Prices []priceView
	Free   []string // channels without a price
	Others bool     // there are more channels than were read
}

// spendingRow is what was spent over a channel for a survey.
type spendingRow struct {
	Channel, Survey, Currency string // Channel, empty: it was deleted; Survey, empty: none
	amount                    limits.Money
}

// Amount returns the amount as the API writes it.
func (r spendingRow) Amount() string { return r.amount.String() }

// priceView is the price of a channel.
type priceView struct{ api.PriceView }

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
func spendingCrumbs(l *locale.Locale, more ...page.Crumb) []page.Crumb {
	list := []page.Crumb{{Text: l.T("Shared limits"), Link: limitsPath}, {Text: l.T("Spending"), Link: spendingPath}}
	if len(more) == 0 {
		list[1].Link = ""
	}
	return append(list, more...)
}

func loadSpending(v *page.Visit) (*page.Content, error) {
	d := &spendingData{Days: page.SumDays}
	if err := d.readSums(v.Caller); err != nil {
		return nil, err
	}
	if v.MayAll(page.Readers()...) {
		limits, err := readLimits(v.Caller)
		if err != nil {
			return nil, err
		}
		d.Limits = slices.DeleteFunc(limits, func(l View) bool { return len(l.Money(v.Locale)) == 0 })
	}
	if err := d.readPrices(v.Caller); err != nil {
		return nil, err
	}
	return &page.Content{Title: v.T("Spending"), Crumbs: spendingCrumbs(v.Locale), Data: d}, nil
}

// readSums reads what was spent, and adds it up over the days.
func (d *spendingData) readSums(c *page.Caller) error {
	sums, totals := map[spendingRow]limits.Money{}, map[string]limits.Money{}
	query := url.Values{"days": {strconv.Itoa(page.SumDays)}, "limit": {"1000"}}
	for range maxSpendingReads {
		var spent api.SpendingList
		if err := c.Get("/v1/spending", query, &spent); err != nil {
			return err
		}
		for _, x := range spent.Spending {
			amount, err := limits.ParseMoney(x.Amount)
			if err != nil {
				return fmt.Errorf("add up what was spent: %w", err)
			}
			sums[spendingRow{Channel: x.Channel, Survey: x.Survey, Currency: x.Currency}] += amount
			totals[x.Currency] += amount
		}
		if d.Cut = spent.NextCursor != ""; !d.Cut {
			break
		}
		query.Set("cursor", spent.NextCursor)
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
func (d *spendingData) readPrices(c *page.Caller) error {
	var all api.PriceList
	if err := c.Get("/v1/prices", nil, &all); err != nil {
		return err
	}
	priced := map[string]bool{}
	for i := range all.Prices {
		d.Prices = append(d.Prices, priceView{all.Prices[i]})
		priced[all.Prices[i].Channel] = true
	}
	list, more, err := choices.Channels(c)
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
func readPrice(c *page.Caller, channel string) (p api.PriceView, found bool, err error) {
	err = c.Get(page.Path("v1", "prices", channel), nil, &p)
	if status, _ := page.StatusOf(err); err != nil && status == http.StatusNotFound {
		_, err = choices.Channel(c, channel)
		return api.PriceView{}, false, err
	}
	return p, err == nil, err
}

// priceFields declares the form that sets the price of a channel. Prefixes are for the command line.
func priceFields() *form.Declaration {
	return form.Of(api.Price{}, []string{"prefixes"},
		form.Field{Name: "currency", Upper: true, MaxLength: 3, Required: true, Label: "Currency", Help: "Three letters, such as USD."},
		form.Field{Name: "per_attempt", Label: "An attempt", Head: "Amounts", Note: "What is left empty costs nothing. At least one is required."},
		form.Field{Name: "per_segment", Label: "A segment of a text message", Help: "Such as 0.0075."},
		form.Field{Name: "per_minute", Label: "A started minute of a call"},
		form.Field{Name: "minutes", Label: "Minutes of a call that its claim reserves", Help: "The longest that you expect; empty: 1."},
	)
}

// placePrice says which field a mistake about the whole price is about, and in which words.
func placePrice(l *locale.Locale) page.OwnPlace {
	return func(field string, e *weir.FieldError) string {
		if e.Pointer == "" && e.Code == "required" {
			e.Detail = l.T("enter at least one of the three amounts")
			return "per_attempt"
		}
		return field
	}
}

// readPriceForm returns the form of the price of a channel, with the price that it has by now.
func readPriceForm(v *page.Visit, channel string) (*form.Form, *page.Content, *page.FormData, error) {
	p, found, err := readPrice(v.Caller, channel)
	if err != nil {
		return nil, nil, nil, err
	}
	f := priceFields().New(false)
	if err := f.Show(p.Price); err != nil {
		return nil, nil, nil, err
	}
	d := &page.FormData{Form: f, Action: priceEditLink(channel), Back: spendingPath, About: "What a contact over the channel costs. Each claim reserves it, and the end of the contact corrects it."}
	if found {
		d.Delete = pricesPath + page.Path(channel, "delete")
	}
	if n := len(p.Prefixes); n > 0 {
		f.Input("per_attempt").Note = "What is left empty costs nothing. At least one is required, unless prefixes have amounts."
		d.After = &page.Remark{ID: "prefixes", Text: v.HTML("and %d prefixes, which <code>weir price put</code> sets. They keep their amounts, in the currency above.", n)}
	}
	return f, &page.Content{Title: v.T("Price of channel %s", channel), Crumbs: spendingCrumbs(v.Locale, page.Crumb{Text: v.T("Price of %s", channel)}), Data: d}, d, nil
}

func editPrice(v *page.Visit) (*page.Content, error) {
	_, c, _, err := readPriceForm(v, v.Request.PathValue("channel"))
	return c, err
}

// changePrice sets the price, or shows the form again with every mistake. The prefixes are those
// that the price has by now.
func changePrice(v *page.Visit) (*page.Content, error) {
	channel := v.Request.PathValue("channel")
	f, c, d, err := readPriceForm(v, channel)
	if err != nil {
		return nil, err
	}
	f.Fill(v.Request.PostForm)
	if err := v.Call(http.MethodPut, page.Path("v1", "prices", channel), f.Body(), nil); err != nil {
		d.Problem, err = c.Refused(v.Locale, f, err, placePrice(v.Locale), page.NotSaved())
		return c, err
	}
	return &page.Content{To: spendingPath, Flash: &page.Flash{Text: v.T("The price of channel %s is saved. It counts for every later claim.", channel)}}, nil
}

func askDeletePrice(v *page.Visit) (*page.Question, error) {
	channel := v.Request.PathValue("channel")
	var p api.PriceView
	if err := v.Get(page.Path("v1", "prices", channel), nil, &p); err != nil {
		return nil, err
	}
	facts := []page.Fact{{Name: v.T("Currency"), Value: p.Currency}}
	for _, x := range []page.Fact{{Name: v.T("An attempt"), Value: p.PerAttempt}, {Name: v.T("A segment"), Value: p.PerSegment}, {Name: v.T("A minute"), Value: p.PerMinute}} {
		if x.Value != "" {
			facts = append(facts, page.Fact{Name: x.Name, Value: v.Amount(x.Value)})
		}
	}
	if n := len(p.Prefixes); n > 0 {
		facts = append(facts, page.Fact{Name: v.T("Prefixes"), Value: v.Number(n)})
	}
	return &page.Question{
		Title: v.T("Delete the price of channel %s", channel), Button: v.T("Delete"), Danger: true, Back: priceEditLink(channel),
		Crumbs: spendingCrumbs(v.Locale, page.Crumb{Text: v.T("Price of %s", channel), Link: priceEditLink(channel)}, page.Crumb{Text: v.T("Delete")}),
		Text:   v.T("Later contacts over the channel cost nothing. What was spent stays counted."), Facts: facts,
	}, nil
}

func deletePrice(v *page.Visit) (*page.Done, error) {
	channel := v.Request.PathValue("channel")
	err := v.Call(http.MethodDelete, page.Path("v1", "prices", channel), nil, nil)
	return &page.Done{Text: v.T("The price of channel %s is deleted.", channel), To: spendingPath}, err
}
