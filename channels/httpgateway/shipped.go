package httpgateway

import (
	"bytes"
	"embed"
	"regexp"
	"slices"
	"strings"

	"weir/channels"
)

//go:embed templates/*.json
var shipped embed.FS

// Templates returns the names of the templates that Weir ships.
func Templates() []string {
	list, _ := shipped.ReadDir("templates") // it is part of the program
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSuffix(e.Name(), ".json"))
	}
	return out
}

// Template returns a template that Weir ships; nil: there is none of that name.
func Template(name string) []byte {
	raw, _ := shipped.ReadFile("templates/" + name + ".json")
	return raw
}

// outside is the step that all channels of this type share.
const outside = "Requests go to public addresses over https only, unless WEIR_OUTBOUND_ALLOW has others."

// about returns what people read of a template, and in it what is to be done at the provider.
func about(name string) (summary string, setUp []string) {
	const incoming = "For messages from people, give the provider the callback address of the channel and /incoming."
	switch name {
	case "africastalking":
		return "SMS through Africa's Talking", []string{"Take the username and an API key from the dashboard of Africa's Talking; from is a sender that it has registered.", incoming,
			"For opt-outs, give it, as the callback address of Bulk SMS Opt Out, the callback address of the channel and /consent. It has one such address for an account: opt-outs from other senders are ignored.",
		}
	case "infobip":
		return "SMS through Infobip", []string{"Create an API key that may send SMS. Replace ACCOUNT in the template by what the address of your account's API begins with.", incoming}
	case "kannel":
		return "SMS through Kannel, by its HTTP interface alone", []string{"The type kannel does more: prefer it, unless you change this template for a gateway that resembles Kannel. Replace kannel.example in the template."}
	case "telegram":
		return "messages through a bot of Telegram", []string{
			"Create a bot with @BotFather, and take its token. People must have written to the bot before it can write to them; their chat id is the address.",
			"For messages from people and reports of people who block the bot, call setWebhook with the callback address of the channel and /incoming, and as secret_token the secret webhook.",
		}
	case "vonage":
		return "SMS through Vonage", []string{"Take the API key and its secret from Vonage's dashboard; from is a number or a name of the account.", incoming}
	}
	return name, nil
}

// offered returns the templates for the table of types.
func offered() []channels.Template {
	var list []channels.Template
	for _, name := range Templates() {
		t := channels.Template{Name: name, Key: settingTemplate, Value: Template(name)}
		t.Summary, t.SetUp = about(name)
		t.SetUp = append(t.SetUp, outside)
		t.Values, t.Secrets = named(t.Value, `[{"]value\.([\w-]+)[}"]`), named(t.Value, `[{"]secret\.([\w-]+)[}"]|"secret": "([\w-]+)"`)
		list = append(list, t)
	}
	return list
}

// named returns the names that a pattern finds in a template that Weir ships.
func named(raw []byte, pattern string) (list []string) {
	for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(raw, -1) {
		list = append(list, string(bytes.Join(found[1:], nil)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
