package api

// Price is what contacts over a channel cost. Amounts are decimal numbers of the currency's unit.
type Price struct {
	Currency   string        `json:"currency" pattern:"^[A-Z]{3}$" patternDescription:"three capital letters" doc:"ISO 4217 code" example:"USD"`
	PerAttempt string        `json:"per_attempt,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each attempt; absent: nothing" example:"0.002"`
	PerSegment string        `json:"per_segment,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each segment of a text message; absent: nothing" example:"0.0075"`
	PerMinute  string        `json:"per_minute,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each started minute of a call, from the answer; absent: nothing" example:"0.014"`
	Minutes    int           `json:"minutes,omitempty" minimum:"1" maximum:"240" default:"1" doc:"minutes of a call that its claim reserves; the provider's report corrects it"`
	Prefixes   []PrefixPrice `json:"prefixes,omitempty" maxItems:"5000" nullable:"false" doc:"other prices for numbers that begin so; the longest prefix counts"`
}

// PrefixPrice is what contacts with some numbers cost. An absent amount is that of the channel.
type PrefixPrice struct {
	Prefix     string `json:"prefix" pattern:"^\\+[1-9][0-9]{0,14}$" patternDescription:"the beginning of a number with its country code" doc:"beginning of numbers" example:"+254"`
	PerAttempt string `json:"per_attempt,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each attempt; absent: as without the prefix"`
	PerSegment string `json:"per_segment,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each segment of a text message; absent: as without the prefix"`
	PerMinute  string `json:"per_minute,omitempty" pattern:"^[0-9]{1,6}(\\.[0-9]{1,6})?$" patternDescription:"an amount, such as 0.0075" doc:"each started minute of a call; absent: as without the prefix"`
}

// PriceView is what contacts over a channel cost.
type PriceView struct {
	Channel string `json:"channel" doc:"name of the channel" example:"texts"`
	Price
}

// PriceList lists prices by channel.
type PriceList struct {
	Prices []PriceView `json:"prices" nullable:"false" doc:"by channel; without the prefixes"`
}

// SpendingView is what was spent over a channel for a survey on a day.
type SpendingView struct {
	Day      string `json:"day" doc:"of the claims, in UTC" example:"2026-03-05"`
	Channel  string `json:"channel" doc:"name of the channel" example:"texts"`
	Survey   string `json:"survey,omitempty" doc:"name of the survey; absent: of none" example:"health-2026"`
	Currency string `json:"currency" doc:"ISO 4217 code" example:"USD"`
	Amount   string `json:"amount" doc:"what the contacts have cost that ended, and what those in flight reserve" example:"12.345"`
}

// SpendingList is a page of what was spent.
type SpendingList struct {
	Spending   []SpendingView `json:"spending" nullable:"false" doc:"by day, channel and survey"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"absent on the last page"`
}
