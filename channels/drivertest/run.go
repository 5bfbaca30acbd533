package drivertest

import "testing"

// Run holds a driver to the contract.
func Run(t *testing.T, p Provider) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Provider){
		"send":                      sendResults,
		"every status":              everyStatus,
		"answer cut":                answersCut,
		"request cut":               requestsCut,
		"malformed answers":         malformedAnswers,
		"deadline":                  deadlines,
		"several messages":          severalMessages,
		"one send never doubles":    neverDoubles,
		"prepare and status":        prepareAndStatus,
		"callbacks":                 callbacks,
		"callbacks of another":      callbacksOfAnother,
		"strange callbacks":         strangeCallbacks,
		"forged callbacks":          forgedCallbacks,
		"ask":                       asks,
		"ask after a lost answer":   asksAfterALostAnswer,
		"ask a failing provider":    asksAFailingProvider,
		"cancel":                    cancels,
		"cancel, provider fails":    cancelsAtAFailingProvider,
		"callbacks are not applied": callbacksRepeated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}
