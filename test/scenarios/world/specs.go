package world

import (
	"time"
)

const (
	restPolls = 4 // consecutive polls that must agree; the first is no later than the sweep
	restEvery = 110 * time.Millisecond
	restLimit = 15 * time.Second
)

func Priority(word string) Fields { return Fields{"priority": word} }

// Call returns a contact with a call; the lab identifies it by its callback URL.
func Call(key string, more ...Fields) Fields {
	c := SMS(key, more...)
	delete(c, "messages")
	c["call"] = Fields{"callback_url": CallURL(key)}
	return c
}

func NotBefore(at time.Time) Fields { return Fields{"not_before": at.UTC().Format(time.RFC3339Nano)} }

func NotAfter(at time.Time) Fields { return Fields{"not_after": at.UTC().Format(time.RFC3339Nano)} }
