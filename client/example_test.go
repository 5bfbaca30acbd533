package client_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"weir/client"
)

func Example() {
	if err := greet(context.Background(), os.Getenv("WEIR_TOKEN")); err != nil {
		fmt.Println(err)
	}
}

func greet(ctx context.Context, token string) error {
	c, err := client.New(client.Options{URL: "http://127.0.0.1:8080", Token: token})
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.PostContacts(ctx, "sms", client.ContactsBody{Contacts: []client.ContactBody{
		{Key: "r1-2", To: "+15550002", Messages: []string{"Hello from Go"}},
	}})
	if err != nil {
		return err
	}
	contact, err := c.GetContact(ctx, list.Contacts[0].ID)
	for ; err == nil && contact.State != "done"; contact, err = c.GetContact(ctx, contact.ID) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return err
	}
	fmt.Println(contact.State, contact.Outcome, len(contact.Attempts)) // done completed 1
	return nil
}
