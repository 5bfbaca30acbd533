package httpgateway_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"weir"
	"weir/channels"
	"weir/channels/drivertest"
	"weir/channels/httpgateway"
	"weir/channels/httpgateway/simulator"
)

// Africa's Talking and Telegram report nothing that names our message: a message ends when
// they have accepted it.
func TestVendors_WithoutReportsEndMessagesAtAcceptance(t *testing.T) {
	t.Parallel()
	const to, key = "+15550001234", "k3y"
	for vendor, place := range map[string]string{"africastalking": "https://api.africastalking.com", "telegram": "https://api.telegram.org"} {
		send := func(t *testing.T, secret, text string, more ...string) (channels.SendResult, *simulator.Server) {
			t.Helper()
			s, err := simulator.New(simulator.Options{Vendor: vendor, Secret: key, Faults: more, Outcomes: []string{"refused:*99"}})
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			settings := weir.Settings{
				"template": strings.ReplaceAll(string(httpgateway.Template(vendor)), place, server.URL),
				"values":   map[string]any{"username": "weir", "from": "HEALTH"}, "secrets": map[string]any{"api_key": secret, "token": secret, "webhook": "w"},
			}
			a := drivertest.NewAttempt(7, text)
			if a.To = to; text == "refused" {
				a.To = "+15550001299"
			}
			return drivertest.NewDriver(t, httpgateway.Type(), settings, server.Client()).Send(t.Context(), a), s
		}
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			got, s := send(t, key, "hello {\"&=\u00e9")
			if got.Status != channels.Accepted || got.Outcome != weir.Completed || got.ProviderRef == "" {
				t.Errorf("%+v", got)
			}
			list := s.Messages()
			if len(list) != 1 || list[0].Text != "hello {\"&=\u00e9" || strings.TrimPrefix(list[0].To, "+") != to[1:] {
				t.Errorf("it has %+v", list)
			}
			if got, _ := send(t, key, "refused"); got.Status != channels.Refused || got.Outcome != weir.Failed || got.Reason == "" {
				t.Errorf("refused: %+v", got)
			}
			if got, s := send(t, "wrong", "hello"); got.Status != channels.NotSent || !got.ChannelFault || len(s.Messages()) > 0 || strings.Contains(got.Reason, "wrong") {
				t.Errorf("unauthorized: %+v", got)
			}
			if got, s := send(t, key, "hello", "cut@send"); got.Status != channels.Unclear || len(s.Messages()) != 1 {
				t.Errorf("cut: %+v", got)
			}
			if got, _ := send(t, key, "hello", "status=429@send"); got.Status != channels.NotSent || !got.ChannelFault || got.Reason != channels.RateLimited {
				t.Errorf("429: %+v", got)
			}
		})
	}
}
